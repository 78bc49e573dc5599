"""The start of Spark: finding Java, its process and session, and what makes them quick."""
