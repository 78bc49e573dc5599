-- Where did a price fall and then rise again?
--
-- The classic of row pattern matching: a first row, at least one lower price, then at least one higher one. UP+ takes all
-- it can get, so the match is known only at the first price that no longer rises, or at the end of the data.
--
-- Output:
--   symbol,match,from_price,low_price,to_price,until
--   ACME,1,17,11,19,2026-03-02 09:05:00
--   ZINC,1,40,35,36,2026-03-02 09:02:00

SELECT *
FROM (
  VALUES
    ('ACME', TIMESTAMP '2026-03-02 09:00:00', 12),
    ('ACME', TIMESTAMP '2026-03-02 09:01:00', 17),
    ('ACME', TIMESTAMP '2026-03-02 09:02:00', 13),
    ('ACME', TIMESTAMP '2026-03-02 09:03:00', 11),
    ('ACME', TIMESTAMP '2026-03-02 09:04:00', 14),
    ('ACME', TIMESTAMP '2026-03-02 09:05:00', 19),
    ('ACME', TIMESTAMP '2026-03-02 09:06:00', 18),
    ('ACME', TIMESTAMP '2026-03-02 09:07:00', 18),
    ('ZINC', TIMESTAMP '2026-03-02 09:00:00', 40),
    ('ZINC', TIMESTAMP '2026-03-02 09:01:00', 35),
    ('ZINC', TIMESTAMP '2026-03-02 09:02:00', 36),
    ('ZINC', TIMESTAMP '2026-03-02 09:03:00', 33),
    ('ZINC', TIMESTAMP '2026-03-02 09:04:00', 37)
) AS ticks (symbol, at, price)
MATCH_RECOGNIZE (
  PARTITION BY symbol
  ORDER BY at
  MEASURES
    MATCH_NUMBER() AS match,
    FALLS_FROM.price AS from_price,
    LAST(DOWN.price) AS low_price,
    LAST(UP.price) AS to_price,
    LAST(UP.at) AS until
  ONE ROW PER MATCH
  AFTER MATCH SKIP PAST LAST ROW
  PATTERN (FALLS_FROM DOWN+ UP+)
  DEFINE
    DOWN AS DOWN.price < PREV(DOWN.price),
    UP AS UP.price > PREV(UP.price)
) AS m;
