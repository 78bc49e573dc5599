"""Row patterns over streams: the matcher as an operator, and what it asks of the ordered stage."""
