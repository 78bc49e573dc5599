"""Typed expressions evaluated over Arrow columns."""
