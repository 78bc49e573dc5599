"""What is asked of the other operators: windows, frames, groups, deduplication."""
