"""From a plan to a DataFrame: which stages it takes, and the SQL between them."""
