"""What windows, frames, groups, EMIT and deduplication ask of their operators."""
