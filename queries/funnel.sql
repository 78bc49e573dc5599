-- Who went from the landing page to a paid order, and did they search or use a coupon on the way?
--
-- SEARCH* and COUPON? are optional: a measure of a step that was not taken is NULL or counts 0. Visitor v3 gives up, and
-- v4 looks at a product after the checkout began, so the steps do not follow one another.
--
-- Output:
--   visitor,searches,products,coupon_at,paid_at
--   v1,2,2,,2026-03-02 18:04:10
--   v2,0,1,2026-03-02 18:02:50,2026-03-02 18:03:45

CREATE OR REPLACE TABLE clicks (
  visitor STRING, at TIMESTAMP, page STRING
) USING csv OPTIONS (path 'queries/data/clicks', header 'true');

SELECT *
FROM clicks
MATCH_RECOGNIZE (
  PARTITION BY visitor
  ORDER BY at
  MEASURES
    COUNT(SEARCH.page) AS searches,
    COUNT(PRODUCT.page) AS products,
    COUPON.at AS coupon_at,
    PAID.at AS paid_at
  ONE ROW PER MATCH
  AFTER MATCH SKIP PAST LAST ROW
  PATTERN (LANDING SEARCH* PRODUCT+ CHECKOUT COUPON? PAID) WITHIN INTERVAL '30' MINUTES
  DEFINE
    LANDING AS LANDING.page = 'landing',
    SEARCH AS SEARCH.page = 'search',
    PRODUCT AS PRODUCT.page = 'product',
    CHECKOUT AS CHECKOUT.page = 'checkout',
    COUPON AS COUPON.page = 'coupon',
    PAID AS PAID.page = 'paid'
) AS m;
