"""Drawings where people would rather look than read, by matplotlib."""
