# syntax=docker/dockerfile:1
# cepsql with Java, Kafka and PostgreSQL: `docker build -t cepsql .`, then `docker run --rm -it cepsql demo`.
FROM python:3.12-slim AS wheel
WORKDIR /source
COPY pyproject.toml README.md LICENSE ./
COPY cepsql cepsql
COPY grammar grammar
RUN pip wheel --no-cache-dir --no-deps --wheel-dir /wheels .

FROM python:3.12-slim
COPY --from=wheel /wheels /wheels
RUN pip install --no-cache-dir "$(ls /wheels/*.whl)[java,kafka,postgresql,server]" && rm -r /wheels \
 && useradd --create-home --uid 10001 cepsql \
 && install -d -o cepsql -g cepsql /data
USER cepsql
# The container's own user may write here: catalogs, checkpoints, tables of late rows.
WORKDIR /data
VOLUME /data
EXPOSE 9464
ENTRYPOINT ["cepsql"]
