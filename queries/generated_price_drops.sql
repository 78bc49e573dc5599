-- Which price fell five times in a row, among prices that nobody wrote?
--
-- USING datagen makes the rows: the n-th one depends on n and the seed alone, so that everybody sees the same ones.
--
-- Output (first 6 of 15 rows):
--   symbol,fell_from,fell_until,fell_by
--   ACME,2026-01-01 00:02:26.5,2026-01-01 00:02:32,3.17
--   ACME,2026-01-01 00:02:52,2026-01-01 00:02:59,2.34
--   ACME,2026-01-01 00:04:18.5,2026-01-01 00:04:24,1.98
--   ACME,2026-01-01 00:04:27.5,2026-01-01 00:04:39,3.21
--   BOLT,2026-01-01 00:00:03.5,2026-01-01 00:00:13.5,3.95
--   BOLT,2026-01-01 00:00:43,2026-01-01 00:00:53,5.82

CREATE OR REPLACE STREAM generated_quotes (
  symbol STRING, price DECIMAL(8, 2), at TIMESTAMP,
  WATERMARK FOR at AS at
) USING datagen OPTIONS (
  'rows-per-second' '2', 'number-of-rows' '600', 'seed' '7',
  'fields.symbol.values' 'ACME, BOLT, CORE',
  'fields.price.kind' 'walk', 'fields.price.min' '10', 'fields.price.max' '50', 'fields.price.per' 'symbol'
);

SELECT *
FROM generated_quotes
MATCH_RECOGNIZE (
  PARTITION BY symbol
  ORDER BY at
  MEASURES
    TOP.at AS fell_from,
    LAST(DOWN.at) AS fell_until,
    TOP.price - LAST(DOWN.price) AS fell_by
  ONE ROW PER MATCH
  AFTER MATCH SKIP PAST LAST ROW
  PATTERN (TOP DOWN{5,})
  DEFINE DOWN AS price < PREV(price)
) AS m;
