"""What remembers rows: each plan operator in a file, with all that the planner, EXPLAIN and checkpoints know of it."""
