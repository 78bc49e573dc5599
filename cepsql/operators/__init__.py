"""Operators of the ordered stage beside the matcher. They know neither SQL text nor Spark."""
