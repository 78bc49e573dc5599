"""What EXPLAIN shows: plans and patterns as text and pictures, and why a partition has the matches that it has."""
