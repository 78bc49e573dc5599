SELECT b.auction, b.bidder, b.price, b.channel, b.dateTime, a.itemName, a.initialBid, a.seller
FROM bid AS b JOIN auction AS a ON b.auction = a.id
WHERE a.category = 10
