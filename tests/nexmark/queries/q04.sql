-- Average price for a category: of all auctions so far, by the best bid of each while it was open.
SELECT category, AVG(CAST(best AS DOUBLE)) AS price
FROM (
  SELECT A.id, A.category, MAX(B.price) AS best
  FROM auction AS A JOIN bid AS B ON A.id = B.auction AND B.dateTime BETWEEN A.dateTime AND A.expires
  GROUP BY A.id, A.category
)
GROUP BY category
EMIT CHANGES
