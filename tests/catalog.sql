-- What the statements of tests/analysis and tests/errors read. Nothing is at the paths: no test runs a query.

CREATE STREAM ticks (
  sym STRING, ts TIMESTAMP, price DOUBLE, qty INT, amount DECIMAL(10, 2), day DATE, active BOOLEAN,
  place STRUCT<lat: DOUBLE, lon: DOUBLE>, tags ARRAY<STRING>,
  WATERMARK FOR ts AS ts - INTERVAL '10' SECONDS
) USING json OPTIONS (path '/data/ticks');

CREATE STREAM orders (id BIGINT, customer STRING, at TIMESTAMP, total DECIMAL(12, 2), WATERMARK FOR at AS at)
USING csv OPTIONS (path '/data/orders', header true);

CREATE STREAM rates (
  currency STRING, rate DOUBLE, op STRING, since TIMESTAMP,
  WATERMARK FOR since AS since - INTERVAL '1' MINUTE, PRIMARY KEY (currency) DELETE WHEN op = 'd'
) USING csv OPTIONS (path '/data/rates');

CREATE STREAM raw (sym STRING, ts TIMESTAMP, line STRING) USING text OPTIONS (path '/data/raw');

CREATE TABLE trades (
  sym STRING, ts TIMESTAMP, price DOUBLE, qty INT, amount DECIMAL(10, 2), day DATE, active BOOLEAN,
  place STRUCT<lat: DOUBLE, lon: DOUBLE>, tags ARRAY<STRING>
) USING parquet OPTIONS (path '/data/trades');

CREATE TABLE companies (sym STRING, name STRING, sector STRING, founded DATE)
USING csv OPTIONS (path '/data/companies');

CREATE TABLE words (
  measures INT, pattern STRING, define INT, one INT, `all` INT, after INT, final INT, running INT, within INT,
  first INT, last INT, next INT, prev INT, match INT, row INT, subset INT, permute INT, ts TIMESTAMP
) USING parquet OPTIONS (path '/data/words');

CREATE VIEW busy AS SELECT sym, ts, price * qty AS volume FROM ticks WHERE qty > 100;
