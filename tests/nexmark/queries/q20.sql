-- Expand bids with their auction, of category 10. Auctions begin before they are bid for.
SELECT b.auction, b.bidder, b.price, b.channel, b.dateTime, a.itemName, a.initialBid, a.seller
FROM bid AS b ASOF JOIN auction AS a MATCH_CONDITION (b.dateTime >= a.dateTime) ON b.auction = a.id
WHERE a.category = 10
