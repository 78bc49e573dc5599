"""The nodes of a plan, what is known of the rows of each, and how SQL and operators stand on each other."""
