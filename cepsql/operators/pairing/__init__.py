"""Joins: each row with rows of another relation."""
