"""Queries that stand under names: who runs them, what is desired of them, and what they do."""
