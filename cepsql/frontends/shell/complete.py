"""Completion for the editor: suggestions for SQL, and the shell's own commands."""

import os
import re
from collections.abc import Callable, Iterable, Mapping
from functools import cache

from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document

from cepsql.base.output_formats import FORMATS
from cepsql.catalog import Relation
from cepsql.frontends.shell.commands import COMMANDS
from cepsql.frontends.shell.statement_help import TOPICS
from cepsql.frontends.shell.suggest import Suggestion, suggest

_SWITCH = ("on", "off")
_PATH = re.compile(r"\bpath\s*=?\s*'([^'\n]*)\Z", re.IGNORECASE)
"""An option path that is being typed."""

_MOST_PATHS = 200


class SqlCompleter(Completer):
    """Completes the text before the cursor.

    catalog:   returns the current relations.
    functions: returns the functions that are known by now, with their signatures.
    queries:   returns the names of the standing queries.
    sinks:     returns the names of the sinks.
    """

    def __init__(
        self,
        catalog: Callable[[], Iterable[Relation]],
        functions: Callable[[], Mapping[str, str]] = lambda: {},
        queries: Callable[[], Iterable[str]] = tuple,
        sinks: Callable[[], Iterable[str]] = tuple,
    ):
        self._catalog, self._functions, self._queries, self._sinks = catalog, functions, queries, sinks

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:
        """Yield completions, which replace the word before the cursor."""
        before = document.text_before_cursor
        if before.lstrip().startswith("\\"):
            suggestions, word = self._commands(before.lstrip())
        elif path := _PATH.search(before):
            suggestions, word = _paths(path[1])
        else:
            word = document.get_word_before_cursor(WORD=False) if before[-1:].isalnum() or before[-1:] == "_" else ""
            names = self._queries(), self._sinks()
            after = document.text_after_cursor
            suggestions = suggest(before, after, self._catalog(), self._functions(), settings(), *names)
        for item in suggestions:
            yield Completion(item.text, -len(word), display_meta=item.meaning)

    def _commands(self, before: str) -> tuple[list[Suggestion], str]:
        name, blank, argument = before.partition(" ")
        if not blank:
            return [Suggestion(one.name, one.help) for one in COMMANDS if one.name.startswith(name)], name
        if name in ("\\i", "\\o"):
            return _paths(argument.lstrip())
        if name == "\\drain" and not any(value.startswith(argument.strip().lower()) for value in _SWITCH):
            statement = argument.lstrip()
            suggestions = suggest(statement, "", self._catalog(), self._functions(), settings())
            return suggestions, re.search(r"\w*\Z", statement)[0]  # type: ignore[index]
        word = argument.split(" ")[-1]
        return [Suggestion(item) for item in self._arguments(name) if item.lower().startswith(word.lower())], word

    def _arguments(self, command: str) -> Iterable[str]:
        match command:
            case "\\format":
                return FORMATS
            case "\\d" | "\\d+":
                return [relation.name for relation in self._catalog()]
            case "\\df":
                return self._functions()
            case "\\dq":
                return self._queries()
            case "\\drain" | "\\errverbose" | "\\timing" | "\\x" | "\\pager":
                return _SWITCH
            case "\\live":
                return list(dict.fromkeys(c.name for relation in self._catalog() for c in relation.columns))
            case "\\h":
                return TOPICS
        return ()


def _paths(begun: str) -> tuple[list[Suggestion], str]:
    """Return the names in a folder that complete a path, and the last part of the path."""
    folder, word = os.path.split(begun)
    try:
        entries = sorted(os.scandir(os.path.expanduser(folder) or "."), key=lambda entry: entry.name)
    except OSError:
        return [], word
    fitting = [e for e in entries if e.name.startswith(word) and (word or not e.name.startswith("."))]
    return [Suggestion(f"{e.name}/" if e.is_dir() else e.name) for e in fitting[:_MOST_PATHS]], word


@cache
def settings() -> tuple[str, ...]:
    """Return the names of cepsql's settings."""
    from cepsql.engine import SETTINGS

    return tuple(SETTINGS)
