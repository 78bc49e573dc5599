-- Bounded side input: bids with a row of a table.
SELECT b.auction, b.bidder, b.price, b.dateTime, s.side
FROM bid AS b JOIN side_input AS s ON MOD(b.auction, 100) = s.number
