-- What the pasted statements read. Nothing is at the paths: no test runs a query over these.

CREATE STREAM orders (
  order_id BIGINT, customer_id STRING, product_id INT, price DECIMAL(10, 2), quantity INT, currency STRING,
  order_time TIMESTAMP, WATERMARK FOR order_time AS order_time - INTERVAL '5' SECONDS
) USING json OPTIONS (path '/data/orders');

CREATE STREAM shipments (
  shipment_id BIGINT, order_id BIGINT, warehouse STRING, ship_time TIMESTAMP,
  WATERMARK FOR ship_time AS ship_time - INTERVAL '5' SECONDS
) USING json OPTIONS (path '/data/shipments');

CREATE STREAM clicks (
  user_id STRING, url STRING, ip STRING, tags ARRAY<STRING>, attributes MAP<STRING, STRING>, body STRING,
  click_time TIMESTAMP, WATERMARK FOR click_time AS click_time - INTERVAL '10' SECONDS
) USING json OPTIONS (path '/data/clicks');

CREATE STREAM readings (
  sensor_id STRING, temperature DOUBLE, reading_time TIMESTAMP, proc_time TIMESTAMP AS PROCTIME(),
  WATERMARK FOR reading_time AS reading_time
) USING json OPTIONS (path '/data/readings');

CREATE STREAM rates (
  currency STRING, rate DECIMAL(12, 4), rate_time TIMESTAMP,
  WATERMARK FOR rate_time AS rate_time, PRIMARY KEY (currency)
) USING json OPTIONS (path '/data/rates');

CREATE TABLE products (product_id INT, name STRING, category STRING, unit_price DECIMAL(10, 2), tags ARRAY<STRING>)
USING parquet OPTIONS (path '/data/products');

CREATE TABLE sales (
  sale_id BIGINT, customer_id STRING, product_id INT, region STRING, amount DECIMAL(10, 2), sold_at TIMESTAMP, day DATE
) USING parquet OPTIONS (path '/data/sales');

CREATE SINK alerts USING csv OPTIONS (path '/data/alerts');
CREATE QUERY watch INTO alerts AS SELECT order_id, price FROM orders WHERE price > 1000;
