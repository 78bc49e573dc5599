"""Constructs that sqlglot does not read in Spark's SQL, changed before or after it reads them."""
