-- Trades of shares. Rows may come 5 seconds after later ones; data/ stands for the folder where they arrive.
CREATE STREAM trades (
  symbol STRING,
  at TIMESTAMP,
  price DOUBLE,
  WATERMARK FOR at AS at - INTERVAL '5' SECONDS
) USING csv OPTIONS (path 'data', header 'true');
