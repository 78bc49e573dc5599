"""The names under which the sources and stages of a query let Spark observe what they count."""

BELOW_MATCH = "cepsql_below"
"""What the observations of streams begin with whose well-formed rows a match counts."""

INPUT_COUNTS = "input"
"""What the names of an operator's counts of a single input begin with; its number and name follow."""

PART = "_view_"
"""What stands in the names of observations before the number of a view, if the query is that of a group."""

SAID = "said"
"""What stages observe: for each bucket of each a text, its numbers by name as JSON, beside OBSERVATION. Of `bound` the
greatest counts, of `deadline` the least, and all others are added."""

OBSERVATION = "observation"
"""The name of what a stage observes; stages that run in one task are observed together, and shown each by itself."""

STANDING = ("deadline", "rows", "waiting", "open", "bytes")
"""What a bucket says of what it holds (`cepsql.ordered.stage_status.Standing`), and the bytes of its state."""
