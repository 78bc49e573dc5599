"""DataFrames, and the Arrow rows in their tasks."""
