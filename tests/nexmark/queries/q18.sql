-- Find last bid: that of each bidder for each auction.
SELECT auction, bidder, price, channel, url, dateTime, extra
FROM (
  SELECT *, ROW_NUMBER() OVER (PARTITION BY bidder, auction ORDER BY dateTime DESC, price DESC, extra) AS place
  FROM bid
)
WHERE place <= 1
EMIT CHANGES
