"""Windows of event time, and totals of the rows in them."""
