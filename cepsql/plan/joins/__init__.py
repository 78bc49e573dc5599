"""Joins of streams within a time, ASOF joins, and conditions that become joins."""
