"""Results that change: groups, ranks, joins and subqueries of tables that change, and EMIT."""
