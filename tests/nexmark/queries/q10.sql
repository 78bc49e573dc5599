-- Log to files: every bid with its day and minute.
SELECT auction, bidder, price, dateTime, extra, DATE_FORMAT(dateTime, 'yyyy-MM-dd') AS bid_day,
  DATE_FORMAT(dateTime, 'HH:mm') AS bid_minute
FROM bid
