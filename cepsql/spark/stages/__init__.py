"""A plan as a DataFrame: an ordered stage for each operator, and Spark's SQL around them."""
