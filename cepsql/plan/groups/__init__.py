"""Windows of event time, and the groups in them."""
