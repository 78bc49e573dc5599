-- Selection: bids for certain auctions.
SELECT auction, price FROM bid WHERE MOD(auction, 123) = 0
