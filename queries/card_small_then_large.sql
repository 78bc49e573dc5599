-- Which cards saw at least two tiny payments and then a large one, all within ten minutes?
--
-- Someone who tests a stolen card pays a euro or two before the real purchase. Card 4002 spends its large sum too late,
-- card 4003 has only one small payment before it, and one row of card 4001 has no number for an amount (malformed: it is
-- counted and left out).
--
-- Output:
--   card,began,small_payments,amount,shop
--   4001,2026-03-02 10:00:00,2,899.0,jeweller
--   4004,2026-03-02 10:05:30,3,512.3,airline

CREATE OR REPLACE STREAM payments (
  card STRING, paid TIMESTAMP, amount DOUBLE, shop STRING,
  WATERMARK FOR paid AS paid - INTERVAL '1' MINUTE
) USING csv OPTIONS (path 'queries/data/payments', header 'true');

SELECT *
FROM payments
MATCH_RECOGNIZE (
  PARTITION BY card
  ORDER BY paid
  MEASURES
    FIRST(SMALL.paid) AS began,
    COUNT(SMALL.amount) AS small_payments,
    LARGE.amount AS amount,
    LARGE.shop AS shop
  ONE ROW PER MATCH
  AFTER MATCH SKIP PAST LAST ROW
  PATTERN (SMALL{2,} LARGE) WITHIN INTERVAL '10' MINUTES
  DEFINE
    SMALL AS SMALL.amount < 5,
    LARGE AS LARGE.amount > 500
) AS m;
