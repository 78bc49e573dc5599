"""PostgreSQL's protocol: psql, drivers and tools ask views, and steer what the catalog has."""
