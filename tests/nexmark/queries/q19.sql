-- Auction top-10 price: the ten best bids of each auction.
SELECT *
FROM (
  SELECT *, ROW_NUMBER() OVER (PARTITION BY auction ORDER BY price DESC, dateTime, bidder, extra) AS place
  FROM bid
)
WHERE place <= 10
EMIT CHANGES
