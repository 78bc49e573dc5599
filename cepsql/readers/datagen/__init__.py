"""Rows that nobody wrote: USING datagen makes the n-th row from n and a seed."""
