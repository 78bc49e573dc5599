"""From statements to plans: names and types, what moves to Spark before and after the matcher, and what is refused."""
