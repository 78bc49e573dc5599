-- Winning bids: the best bid of each auction while it was open.
SELECT *
FROM (
  SELECT A.id, A.itemName, A.description, A.initialBid, A.reserve, A.dateTime, A.expires, A.seller, A.category, A.extra,
    B.bidder, B.price, B.dateTime AS bid_time, B.extra AS bid_extra,
    ROW_NUMBER() OVER (PARTITION BY A.id ORDER BY B.price DESC, B.dateTime, B.extra, B.bidder) AS place
  FROM auction AS A JOIN bid AS B ON A.id = B.auction AND B.dateTime BETWEEN A.dateTime AND A.expires
)
WHERE place <= 1
EMIT CHANGES
