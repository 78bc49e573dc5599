-- Channel statistics of each day.
SELECT channel, DATE_FORMAT(window_start, 'yyyy-MM-dd') AS bid_day, MAX(DATE_FORMAT(dateTime, 'HH:mm')) AS last_minute,
  COUNT(*) AS total_bids, COUNT(*) FILTER (WHERE price < 10000) AS rank1_bids,
  COUNT(DISTINCT bidder) AS total_bidders, COUNT(DISTINCT auction) AS total_auctions
FROM TABLE(TUMBLE(TABLE bid, DESCRIPTOR(dateTime), INTERVAL '1' DAY))
GROUP BY channel, window_start, window_end
