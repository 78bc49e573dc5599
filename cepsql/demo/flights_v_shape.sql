-- When did an airport recover from its delays, and then lose it all again within twelve hours?
--
-- The hourly means are a bounded relation (a view over a table), so this runs as a batch query. A V has a TOP of at least
-- half an hour, falls to a LOW below a quarter of one, and climbs BACK to half an hour or more. Hours with fewer than
-- five departures are left out.

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
) USING csv OPTIONS (path 'cepsql/demo/flights', header 'true');

CREATE OR REPLACE VIEW hourly_delay AS
SELECT origin, date_trunc('HOUR', departed) AS hour, avg(delay) AS mean_delay
FROM flights_at_rest
WHERE departed IS NOT NULL
GROUP BY origin, date_trunc('HOUR', departed)
HAVING count(*) >= 5;

SELECT *
FROM hourly_delay
MATCH_RECOGNIZE (
  PARTITION BY origin
  ORDER BY hour
  MEASURES
    TOP.hour AS top_hour, ROUND(TOP.mean_delay, 1) AS top_delay,
    LOW.hour AS low_hour, ROUND(LOW.mean_delay, 1) AS low_delay,
    BACK.hour AS back_hour, ROUND(BACK.mean_delay, 1) AS back_delay
  ONE ROW PER MATCH
  AFTER MATCH SKIP PAST LAST ROW
  PATTERN (TOP DOWN* LOW UP* BACK) WITHIN INTERVAL '12' HOURS
  DEFINE
    TOP AS TOP.mean_delay >= 30,
    DOWN AS DOWN.mean_delay < PREV(DOWN.mean_delay),
    LOW AS LOW.mean_delay < PREV(LOW.mean_delay) AND LOW.mean_delay < 15,
    UP AS UP.mean_delay > PREV(UP.mean_delay),
    BACK AS BACK.mean_delay > PREV(BACK.mean_delay) AND BACK.mean_delay >= 30
) AS m;
