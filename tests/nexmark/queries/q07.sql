-- Highest bid: the bids with the highest price of each ten seconds.
SELECT b.auction, b.price, b.bidder, b.dateTime, b.extra
FROM bid AS b
JOIN (
  SELECT MAX(price) AS most, window_end
  FROM TABLE(TUMBLE(TABLE bid, DESCRIPTOR(dateTime), INTERVAL '10' SECOND))
  GROUP BY window_start, window_end
) AS greatest
ON b.price = greatest.most
  AND b.dateTime BETWEEN greatest.window_end - INTERVAL '10' SECOND AND greatest.window_end
