-- Three rises of a share's price, one after the other, within a minute.
SELECT symbol, bottom, top, until FROM trades MATCH_RECOGNIZE (
  PARTITION BY symbol
  ORDER BY at
  MEASURES FIRST(LOW.price) AS bottom, LAST(UP.price) AS top, LAST(UP.at) AS until
  PATTERN (LOW UP{3})
  WITHIN INTERVAL '1' MINUTE
  DEFINE UP AS UP.price > PREV(UP.price)
);
