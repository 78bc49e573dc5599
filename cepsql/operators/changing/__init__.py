"""Operators over tables that change, whose rows are changes."""
