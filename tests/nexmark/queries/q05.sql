-- Hot items: which auctions had the most bids in the last ten seconds, every two seconds?
SELECT counted.auction, counted.num, counted.window_start
FROM (
  SELECT auction, COUNT(*) AS num, window_start, window_end
  FROM TABLE(HOP(TABLE bid, DESCRIPTOR(dateTime), INTERVAL '2' SECOND, INTERVAL '10' SECOND))
  GROUP BY auction, window_start, window_end
) AS counted
JOIN (
  SELECT MAX(num) AS most, window_start, window_end
  FROM (
    SELECT auction, COUNT(*) AS num, window_start, window_end
    FROM TABLE(HOP(TABLE bid, DESCRIPTOR(dateTime), INTERVAL '2' SECOND, INTERVAL '10' SECOND))
    GROUP BY auction, window_start, window_end
  ) AS by_auction
  GROUP BY window_start, window_end
) AS greatest
ON counted.window_start = greatest.window_start AND counted.window_end = greatest.window_end
  AND counted.num >= greatest.most
