-- When did an airport recover from its delays, and then lose it all again within twelve hours?
--
-- The hourly means are a bounded relation (a view over a table), so this runs as a batch query. A V has a TOP of at least
-- half an hour, falls to a LOW below a quarter of one, and climbs BACK to half an hour or more. Hours with fewer than
-- five departures are left out.
--
-- Output (first 6 of 9 rows):
--   origin,top_hour,top_delay,low_hour,low_delay,back_hour,back_delay
--   EWR,2013-01-02 09:00:00,30.2,2013-01-02 10:00:00,6.3,2013-01-02 14:00:00,49.4
--   EWR,2013-01-28 12:00:00,32.7,2013-01-28 13:00:00,9.0,2013-01-28 15:00:00,33.5
--   EWR,2013-01-30 15:00:00,32.9,2013-01-30 17:00:00,11.6,2013-01-30 19:00:00,84.6
--   EWR,2013-02-26 18:00:00,34.3,2013-02-26 20:00:00,7.2,2013-02-26 21:00:00,34.1
--   JFK,2013-01-04 20:00:00,35.9,2013-01-04 21:00:00,13.7,2013-01-04 22:00:00,37.2
--   JFK,2013-01-25 17:00:00,30.9,2013-01-25 18:00:00,14.9,2013-01-25 21:00:00,71.7

CREATE OR REPLACE TABLE flights_at_rest (
  scheduled TIMESTAMP,
  departed TIMESTAMP,
  delay INT,
  arrival_delay INT,
  carrier STRING,
  flight INT,
  tailnum STRING,
  origin STRING,
  dest STRING
) USING csv OPTIONS (path 'cepsql/frontends/demo/flights', header 'true');

CREATE OR REPLACE VIEW hourly_delay AS
SELECT origin, CAST(date_trunc('HOUR', departed) AS TIMESTAMP) AS hour, avg(delay) AS mean_delay
FROM flights_at_rest
WHERE departed IS NOT NULL
GROUP BY origin, date_trunc('HOUR', departed)
HAVING count(*) >= 5;

SELECT *
FROM hourly_delay MATCH_RECOGNIZE (
  PARTITION BY origin ORDER BY hour
  MEASURES TOP.hour AS top_hour, ROUND(TOP.mean_delay, 1) AS top_delay,
           LOW.hour AS low_hour, ROUND(LOW.mean_delay, 1) AS low_delay,
           BACK.hour AS back_hour, ROUND(BACK.mean_delay, 1) AS back_delay
  PATTERN (TOP DOWN* LOW UP* BACK) WITHIN INTERVAL '12' HOURS
  DEFINE TOP AS mean_delay >= 30,
         DOWN AS mean_delay < PREV(mean_delay),
         LOW AS mean_delay < PREV(mean_delay) AND mean_delay < 15,
         UP AS mean_delay > PREV(mean_delay),
         BACK AS mean_delay > PREV(mean_delay) AND mean_delay >= 30
) AS m;
