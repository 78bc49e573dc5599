-- Average selling price by seller, over the last ten auctions closed. Flink SQL does not keep it up to date.
SELECT seller, AVG(price) OVER (PARTITION BY seller ORDER BY dateTime ROWS BETWEEN 9 PRECEDING AND CURRENT ROW) AS average
FROM (
  SELECT a.id, a.seller, MAX(b.price) AS price, MAX(b.dateTime) AS dateTime
  FROM auction AS a JOIN bid AS b ON a.id = b.auction AND b.dateTime BETWEEN a.dateTime AND a.expires
  GROUP BY a.id, a.seller
)
EMIT CHANGES
