"""From text to statements: Lark parses the dialect's shape, sqlglot the plain SQL in between."""
