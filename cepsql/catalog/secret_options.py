"""Secrets stay out of a catalog that is kept: only references to them may stand in options."""

from collections.abc import Iterator

from cepsql.catalog import Definition, RegisteredQuery, Sink, Source
from cepsql.catalog.references import writes_secret
from cepsql.errors import ProgrammingError, Span


def check_kept(definition: Definition, span: Span | None = None) -> None:
    """Refuse a definition that has a secret in its options as it is.

    Raises ProgrammingError.
    """
    for name, value in _options(definition):
        if writes_secret(name, value):
            raise ProgrammingError(
                f"the catalog would keep the secret in the option {name} as it is written",
                span,
                f"write {name} '${{NAME}}' for an environment variable, or '${{file:/path}}' for a file",
            )


def _options(definition: Definition) -> Iterator[tuple[str, str]]:
    if isinstance(definition, Source | Sink | RegisteredQuery):
        yield from definition.options
