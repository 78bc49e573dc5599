"""Everything that touches Spark: sessions, sources, the pattern operator, standing queries."""
