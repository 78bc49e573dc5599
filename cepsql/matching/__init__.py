"""Row patterns over streams: the matcher as an operator of the ordered stage, and what it asks of the stage."""
