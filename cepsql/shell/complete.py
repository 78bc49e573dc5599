"""Completion for the editor: suggestions for SQL, and the shell's own commands."""

from collections.abc import Callable, Iterable, Mapping
from functools import cache

from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document

from cepsql.catalog import Relation
from cepsql.formats import FORMATS
from cepsql.shell.commands import COMMANDS
from cepsql.shell.suggest import Suggestion, suggest


class SqlCompleter(Completer):
    """Completes what stands before the cursor.

    catalog:   gives the relations that there are now.
    functions: gives those that are known by now, with what they do.
    """

    def __init__(
        self, catalog: Callable[[], Iterable[Relation]], functions: Callable[[], Mapping[str, str]] = lambda: {}
    ):
        self._catalog, self._functions = catalog, functions

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:
        """Yield completions, which replace the word before the cursor."""
        before = document.text_before_cursor
        if before.lstrip().startswith("\\"):
            found, word = self._commands(before.lstrip())
        else:
            word = document.get_word_before_cursor(WORD=False) if before[-1:].isalnum() or before[-1:] == "_" else ""
            found = suggest(before, document.text_after_cursor, self._catalog(), self._functions(), settings())
        for item in found:
            yield Completion(item.text, -len(word), display_meta=item.meaning)

    def _commands(self, before: str) -> tuple[list[Suggestion], str]:
        name, given, argument = before.partition(" ")
        if not given:
            return [Suggestion(known.name, known.help) for known in COMMANDS if known.name.startswith(name)], name
        known = FORMATS if name == "\\format" else [relation.name for relation in self._catalog()]
        word = argument.split(" ")[-1]
        return [Suggestion(item) for item in known if item.lower().startswith(word.lower())], word


@cache
def settings() -> tuple[str, ...]:
    """Return the names of cepsql's settings."""
    from cepsql.engine import SETTINGS

    return tuple(SETTINGS)
