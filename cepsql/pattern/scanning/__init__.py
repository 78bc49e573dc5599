"""Patterns whose conditions read rows only, found by one regular expression over codes of rows."""
