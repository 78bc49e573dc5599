"""A query that has not run: its plan, and what makes rows or a standing query of it."""

from cepsql.query.converted_rows import no_python_type
from cepsql.query.lazy_query import Query
from cepsql.query.query_host import QueryHost
from cepsql.query.search_limits import limited

__all__ = ["Query", "QueryHost", "limited", "no_python_type"]
