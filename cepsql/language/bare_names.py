"""Names that Spark reads in backquotes only, since they have other letters than a to z."""

from sqlglot import exp

from cepsql.errors import ProgrammingError, Span
from cepsql.language.tokens import Text, quoted

_TAKING_VARIABLES = ("CLASSIFIER",)


def refuse_bare_names(text: Text, tree: exp.Expr) -> None:
    """Raise ProgrammingError for a column, or the name of a result or of a CTE, that needs backquotes.

    Variables of row patterns, and the names of relations, are not Spark's to read.
    """
    if text.sql.isascii():
        return
    for name in tree.find_all(exp.Identifier):
        if name.quoted or name.name.isascii() or "start" not in name.meta or not _is_sparks(name):
            continue
        place = Span(name.meta["start"], name.meta["end"] + 1)
        hint = f"{quoted(name.name)}; without them names have the letters a to z, digits and _"
        raise ProgrammingError(f"the name {name.name} needs backquotes", place, hint, text.sql)


def _is_sparks(name: exp.Identifier) -> bool:
    holder = name.parent
    if isinstance(holder, exp.Column):
        call = holder.parent
        taken = isinstance(call, exp.Anonymous) and call.name.upper() in _TAKING_VARIABLES
        return name is holder.this and not taken
    return isinstance(holder, exp.Alias) or (isinstance(holder, exp.TableAlias) and isinstance(holder.parent, exp.CTE))
