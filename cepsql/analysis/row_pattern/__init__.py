"""MATCH_RECOGNIZE: a clause becomes a match program and the SQL around it."""
