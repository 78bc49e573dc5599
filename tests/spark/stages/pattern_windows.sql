# Row patterns in windows over tables.
SELECT *, label OVER w, low OVER w, count(*) OVER w FROM orders WINDOW w AS (PARTITION BY customer ORDER BY id MEASURES CLASSIFIER() AS label, LAST(B.value) AS low ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING PATTERN (A B+ C?) SUBSET U = (A, B) DEFINE B AS value < PREV(value), C AS value > LAST(U.value))
----
customer|id|value|label|low|count(1) OVER w
c1|1|90|B|70|3
c1|2|80|NULL|NULL|0
c1|3|70|NULL|NULL|0
c1|4|70|NULL|NULL|0
c1|5|85|NULL|NULL|0
c2|1|50|C|40|3
c2|2|40|NULL|NULL|0
c2|3|60|NULL|NULL|0
c2|NULL|10|NULL|NULL|0
====
SELECT customer, id, array_agg(value) OVER w AS vs, nxt OVER w FROM orders WINDOW w AS (PARTITION BY customer ORDER BY id MEASURES NEXT(LAST(value)) AS nxt ROWS BETWEEN CURRENT ROW AND 1 FOLLOWING AFTER MATCH SKIP TO NEXT ROW PATTERN (A B*) DEFINE B AS value < PREV(value))
----
customer|id|vs|nxt
c1|1|[90, 80]|NULL
c1|2|[80, 70]|NULL
c1|3|[70]|70
c1|4|[70]|85
c1|5|[85]|NULL
c2|1|[50, 40]|NULL
c2|2|[40]|60
c2|3|[60]|NULL
c2|NULL|[10]|50
====
SELECT customer, id, array_agg(value) OVER w AS vs, nxt OVER w FROM orders WINDOW w AS (PARTITION BY customer ORDER BY id MEASURES NEXT(LAST(value)) AS nxt ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING AFTER MATCH SKIP TO LAST B PATTERN (A B+) DEFINE B AS value < PREV(value))
----
customer|id|vs|nxt
c1|1|[90, 80, 70]|70
c1|2|[]|NULL
c1|3|[]|NULL
c1|4|[]|NULL
c1|5|[]|NULL
c2|1|[50, 40]|60
c2|2|[]|NULL
c2|3|[]|NULL
c2|NULL|[]|NULL
====
SELECT customer, id, is_empty OVER w, label OVER w, count(*) OVER w AS n, sum(value) OVER w AS s, first_value(value) OVER w AS f, collect_list(value) OVER w AS l FROM orders WINDOW w AS (PARTITION BY customer ORDER BY id MEASURES count(*) = 0 AS is_empty, CLASSIFIER() AS label ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING PATTERN (B*?) DEFINE B AS value < PREV(value))
----
customer|id|is_empty|label|n|s|f|l
c1|1|True|NULL|0|NULL|NULL|[]
c1|2|True|NULL|0|NULL|NULL|[]
c1|3|True|NULL|0|NULL|NULL|[]
c1|4|True|NULL|0|NULL|NULL|[]
c1|5|True|NULL|0|NULL|NULL|[]
c2|1|True|NULL|0|NULL|NULL|[]
c2|2|True|NULL|0|NULL|NULL|[]
c2|3|True|NULL|0|NULL|NULL|[]
c2|NULL|True|NULL|0|NULL|NULL|[]
====
SELECT customer, id, is_empty OVER w, count(*) OVER w AS n FROM orders WINDOW w AS (PARTITION BY customer ORDER BY id MEASURES count(*) = 0 AS is_empty ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING PATTERN (B*) DEFINE B AS value < 75)
----
customer|id|is_empty|n
c1|1|True|0
c1|2|True|0
c1|3|False|2
c1|4|NULL|0
c1|5|True|0
c2|1|NULL|0
c2|2|NULL|0
c2|3|NULL|0
c2|NULL|False|4
====
SELECT customer, id, first OVER w, last OVER w, r OVER w, f OVER w FROM orders WINDOW w AS (PARTITION BY customer ORDER BY id MEASURES FIRST(B.value) AS first, LAST(value, 1) AS last, RUNNING LAST(value) AS r, FINAL count(B.*) AS f ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING PATTERN (A B*) DEFINE B AS value <= PREV(value))
----
customer|id|first|last|r|f
c1|1|80|70|70|3
c1|2|NULL|NULL|NULL|NULL
c1|3|NULL|NULL|NULL|NULL
c1|4|NULL|NULL|NULL|NULL
c1|5|NULL|NULL|85|0
c2|1|40|50|40|1
c2|2|NULL|NULL|NULL|NULL
c2|3|NULL|NULL|60|0
c2|NULL|NULL|NULL|10|0
====
SELECT customer, id, names OVER w FROM orders WINDOW w AS (PARTITION BY customer ORDER BY id MEASURES array_join(collect_list(CLASSIFIER()), '') AS names ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING PATTERN (PERMUTE(A, B) | C) DEFINE A AS value > NEXT(value), B AS value < PREV(value))
----
customer|id|names
c1|1|AB
c1|2|NULL
c1|3|C
c1|4|C
c1|5|C
c2|1|AB
c2|2|NULL
c2|3|C
c2|NULL|C
====
SELECT customer, id, nth_value(value, 2) OVER w AS second, last_value(value) OVER w AS last, min(value) OVER w AS least, count_if(value > 60) OVER w AS large, count(DISTINCT value) OVER w AS different, sum(value) FILTER (WHERE id > 2) OVER w AS late, approx_count_distinct(value) OVER w AS about, median(value) OVER w AS middle FROM orders WINDOW w AS (PARTITION BY customer ORDER BY id ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING PATTERN (A B+) DEFINE B AS value <= PREV(value))
----
customer|id|second|last|least|large|different|late|about|middle
c1|1|80|70|70|4|3|140|3|75.0
c1|2|NULL|NULL|NULL|0|0|NULL|0|NULL
c1|3|NULL|NULL|NULL|0|0|NULL|0|NULL
c1|4|NULL|NULL|NULL|0|0|NULL|0|NULL
c1|5|NULL|NULL|NULL|0|0|NULL|0|NULL
c2|1|40|40|40|0|2|NULL|2|45.0
c2|2|NULL|NULL|NULL|0|0|NULL|0|NULL
c2|3|NULL|NULL|NULL|0|0|NULL|0|NULL
c2|NULL|NULL|NULL|NULL|0|0|NULL|0|NULL
====
SELECT customer, id, first_value(nullif(value, 80)) IGNORE NULLS OVER w AS a, last_value(5) OVER w AS b, first(value) OVER w AS c, max_by(value, id) OVER w AS d FROM orders WINDOW w AS (PARTITION BY customer ORDER BY id DESC ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING PATTERN (A B+) DEFINE B AS value > PREV(value))
----
customer|id|a|b|c|d
c1|1|NULL|NULL|NULL|NULL
c1|2|NULL|NULL|NULL|NULL
c1|3|70|5|70|70
c1|4|NULL|NULL|NULL|NULL
c1|5|NULL|NULL|NULL|NULL
c2|1|NULL|NULL|NULL|NULL
c2|2|40|5|40|40
c2|3|NULL|NULL|NULL|NULL
c2|NULL|NULL|NULL|NULL|NULL
====
SELECT customer, id, lag(value) OVER w AS before, lead(value) OVER w AS after, row_number() OVER (ORDER BY value, id) AS place, sum(value) OVER v AS total, low OVER w FROM orders WINDOW v AS (PARTITION BY customer), w AS (v ORDER BY id MEASURES min(value) AS low ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING PATTERN (A B+) DEFINE B AS value < PREV(value))
----
customer|id|before|after|place|total|low
c1|1|NULL|80|9|395|70
c1|2|90|70|7|395|NULL
c1|3|80|70|5|395|NULL
c1|4|70|85|6|395|NULL
c1|5|70|NULL|8|395|NULL
c2|1|10|40|3|160|40
c2|2|50|60|2|160|NULL
c2|3|40|NULL|4|160|NULL
c2|NULL|NULL|50|1|160|NULL
====
SELECT customer, id, low OVER w, low OVER v AS other FROM orders WINDOW w AS (PARTITION BY customer ORDER BY id MEASURES min(value) AS low ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING PATTERN (A B+) DEFINE B AS value < PREV(value)), v AS (ORDER BY id, customer MEASURES min(value) AS low ROWS BETWEEN CURRENT ROW AND 2 FOLLOWING PATTERN (A B) DEFINE B AS customer <> A.customer)
----
customer|id|low|other
c1|1|70|NULL
c1|2|NULL|NULL
c1|3|NULL|NULL
c1|4|NULL|NULL
c1|5|NULL|NULL
c2|1|40|50
c2|2|NULL|40
c2|3|NULL|60
c2|NULL|NULL|10
====
SELECT customer, id FROM orders QUALIFY count(*) OVER (PARTITION BY upper(customer) ORDER BY id ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING PATTERN (A B+) DEFINE B AS value < PREV(value)) > 1
----
customer|id
c1|1
c2|1
====
SELECT o.id, n.id AS n_id, name, low OVER w FROM orders AS o JOIN names AS n ON o.customer = n.customer WHERE value > 10 WINDOW w AS (PARTITION BY n.name ORDER BY o.id MEASURES LAST(B.value) AS low ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING PATTERN (A B+) DEFINE B AS value < PREV(value)) ORDER BY 1, 2
----
id|n_id|name|low
1|1|Ann|70
1|2|Bob|40
2|1|Ann|NULL
2|2|Bob|NULL
3|1|Ann|NULL
3|2|Bob|NULL
4|1|Ann|NULL
5|1|Ann|NULL
====
WITH c AS (SELECT id, low OVER w FROM orders WINDOW w AS (PARTITION BY customer ORDER BY id MEASURES LAST(B.value) AS low ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING PATTERN (A B+) DEFINE B AS value < PREV(value))) SELECT a.low, count(*) AS n FROM c AS a JOIN lows AS b ON a.low = b.low GROUP BY a.low
----
low|n
40|1
70|1
====
SELECT DISTINCT value * 0 AS id, low OVER w FROM orders WINDOW w AS (PARTITION BY customer ORDER BY id MEASURES LAST(B.value) AS low ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING PATTERN (A B+) DEFINE B AS value < PREV(value) AND value > (SELECT avg(value) FROM orders WHERE id < 3) / 2) ORDER BY 1, 2 DESC LIMIT 2
----
id|low
0|70
0|40
====
SELECT id, upper(label OVER w) || count(*) OVER w, coalesce(sum(value) OVER w, -1) FROM (SELECT label OVER v AS label, id, value FROM orders WINDOW v AS (PARTITION BY customer ORDER BY id MEASURES CLASSIFIER() AS label ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING PATTERN (A | B) DEFINE A AS value > 70)) WINDOW w AS (ORDER BY id MEASURES label AS label ROWS BETWEEN CURRENT ROW AND CURRENT ROW PATTERN (A) DEFINE A AS label = 'B') ORDER BY 1, 2
----
id|concat(upper(label OVER w), count(1) OVER w)|coalesce(sum(value) OVER w, (- 1))
NULL|B1|10
1|NULL|-1
1|B1|50
2|NULL|-1
2|B1|40
3|B1|60
3|B1|70
4|B1|70
5|NULL|-1
====
SELECT * FROM (SELECT customer, id, low OVER w FROM orders WINDOW w AS (PARTITION BY customer ORDER BY id MEASURES LAST(B.value) AS low ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING PATTERN (A B+) DEFINE B AS value < PREV(value))) MATCH_RECOGNIZE (PARTITION BY customer ORDER BY id MEASURES count(*) AS n, LAST(low) AS low PATTERN (X) DEFINE X AS low IS NOT NULL)
----
customer|n|low
c1|1|70
c2|1|40
====
SELECT count(*), max(low) + 1, min(`count(1) OVER w`) FROM (SELECT low OVER w, count(*) OVER w AS `count(1) OVER w` FROM orders WINDOW w AS (PARTITION BY customer ORDER BY id MEASURES LAST(B.value) AS low ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING PATTERN (A B+) DEFINE B AS value < PREV(value))) GROUP BY low IS NULL ORDER BY 1, 2
----
count(1)|(max(low) + 1)|min(count(1) OVER w)
2|71|2
7|NULL|0
====
SELECT id + 1, low OVER w FROM orders WINDOW w AS (PARTITION BY customer ORDER BY id MEASURES LAST(B.value) AS low ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING PATTERN (A B+) DEFINE B AS value < PREV(value)) QUALIFY low OVER w > 0 UNION ALL SELECT 5, max(id) FROM names
----
(id + 1)|low
2|40
2|70
5|2
====
SELECT id, lag(value) OVER w AS a, lag(value) OVER w AS b, sum(value) OVER (PARTITION BY customer) AS s FROM orders WINDOW w AS (PARTITION BY customer ORDER BY id ROWS BETWEEN CURRENT ROW AND 2 FOLLOWING PATTERN (A B)), v AS (w)
----
id|a|b|s
1|10|10|160
1|NULL|NULL|395
2|50|50|160
2|90|90|395
3|40|40|160
3|80|80|395
4|70|70|395
5|70|70|395
NULL|NULL|NULL|160
====
SELECT `i d`, `low value` OVER `my w` AS `x y`, count(`v e`) OVER `my w` FROM (SELECT id AS `i d`, customer AS `select`, value AS `v e` FROM orders) WINDOW `my w` AS (PARTITION BY `select` ORDER BY `i d` MEASURES LAST(D.`v e`) AS `low value` ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING PATTERN (A D+) DEFINE D AS `v e` < PREV(`v e`))
----
i d|x y|count(v e) OVER my w
1|40|2
1|70|3
2|NULL|0
2|NULL|0
3|NULL|0
3|NULL|0
4|NULL|0
5|NULL|0
NULL|NULL|0
