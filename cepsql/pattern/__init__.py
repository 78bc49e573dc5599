"""Row patterns: what they are, and finding their matches in ordered rows. Knows neither SQL text nor Spark."""
