"""Queries while they run: their rows, their progress, and their end."""
