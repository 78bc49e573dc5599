"""Spark's Java process, seen through private members of PySpark: plans, settings, files, running queries."""
