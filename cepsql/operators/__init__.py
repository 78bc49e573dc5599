"""Operators of the ordered stage, which remember rows. They know neither SQL text nor Spark."""
