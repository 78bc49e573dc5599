"""How each plan operator runs: a file for its stage over streams and its rows over a table."""
