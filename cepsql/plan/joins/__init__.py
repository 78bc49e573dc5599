"""Joins of streams within a time, ASOF joins, and subqueries that become joins."""
