"""The clauses of definitions: of streams, tables and sinks."""
