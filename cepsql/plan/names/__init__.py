"""Names before anything is planned: those of CTEs, views, columns and outputs."""
