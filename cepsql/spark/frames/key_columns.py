"""Hidden columns of streams with a PRIMARY KEY."""

ARRIVAL = "__arrival"
"""The column of a stream with a PRIMARY KEY that grows as its rows were written, where that is known: a file and a part
of it as text, in which rows come in their order, or an offset."""

FORMER = "__former"
"""A STRUCT column of a stream with a PRIMARY KEY, whose format may tell of it: the key under which the row stood before
this change gave it another one, else NULL."""
