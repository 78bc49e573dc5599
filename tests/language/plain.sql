# Plain Spark SQL: what Spark is given is what was written, in sqlglot's spelling.
SELECT 1
----
SELECT 1
====
SELECT 1 AS a, 'x' AS b, NULL AS c, TRUE AS d, 1.5 AS e, 2.5e3 AS f, DATE '2024-02-29' AS g, TIMESTAMP '2024-02-29 12:00:00' AS h
----
SELECT 1 AS a, 'x' AS b, NULL AS c, TRUE AS d, 1.5 AS e, 2.5e3 AS f, CAST('2024-02-29' AS DATE) AS g, CAST('2024-02-29 12:00:00' AS TIMESTAMP) AS h
====
SELECT * FROM trades
----
SELECT * FROM trades
====
SELECT DISTINCT sym FROM trades
----
SELECT DISTINCT sym FROM trades
====
SELECT FIRST(price, true) FILTER (WHERE qty > 1) AS a, LAST(price) FILTER (WHERE qty > 1) RESPECT NULLS AS b FROM trades
----
SELECT FIRST(price) FILTER(WHERE qty > 1) IGNORE NULLS AS a, LAST(price) FILTER(WHERE qty > 1) RESPECT NULLS AS b FROM trades
====
SELECT sym, price * qty AS volume FROM trades WHERE price > 10 AND qty <> 3 OR NOT active
----
SELECT sym, price * qty AS volume FROM trades WHERE price > 10 AND qty <> 3 OR NOT active
====
SELECT t.sym, t.price FROM trades AS t WHERE t.price BETWEEN 1 AND 2 AND t.sym IN ('a', 'b') AND t.sym LIKE 'a%' AND t.day IS NOT NULL
----
SELECT t.sym, t.price FROM trades AS t WHERE t.price BETWEEN 1 AND 2 AND t.sym IN ('a', 'b') AND t.sym LIKE 'a%' AND NOT t.day IS NULL
====
SELECT sym FROM trades WHERE price BETWEEN SYMMETRIC 2 AND CASE WHEN qty NOT BETWEEN SYMMETRIC 9 AND 5 THEN 1 END
----
SELECT sym FROM trades WHERE (price BETWEEN 2 AND CASE WHEN NOT (qty BETWEEN 9 AND 5 OR qty BETWEEN 5 AND 9) THEN 1 END OR price BETWEEN CASE WHEN NOT (qty BETWEEN 9 AND 5 OR qty BETWEEN 5 AND 9) THEN 1 END AND 2)
====
SELECT sym FROM trades ORDER BY price OFFSET 2 ROWS FETCH NEXT 3 ROWS ONLY
----
SELECT sym FROM trades ORDER BY price LIMIT 3 OFFSET 2
====
SELECT sym FROM (SELECT sym FROM trades ORDER BY price FETCH FIRST ROW ONLY) AS t
----
SELECT sym FROM (SELECT sym FROM trades ORDER BY price LIMIT 1) AS t
====
SELECT sym, COUNT(*) AS n, COUNT(DISTINCT qty) AS d, SUM(price) AS s, AVG(price) AS a FROM trades GROUP BY sym HAVING COUNT(*) > 1
----
SELECT sym, COUNT(*) AS n, COUNT(DISTINCT qty) AS d, SUM(price) AS s, AVG(price) AS a FROM trades GROUP BY sym HAVING COUNT(*) > 1
====
SELECT sym, SUM(qty) FILTER (WHERE price > 3) AS s FROM trades GROUP BY sym
----
SELECT sym, SUM(qty) FILTER(WHERE price > 3) AS s FROM trades GROUP BY sym
====
SELECT sym, day, SUM(qty) AS s FROM trades GROUP BY GROUPING SETS ((sym, day), (sym), ())
----
SELECT sym, day, SUM(qty) AS s FROM trades GROUP BY GROUPING SETS ((sym, day), (sym), ())
====
SELECT sym, day, SUM(qty) AS s FROM trades GROUP BY ROLLUP (sym, day)
----
SELECT sym, day, SUM(qty) AS s FROM trades GROUP BY ROLLUP (sym, day)
====
SELECT sym, day, GROUPING(sym) AS g, SUM(qty) AS s FROM trades GROUP BY CUBE (sym, day)
----
SELECT sym, day, GROUPING(sym) AS g, SUM(qty) AS s FROM trades GROUP BY CUBE (sym, day)
====
SELECT sym, SUM(qty) AS s FROM trades GROUP BY ALL
----
SELECT sym, SUM(qty) AS s FROM trades GROUP BY ALL
====
SELECT window(ts, '5 minutes') AS w, COUNT(*) AS n FROM trades GROUP BY window(ts, '5 minutes')
----
SELECT WINDOW(ts, '5 minutes') AS w, COUNT(*) AS n FROM trades GROUP BY WINDOW(ts, '5 minutes')
====
SELECT window.start AS start, sym, COUNT(*) AS n FROM trades GROUP BY window(ts, '10 minutes', '5 minutes'), sym
----
SELECT window.start AS start, sym, COUNT(*) AS n FROM trades GROUP BY WINDOW(ts, '10 minutes', '5 minutes'), sym
====
SELECT window.start AS start, MAX(n) AS n FROM (SELECT window, sym, COUNT(*) AS n FROM trades GROUP BY window(ts, '5 minutes'), sym) GROUP BY window HAVING MAX(n) > 1
----
SELECT window.start AS start, MAX(n) AS n FROM (SELECT WINDOW(ts, '5 minutes') AS window, sym, COUNT(*) AS n FROM trades GROUP BY WINDOW(ts, '5 minutes'), sym) GROUP BY window HAVING MAX(n) > 1
====
SELECT sym, session_window.start AS start, COUNT(*) AS n FROM trades GROUP BY sym, session_window(ts, '5 minutes')
----
SELECT sym, session_window.start AS start, COUNT(*) AS n FROM trades GROUP BY sym, SESSION_WINDOW(ts, '5 minutes')
====
SELECT sym, price, ROW_NUMBER() OVER (PARTITION BY sym ORDER BY ts DESC) AS n FROM trades
----
SELECT sym, price, ROW_NUMBER() OVER (PARTITION BY sym ORDER BY ts DESC) AS n FROM trades
====
SELECT sym, LAG(price, 1, 0.0) OVER (PARTITION BY sym ORDER BY ts) AS before, LEAD(price) OVER (PARTITION BY sym ORDER BY ts) AS after FROM trades
----
SELECT sym, LAG(price, 1, 0.0) OVER (PARTITION BY sym ORDER BY ts) AS before, LEAD(price) OVER (PARTITION BY sym ORDER BY ts) AS after FROM trades
====
SELECT sym, SUM(qty) OVER (PARTITION BY sym ORDER BY ts ROWS BETWEEN 2 PRECEDING AND CURRENT ROW) AS s FROM trades
----
SELECT sym, SUM(qty) OVER (PARTITION BY sym ORDER BY ts ROWS BETWEEN 2 PRECEDING AND CURRENT ROW) AS s FROM trades
====
SELECT sym, AVG(price) OVER (PARTITION BY sym ORDER BY ts RANGE BETWEEN INTERVAL '1' HOUR PRECEDING AND CURRENT ROW) AS s FROM trades
----
SELECT sym, AVG(price) OVER (PARTITION BY sym ORDER BY ts RANGE BETWEEN INTERVAL '1' HOUR PRECEDING AND CURRENT ROW) AS s FROM trades
====
SELECT sym, RANK() OVER w AS r, DENSE_RANK() OVER w AS d FROM trades WINDOW w AS (PARTITION BY day ORDER BY price)
----
SELECT sym, RANK() OVER w AS r, DENSE_RANK() OVER w AS d FROM trades WINDOW w AS (PARTITION BY day ORDER BY price)
====
SELECT sym, price FROM trades QUALIFY ROW_NUMBER() OVER (PARTITION BY sym ORDER BY ts DESC) = 1
----
SELECT * EXCEPT (_qualify_0) FROM (SELECT sym, price, ROW_NUMBER() OVER (PARTITION BY sym ORDER BY ts DESC) AS _qualify_0 FROM trades) AS _t WHERE _qualify_0 = 1
====
SELECT sym, FIRST_VALUE(price) OVER (PARTITION BY sym ORDER BY ts) AS f, LAST_VALUE(price) IGNORE NULLS OVER (PARTITION BY sym ORDER BY ts) AS l FROM trades
----
SELECT sym, FIRST_VALUE(price) OVER (PARTITION BY sym ORDER BY ts) AS f, LAST_VALUE(price) IGNORE NULLS OVER (PARTITION BY sym ORDER BY ts) AS l FROM trades
====
SELECT FIRST(price) AS f, LAST(price, TRUE) AS l, ANY_VALUE(sym) AS a FROM trades
----
SELECT FIRST(price) AS f, LAST(price) IGNORE NULLS AS l, ANY_VALUE(sym) AS a FROM trades
====
SELECT CASE WHEN price > 10 THEN 'high' WHEN price > 5 THEN 'mid' ELSE 'low' END AS level FROM trades
----
SELECT CASE WHEN price > 10 THEN 'high' WHEN price > 5 THEN 'mid' ELSE 'low' END AS level FROM trades
====
SELECT CASE sym WHEN 'a' THEN 1 ELSE 2 END AS n, IF(qty > 3, 'x', 'y') AS i, COALESCE(qty, 0) AS c, NULLIF(qty, 0) AS u, NVL(qty, 1) AS v FROM trades
----
SELECT CASE sym WHEN 'a' THEN 1 ELSE 2 END AS n, IF(qty > 3, 'x', 'y') AS i, COALESCE(qty, 0) AS c, NULLIF(qty, 0) AS u, COALESCE(qty, 1) AS v FROM trades
====
SELECT transform(tags, t -> upper(t)) AS up, filter(tags, t -> length(t) > 2) AS long, exists(tags, t -> t = 'x') AS e FROM trades
----
SELECT TRANSFORM(tags, t -> UPPER(t)) AS up, FILTER(tags, t -> LENGTH(t) > 2) AS long, EXISTS(tags, t -> t = 'x') AS e FROM trades
====
SELECT aggregate(array(1, 2, 3), 0, (acc, x) -> acc + x) AS s, zip_with(array(1), array(2), (x, y) -> x + y) AS z
----
SELECT AGGREGATE(ARRAY(1, 2, 3), 0, (acc, x) -> acc + x) AS s, ZIP_WITH(ARRAY(1), ARRAY(2), (x, y) -> x + y) AS z
====
SELECT map('a', 1, 'b', 2) AS m, map('a', 1)['a'] AS v, element_at(map('a', 1), 'a') AS e, struct(1 AS x, 'y' AS y) AS s, named_struct('x', 1) AS n
----
SELECT MAP('a', 1, 'b', 2) AS m, MAP('a', 1)['a'] AS v, ELEMENT_AT(MAP('a', 1), 'a') AS e, STRUCT(1 AS x, 'y' AS y) AS s, STRUCT(1 AS x) AS n
====
SELECT place.lat, t.place.lon, tags[0] AS first, size(tags) AS n FROM trades t
----
SELECT place.lat, t.place.lon, tags[0] AS first, SIZE(tags) AS n FROM trades AS t
====
SELECT sym, tag FROM trades LATERAL VIEW explode(tags) e AS tag
----
SELECT sym, tag FROM trades LATERAL VIEW EXPLODE(tags) e AS tag
====
SELECT sym, pos, tag FROM trades LATERAL VIEW OUTER posexplode(tags) e AS pos, tag WHERE pos = 0
----
SELECT sym, pos, tag FROM trades LATERAL VIEW OUTER POSEXPLODE(tags) e AS pos, tag WHERE pos = 0
====
SELECT sym, explode(tags) AS tag FROM trades
----
SELECT sym, EXPLODE(tags) AS tag FROM trades
====
SELECT * FROM (SELECT sym, day, price FROM trades) PIVOT (SUM(price) FOR sym IN ('a', 'b'))
----
SELECT * FROM (SELECT sym, day, price FROM trades) PIVOT(SUM(price) FOR sym IN ('a', 'b'))
====
SELECT * FROM trades TABLESAMPLE (10 PERCENT)
----
SELECT * FROM trades TABLESAMPLE (10 PERCENT)
====
SELECT * FROM trades TABLESAMPLE (5 ROWS)
----
SELECT * FROM trades TABLESAMPLE (5 ROWS)
====
SELECT ts + INTERVAL '1' DAY AS a, ts - INTERVAL 2 HOURS AS b, ts + INTERVAL '1 02:03:04' DAY TO SECOND AS c, day + INTERVAL '1' MONTH AS d FROM trades
----
SELECT ts + INTERVAL '1' DAY AS a, ts - INTERVAL '2' HOURS AS b, ts + INTERVAL '1 02:03:04' DAY TO SECOND AS c, day + INTERVAL '1' MONTH AS d FROM trades
====
SELECT EXTRACT(YEAR FROM ts) AS y, date_trunc('HOUR', ts) AS h, to_date(ts) AS d, unix_timestamp(ts) AS u, date_format(ts, 'yyyy-MM-dd') AS f FROM trades
----
SELECT EXTRACT(YEAR FROM ts) AS y, DATE_TRUNC('HOUR', ts) AS h, TO_DATE(ts) AS d, UNIX_TIMESTAMP(ts) AS u, DATE_FORMAT(ts, 'yyyy-MM-dd') AS f FROM trades
====
SELECT date_add(day, 3) AS a, datediff(day, DATE '2024-01-01') AS d, add_months(day, 1) AS m, last_day(day) AS l, months_between(ts, ts) AS b, current_date() AS c FROM trades
----
SELECT DATE_ADD(day, 3) AS a, DATEDIFF(day, CAST('2024-01-01' AS DATE)) AS d, ADD_MONTHS(day, 1) AS m, LAST_DAY(day) AS l, MONTHS_BETWEEN(ts, ts) AS b, CURRENT_DATE AS c FROM trades
====
SELECT timestampdiff(MINUTE, ts, current_timestamp()) AS d, timestampadd(HOUR, 1, ts) AS a FROM trades
----
SELECT TIMESTAMPDIFF(MINUTE, ts, CURRENT_TIMESTAMP()) AS d, DATE_ADD(HOUR, 1, ts) AS a FROM trades
====
SELECT CAST(price AS INT) AS i, price::STRING AS s, TRY_CAST(sym AS DOUBLE) AS d, CAST(amount AS DECIMAL(12, 4)) AS x, CAST(ts AS DATE) AS t FROM trades
----
SELECT CAST(price AS INT) AS i, CAST(price AS STRING) AS s, TRY_CAST(sym AS DOUBLE) AS d, CAST(amount AS DECIMAL(12, 4)) AS x, CAST(ts AS DATE) AS t FROM trades
====
SELECT /*+ BROADCAST(c) */ t.sym, c.name FROM trades t JOIN companies c ON t.sym = c.sym
----
SELECT /*+ BROADCAST(c) */ t.sym, c.name FROM trades AS t JOIN companies AS c ON t.sym = c.sym
====
SELECT t.sym, c.name FROM trades t LEFT JOIN companies c USING (sym)
----
SELECT t.sym, c.name FROM trades AS t LEFT JOIN companies AS c USING (sym)
====
SELECT * FROM trades t LEFT SEMI JOIN companies c ON t.sym = c.sym
----
SELECT * FROM trades AS t LEFT SEMI JOIN companies AS c ON t.sym = c.sym
====
SELECT * FROM trades t LEFT ANTI JOIN companies c ON t.sym = c.sym
----
SELECT * FROM trades AS t LEFT ANTI JOIN companies AS c ON t.sym = c.sym
====
SELECT t.sym FROM trades t FULL OUTER JOIN companies c ON t.sym = c.sym AND c.founded < t.day
----
SELECT t.sym FROM trades AS t FULL OUTER JOIN companies AS c ON t.sym = c.sym AND c.founded < t.day
====
SELECT t.sym FROM trades t CROSS JOIN companies c
----
SELECT t.sym FROM trades AS t CROSS JOIN companies AS c
====
SELECT t.sym, x.n FROM trades t, LATERAL (SELECT COUNT(*) AS n FROM companies c WHERE c.sym = t.sym) x
----
SELECT t.sym, x.n FROM trades AS t CROSS JOIN LATERAL (SELECT COUNT(*) AS n FROM companies AS c WHERE c.sym = t.sym) AS x
====
SELECT * FROM trades NATURAL JOIN companies
----
SELECT * FROM trades NATURAL JOIN companies
====
SELECT sym FROM trades UNION SELECT sym FROM companies
----
SELECT sym FROM trades UNION SELECT sym FROM companies
====
SELECT sym FROM trades UNION ALL SELECT sym FROM companies ORDER BY sym LIMIT 3
----
SELECT sym FROM trades UNION ALL SELECT sym FROM companies ORDER BY sym LIMIT 3
====
SELECT sym FROM trades INTERSECT SELECT sym FROM companies
----
SELECT sym FROM trades INTERSECT SELECT sym FROM companies
====
SELECT sym FROM trades EXCEPT SELECT sym FROM companies
----
SELECT sym FROM trades EXCEPT SELECT sym FROM companies
====
SELECT sym FROM trades MINUS SELECT sym FROM companies
----
SELECT sym FROM trades EXCEPT SELECT sym FROM companies
====
SELECT sym FROM trades WHERE price > (SELECT AVG(price) FROM trades)
----
SELECT sym FROM trades WHERE price > (SELECT AVG(price) FROM trades)
====
SELECT sym FROM trades t WHERE EXISTS (SELECT 1 FROM companies c WHERE c.sym = t.sym)
----
SELECT sym FROM trades AS t WHERE EXISTS(SELECT 1 FROM companies AS c WHERE c.sym = t.sym)
====
SELECT sym FROM trades WHERE sym NOT IN (SELECT sym FROM companies WHERE sector = 'oil')
----
SELECT sym FROM trades WHERE NOT sym IN (SELECT sym FROM companies WHERE sector = 'oil')
====
WITH a AS (SELECT sym, price FROM trades), b AS (SELECT sym FROM a WHERE price > 3) SELECT a.sym FROM a JOIN b ON a.sym = b.sym
----
WITH a AS (SELECT sym, price FROM trades), b AS (SELECT sym FROM a WHERE price > 3) SELECT a.sym FROM a JOIN b ON a.sym = b.sym
====
WITH a (x, y) AS (SELECT sym, price FROM trades) SELECT x FROM a WHERE y > 3
----
WITH a(x, y) AS (SELECT sym, price FROM trades) SELECT x FROM a WHERE y > 3
====
SELECT * FROM VALUES (1, 'a'), (2, 'b') AS v(n, c)
----
SELECT * FROM VALUES (1, 'a'), (2, 'b') AS v(n, c)
====
SELECT n FROM (VALUES (1), (2)) AS v(n) WHERE n > 1
----
SELECT n FROM VALUES (1), (2) AS v(n) WHERE n > 1
====
SELECT * FROM range(10)
----
SELECT * FROM RANGE(10)
====
SELECT id FROM range(1, 10, 2) WHERE id % 2 = 0 ORDER BY id DESC NULLS LAST LIMIT 3 OFFSET 1
----
SELECT id FROM RANGE(1, 10, 2) WHERE id % 2 = 0 ORDER BY id DESC LIMIT 3 OFFSET 1
====
SELECT sym, price FROM trades ORDER BY price DESC, sym ASC NULLS LAST
----
SELECT sym, price FROM trades ORDER BY price DESC, sym ASC NULLS LAST
====
SELECT sym FROM trades DISTRIBUTE BY sym SORT BY price
----
SELECT sym FROM trades DISTRIBUTE BY sym SORT BY price
====
SELECT sym FROM trades CLUSTER BY sym
----
SELECT sym FROM trades CLUSTER BY sym
====
SELECT a.sym AS `odd name`, a.`price` FROM `trades` a
----
SELECT a.sym AS `odd name`, a.`price` FROM `trades` AS a
====
SELECT sym || '-' || qty AS k, concat_ws(',', sym, qty) AS c, split(sym, ',')[0] AS s, regexp_extract(sym, '(\\w+)', 1) AS r, sym RLIKE '^a' AS m FROM trades
----
SELECT sym || '-' || qty AS k, CONCAT_WS(',', sym, qty) AS c, SPLIT(sym, ',')[0] AS s, REGEXP_EXTRACT(sym, '(\\w+)') AS r, sym RLIKE '^a' AS m FROM trades
====
SELECT qty % 2 AS m, qty DIV 2 AS d, qty & 1 AS a, qty | 1 AS o, qty ^ 1 AS x, ~qty AS n, -qty AS g, qty << 1 AS l FROM trades
----
SELECT qty % 2 AS m, qty DIV 2 AS d, qty & 1 AS a, qty | 1 AS o, qty ^ 1 AS x, ~qty AS n, -qty AS g, SHIFTLEFT(qty, 1) AS l FROM trades
====
SELECT price <=> NULL AS e, price IS DISTINCT FROM 3 AS d, price != 3 AS n, price == 3 AS q FROM trades
----
SELECT price IS NOT DISTINCT FROM NULL AS e, price IS DISTINCT FROM 3 AS d, price <> 3 AS n, price = 3 AS q FROM trades
====
SELECT percentile_approx(price, 0.5) AS p, approx_count_distinct(sym) AS a, collect_list(sym) AS l, collect_set(sym) AS s, max_by(sym, price) AS m, stddev(price) AS sd FROM trades
----
SELECT PERCENTILE_APPROX(price, 0.5) AS p, APPROX_COUNT_DISTINCT(sym) AS a, COLLECT_LIST(sym) AS l, COLLECT_SET(sym) AS s, MAX_BY(sym, price) AS m, STDDEV(price) AS sd FROM trades
====
SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY price) AS p, listagg(sym, ',') WITHIN GROUP (ORDER BY sym) AS l FROM trades
----
SELECT PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY price) AS p, LISTAGG(sym, ',') WITHIN GROUP (ORDER BY sym) AS l FROM trades
====
SELECT stack(2, 1, 'a', 2, 'b') AS (n, c)
----
SELECT STACK(2, 1, 'a', 2, 'b') AS (n, c)
====
SELECT from_json('{"a": 1}', 'a INT').a AS a, get_json_object('{"a": 1}', '$.a') AS g, to_json(named_struct('a', 1)) AS j
----
SELECT FROM_JSON('{"a": 1}', 'a INT').a AS a, GET_JSON_OBJECT('{"a": 1}', '$.a') AS g, TO_JSON(STRUCT(1 AS a)) AS j
====
SELECT sym, inline_outer(array(struct(1 AS a, 2 AS b))) FROM trades
----
SELECT sym, INLINE_OUTER(ARRAY(STRUCT(1 AS a, 2 AS b))) FROM trades
====
SELECT upper(sym) AS u, substring(sym, 2, 3) AS s, trim(sym) AS t, lpad(sym, 5, '0') AS l, replace(sym, 'a', 'b') AS r, length(sym) AS n, instr(sym, 'a') AS i, md5(sym) AS m FROM trades
----
SELECT UPPER(sym) AS u, SUBSTRING(sym, 2, 3) AS s, TRIM(sym) AS t, LPAD(sym, 5, '0') AS l, REPLACE(sym, 'a', 'b') AS r, LENGTH(sym) AS n, LOCATE('a', sym) AS i, MD5(sym) AS m FROM trades
====
SELECT round(price, 2) AS r, floor(price) AS f, ceil(price) AS c, abs(price) AS a, sqrt(price) AS s, power(price, 2) AS p, greatest(1, 2) AS g, least(1, 2) AS l, log(2, price) AS lg FROM trades
----
SELECT ROUND(price, 2) AS r, FLOOR(price) AS f, CEIL(price) AS c, ABS(price) AS a, SQRT(price) AS s, POWER(price, 2) AS p, GREATEST(1, 2) AS g, LEAST(1, 2) AS l, LOG(2, price) AS lg FROM trades
====
SELECT 'it''s' AS a, "double" AS b, 'tab\t' AS c, r'raw\n' AS d, '' AS e, 'é' AS f
----
SELECT 'it\'s' AS a, 'double' AS b, 'tab\t' AS c, 'raw\\n' AS d, '' AS e, 'é' AS f
====
SELECT sym FROM ticks WHERE price > 10
----
SELECT sym FROM ticks WHERE price > 10
====
SELECT sym, price FROM busy JOIN trades USING (sym)
----
SELECT sym, price FROM (SELECT sym, ts, price * qty AS volume FROM ticks WHERE qty > 100) AS busy JOIN trades USING (sym)
====
SELECT volume FROM busy LIMIT 5
----
SELECT volume FROM (SELECT sym, ts, price * qty AS volume FROM ticks WHERE qty > 100) AS busy
====
SELECT ticks.sym FROM ticks JOIN companies ON ticks.sym = companies.sym
----
SELECT ticks.sym FROM ticks JOIN companies ON ticks.sym = companies.sym
====
SELECT date_diff(day, DATE '2024-01-01') AS d, hour(ts) AS h, dayofweek(ts) AS w, make_date(2024, 1, 2) AS m, from_unixtime(0) AS f, ts::DATE AS c, timestamp_micros(5) AS tm FROM trades
----
SELECT DATEDIFF(day, CAST('2024-01-01' AS DATE)) AS d, HOUR(ts) AS h, DAYOFWEEK(ts) AS w, MAKE_DATE(2024, 1, 2) AS m, FROM_UNIXTIME(0) AS f, CAST(ts AS DATE) AS c, TIMESTAMP_MICROS(5) AS tm FROM trades
====
SELECT sym, try_divide(price, qty) AS d, width_bucket(price, 0, 10, 5) AS w, hash(sym) AS h, xxhash64(sym) AS x, nvl2(qty, 1, 2) AS n, ifnull(qty, 3) AS i FROM trades
----
SELECT sym, TRY_DIVIDE(price, qty) AS d, WIDTH_BUCKET(price, 0, 10, 5) AS w, HASH(sym) AS h, XXHASH64(sym) AS x, NVL2(qty, 1, 2) AS n, COALESCE(qty, 3) AS i FROM trades
====
SELECT listagg(sym) AS l, string_agg(sym, ';') AS s, percentile(price, 0.5, qty) AS p, max_by(sym, price) AS m FROM trades
----
SELECT LISTAGG(sym) AS l, STRING_AGG(sym, ';') AS s, PERCENTILE(price, 0.5, qty) AS p, MAX_BY(sym, price) AS m FROM trades
====
SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY price DESC) AS p, percentile(price, 0.25) FILTER (WHERE qty > 1) AS f FROM trades
----
SELECT PERCENTILE_DISC(0.5) WITHIN GROUP (ORDER BY price DESC) AS p, PERCENTILE(price, 0.25) FILTER(WHERE qty > 1) AS f FROM trades
====
SELECT to_char(price, '999D99') AS c, parse_json('{"a": 1}') AS j FROM trades
----
SELECT TO_CHAR(price, '999D99') AS c, PARSE_JSON('{"a": 1}') AS j FROM trades
====
SELECT *, -price AS price FROM trades AS t QUALIFY RANK() OVER (PARTITION BY sym ORDER BY t.price) = 1 AND qty > 3 ORDER BY ts LIMIT 2
----
SELECT * EXCEPT (_qualify_0, _qualify_1, _qualify_2) FROM (SELECT *, -price AS price, RANK() OVER (PARTITION BY sym ORDER BY t.price) AS _qualify_0, qty AS _qualify_1, ts AS _qualify_2 FROM trades AS t) AS _t WHERE _qualify_0 = 1 AND _qualify_1 > 3 ORDER BY _qualify_2 LIMIT 2
====
SELECT DISTINCT sym, -price AS lost FROM trades QUALIFY SUM(price) OVER (ORDER BY lost) > 9 AND lost < 3
----
SELECT DISTINCT * EXCEPT (_qualify_0) FROM (SELECT sym, -price AS lost, SUM(price) OVER (ORDER BY -price) AS _qualify_0 FROM trades) AS _t WHERE _qualify_0 > 9 AND lost < 3
====
SELECT t.sym, u.tag FROM trades AS t CROSS JOIN UNNEST(t.tags) AS u (tag) LEFT JOIN UNNEST(t.tags) v ON TRUE
----
SELECT t.sym, u.tag FROM trades AS t CROSS JOIN LATERAL EXPLODE(t.tags) AS u(tag) CROSS JOIN LATERAL EXPLODE_OUTER(t.tags) AS v(v)
====
SELECT sym, n, tag FROM trades LEFT OUTER JOIN LATERAL TABLE(posexplode(tags)) AS u (n, tag) ON true, LATERAL TABLE(explode(tags)) AS v
----
SELECT sym, n, tag FROM trades CROSS JOIN LATERAL POSEXPLODE_OUTER(tags) AS u(n, tag) CROSS JOIN LATERAL EXPLODE(tags) AS v
====
SELECT sym, tag FROM trades LEFT JOIN LATERAL explode(tags) AS u (tag) ON tag > sym
----
SELECT sym, tag FROM trades LEFT JOIN LATERAL EXPLODE(tags) AS u(tag) ON tag > sym
====
SELECT * EXCLUDE (tags, place), ARRAY[qty, 1] AS a FROM trades
----
SELECT * EXCEPT (tags, place), ARRAY(qty, 1) AS a FROM trades
====
SELECT sym FROM trades WHERE localtimestamp() - INTERVAL '1' DAY > ts
----
SELECT sym FROM trades WHERE LOCALTIMESTAMP() - INTERVAL '1' DAY > ts
