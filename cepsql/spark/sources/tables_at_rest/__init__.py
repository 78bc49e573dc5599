"""Tables at rest while a query runs: read as they were at its start, or again."""
