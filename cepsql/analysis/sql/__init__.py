"""Plain SQL: positions, types, names and constants in sqlglot's trees."""
