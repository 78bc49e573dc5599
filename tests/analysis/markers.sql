# What carries the markers of a stream of matches to the next MATCH_RECOGNIZE.
SELECT * FROM m
----
SELECT * EXCEPT (__bound), __bound FROM (SELECT * EXCEPT (__bound), __bound FROM (SELECT * EXCEPT (__bound), __bound FROM __match_0 AS m) AS m)
====
SELECT sym, at FROM m WHERE sym = 'a' OR at IS NULL
----
SELECT * EXCEPT (__bound), __bound FROM (SELECT sym, at, __bound FROM (SELECT * EXCEPT (__bound), __bound FROM __match_0 AS m) AS m WHERE (sym = 'a' OR at IS NULL) OR NOT __bound IS NULL)
====
SELECT m.*, c.name FROM m LEFT JOIN companies AS c ON c.sym = m.sym
----
SELECT * EXCEPT (__bound), __bound FROM (SELECT m.* EXCEPT (__bound), c.name, __bound FROM (SELECT * EXCEPT (__bound), __bound FROM __match_0 AS m) AS m LEFT JOIN companies AS c ON c.sym = m.sym AND __bound IS NULL)
====
SELECT m.sym, at FROM companies AS c JOIN m ON c.sym = m.sym AND founded < at WHERE sector = 'x'
----
SELECT * EXCEPT (__bound), __bound FROM (SELECT m.sym, at, __bound FROM (SELECT *, TRUE AS __found_1 FROM companies AS c) AS c RIGHT JOIN (SELECT * EXCEPT (__bound), __bound FROM __match_0 AS m) AS m ON sector = 'x' AND ((c.sym = m.sym AND founded < at) AND __bound IS NULL) WHERE __found_1 OR NOT __bound IS NULL)
====
SELECT sym, at, name FROM m NATURAL JOIN companies JOIN trades USING (sym)
----
SELECT * EXCEPT (__bound), __bound FROM (SELECT sym, at, name, __bound FROM (SELECT * EXCEPT (__bound), __bound FROM __match_0 AS m) AS m NATURAL LEFT JOIN (SELECT *, TRUE AS __found_1 FROM companies AS companies) AS companies LEFT JOIN (SELECT *, TRUE AS __found_2 FROM trades AS trades) AS trades USING (sym) WHERE (__found_1 AND __found_2) OR NOT __bound IS NULL)
====
SELECT x.sym, at FROM m AS x, companies AS y WHERE x.sym = y.sym
----
SELECT * EXCEPT (__bound), __bound FROM (SELECT x.sym, at, __bound FROM (SELECT * EXCEPT (__bound), __bound FROM __match_0 AS m) AS x LEFT JOIN (SELECT *, TRUE AS __found_1 FROM companies AS y) AS y ON x.sym = y.sym AND (TRUE AND __bound IS NULL) WHERE __found_1 OR NOT __bound IS NULL)
====
SELECT m.* FROM m LEFT ANTI JOIN companies AS c ON c.sym = m.sym
----
SELECT * EXCEPT (__bound), __bound FROM (SELECT m.* EXCEPT (__bound), __bound FROM (SELECT * EXCEPT (__bound), __bound FROM __match_0 AS m) AS m LEFT ANTI JOIN companies AS c ON c.sym = m.sym AND __bound IS NULL)
====
SELECT * EXCEPT (founded) FROM (SELECT sym, at FROM m AS n) AS n CROSS JOIN (SELECT founded FROM companies) AS c
----
SELECT * EXCEPT (__bound), __bound FROM (SELECT * EXCEPT (founded, __bound, __found_1), __bound FROM (SELECT sym, at, __bound FROM (SELECT * EXCEPT (__bound), __bound FROM __match_0 AS m) AS n) AS n LEFT JOIN (SELECT *, TRUE AS __found_1 FROM (SELECT founded FROM companies) AS c) AS c ON TRUE AND __bound IS NULL WHERE __found_1 OR NOT __bound IS NULL)
====
WITH a AS (SELECT * FROM m), b AS (SELECT * FROM a WHERE sym IN (SELECT sym FROM companies)) SELECT * FROM b AS c
----
SELECT * EXCEPT (__bound), __bound FROM (SELECT * EXCEPT (__bound), __bound FROM (SELECT * EXCEPT (__bound), __bound FROM (SELECT * EXCEPT (__bound), __bound FROM (SELECT * EXCEPT (__bound), __bound FROM __match_0 AS m) AS m) AS a WHERE sym IN (SELECT sym FROM companies) OR NOT __bound IS NULL) AS c)
====
SELECT q.*, d.sector AS part FROM (SELECT m.*, c.* EXCEPT (sym, sector) FROM m JOIN companies AS c ON c.sym = m.sym) AS q JOIN companies AS d ON d.sym = q.sym
----
SELECT * EXCEPT (__bound), __bound FROM (SELECT q.* EXCEPT (__bound), d.sector AS part, __bound FROM (SELECT m.* EXCEPT (__bound), c.* EXCEPT (sym, sector, __found_1), __bound FROM (SELECT * EXCEPT (__bound), __bound FROM __match_0 AS m) AS m LEFT JOIN (SELECT *, TRUE AS __found_1 FROM companies AS c) AS c ON c.sym = m.sym AND __bound IS NULL WHERE __found_1 OR NOT __bound IS NULL) AS q LEFT JOIN (SELECT *, TRUE AS __found_1 FROM companies AS d) AS d ON d.sym = q.sym AND __bound IS NULL WHERE __found_1 OR NOT __bound IS NULL)
====
SELECT m.sym, at, STRUCT(m.*) AS r, HASH(*) AS h FROM m JOIN companies AS c ON c.sym = m.sym WHERE HASH(c.*) > 0
----
SELECT * EXCEPT (__bound), __bound FROM (SELECT m.sym, at, STRUCT(m.* EXCEPT (__bound)) AS r, HASH(* EXCEPT (__bound, __found_1)) AS h, __bound FROM (SELECT * EXCEPT (__bound), __bound FROM __match_0 AS m) AS m LEFT JOIN (SELECT *, TRUE AS __found_1 FROM companies AS c) AS c ON c.sym = m.sym AND __bound IS NULL WHERE (HASH(c.* EXCEPT (__found_1)) > 0 AND __found_1) OR NOT __bound IS NULL)
