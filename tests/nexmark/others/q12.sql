-- Processing time windows: how many bids each bidder makes in ten seconds of the clock.
SELECT bidder, COUNT(*) AS bids, window_start, window_end
FROM TABLE(TUMBLE(TABLE bid_by_clock, DESCRIPTOR(seen), INTERVAL '10' SECOND))
GROUP BY bidder, window_start, window_end
