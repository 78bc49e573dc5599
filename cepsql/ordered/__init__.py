"""Event-time ordering: pack rows into buckets, release them in order below a bound, hand them to a function."""
