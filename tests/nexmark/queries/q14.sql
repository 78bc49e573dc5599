-- Calculation: bids in a range of prices with the part of the day and the number of letters c.
SELECT auction, bidder, 0.908 * price AS price,
  CASE
    WHEN HOUR(dateTime) >= 8 AND HOUR(dateTime) <= 18 THEN 'dayTime'
    WHEN HOUR(dateTime) <= 6 OR HOUR(dateTime) >= 20 THEN 'nightTime'
    ELSE 'otherTime'
  END AS bidTimeType,
  dateTime, extra, CHAR_LENGTH(url) - CHAR_LENGTH(REPLACE(url, 'c', '')) AS letters
FROM bid
WHERE 0.908 * price > 1000000 AND 0.908 * price < 50000000
