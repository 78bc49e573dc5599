"""From a statement to its plan: a graph of reads, plain SQL and ordered operators, and the rules that rewrite it."""
