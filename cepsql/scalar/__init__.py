"""Spark's scalar expressions: types, coercions, functions, and what evaluates them, without Spark."""
