"""Results that change: groups, ranks and joins of tables that change, and EMIT."""
