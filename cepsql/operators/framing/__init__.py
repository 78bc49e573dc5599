"""Window functions over the rows around a row."""
