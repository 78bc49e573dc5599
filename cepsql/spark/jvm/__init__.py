"""Spark's Java process: its session, settings and functions, and what it says when something fails."""
