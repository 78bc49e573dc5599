"""Streams and tables as DataFrames, and what of them is late, malformed or left out."""
