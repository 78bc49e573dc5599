"""The line editor: several lines, history, suggestions, keys."""

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

from prompt_toolkit import PromptSession
from prompt_toolkit.application import create_app_session, get_app, run_in_terminal
from prompt_toolkit.auto_suggest import AutoSuggestFromHistory
from prompt_toolkit.completion import Completer
from prompt_toolkit.document import Document
from prompt_toolkit.filters import Condition, has_focus, is_searching
from prompt_toolkit.history import FileHistory, History, InMemoryHistory
from prompt_toolkit.input import Input
from prompt_toolkit.key_binding import KeyBindings
from prompt_toolkit.layout.processors import HighlightMatchingBracketProcessor
from prompt_toolkit.output import Output
from prompt_toolkit.output.plain_text import PlainTextOutput
from prompt_toolkit.utils import is_dumb_terminal

from cepsql.base.secrets import without_secret_options
from cepsql.frontends.runner.console_streams import Console
from cepsql.frontends.runner.pager import command_words
from cepsql.frontends.shell.commands import statement_in
from cepsql.frontends.shell.highlight import STYLE, SqlLexer
from cepsql.frontends.shell.language_import import language

WORDS = {"exit": "\\q", "quit": "\\q", "help": "\\?", "?": "\\?"}
"""What may be typed alone, as in other shells, and the command that it means."""

VERTICAL = "\\G"
"""Ends a statement whose rows are to be written with a line for each column."""

_PASTED = 3
"""How many keys wait behind one that is no key for who pasted it."""

PROMPT, CONTINUATION = "cepsql> ", "   ...> "


def prompt_session(
    input: Input | None = None,
    output: Output | None = None,
    history: History | None = None,
    vi: bool = False,
    completer: Completer | None = None,
    help: Callable[[], None] | None = None,
) -> PromptSession:
    """Make the editor; input and output are the terminal unless given.

    vi:        its keys in place of those of Emacs.
    completer: what Tab asks.
    help:      what F1 calls; it may write.
    """
    with _screen():
        return PromptSession(
            PROMPT,
            multiline=True,
            prompt_continuation=CONTINUATION,
            lexer=SqlLexer(),
            style=STYLE,
            history=history or file_history(),
            auto_suggest=AutoSuggestFromHistory(),
            input_processors=[HighlightMatchingBracketProcessor(chars="()[]{}")],
            key_bindings=_keys(help),
            vi_mode=vi,
            completer=completer,
            complete_in_thread=True,
            complete_while_typing=False,
            enable_suspend=True,
            input=input,
            output=output,
        )


def question(session: PromptSession) -> "PromptSession[str]":
    """Make an editor of one line for an answer, where that of the shell is."""
    with _screen():
        # The output is named only where it draws: with one that is, a terminal that can do nothing is drawn on, too.
        return PromptSession(input=session.input, output=None if is_dumb_terminal() else session.output)


def _screen() -> AbstractContextManager:
    """Let editors that are made in the block write nothing but text to a terminal that can do nothing."""
    if is_dumb_terminal():
        return create_app_session(output=PlainTextOutput(sys.stdout))
    return nullcontext()


def file_history() -> History:
    """Open the user's history, readable by them alone; if that cannot be, keep one in memory."""
    state = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    path = Path(state) / "cepsql" / "history"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        os.close(os.open(path, os.O_CREAT | os.O_APPEND, 0o600))
    except OSError:
        return InMemoryHistory()
    return _SecretFree(path)


class _SecretFree(FileHistory):
    """The history in a file, which a statement with a password or the like never reaches."""

    def store_string(self, string: str) -> None:
        if without_secret_options(string) == string:
            super().store_string(string)


def is_finished(text: str) -> bool:
    """Tell whether Enter hands the text over: nothing, a command of the shell, or finished statements."""
    text = parts_typed(text.strip())[-1]
    return not text or text.lower() in WORDS or command_within(text) is not None or _is_whole(text)


def _is_whole(text: str) -> bool:
    """Tell whether a command, or statements, have their end."""
    if text.rstrip().endswith(VERTICAL):
        return True
    statement = statement_in(text) if text.startswith("\\") else text
    return statement is None or language().is_complete(statement)


def parts_typed(text: str) -> list[str]:
    """Split what was typed or pasted where a command stands between statements, in lines of its own.

    >>> parts_typed("SELECT 1;\\n\\\\drain SELECT\\n2;\\nSELECT 3;\\nSELECT 4;")
    ['SELECT 1;', '\\\\drain SELECT\\n2;', 'SELECT 3;\\nSELECT 4;']
    """
    first, *lines = text.split("\n")
    parts = [first]
    for line in lines:
        last = parts[-1]
        is_end = line.startswith("\\") or last.startswith("\\") or last.rstrip().endswith(VERTICAL)
        if is_end and (_is_whole(last) or not language().has_statement(last)):
            parts.append(line)
        else:
            parts[-1] = f"{last}\n{line}"
    return parts


def command_within(text: str) -> tuple[str, str] | None:
    """Return what was typed and the command that is the last line of it; None if that is none, or all there is."""
    before, _, line = text.rpartition("\n")
    if text.startswith("\\") or not line.startswith("\\") or language().is_complete(text):
        return None
    from cepsql.language.lexemes import lexemes

    # An open string or comment goes on behind the end of its line.
    is_open = any(lexeme.span.end > len(before) for lexeme in lexemes(f"{before}\n "))
    return None if is_open else (before, line)


def edited(text: str, console: Console) -> str:
    """Let the user change a text in $VISUAL, $EDITOR or vi; return it, the text as it was if that fails."""
    editor = command_words(os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi")
    with tempfile.NamedTemporaryFile("w+", suffix=".sql", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        try:
            subprocess.run([*editor, file.name], check=True)
        except (OSError, subprocess.CalledProcessError) as error:
            console.say(f"{editor[0]} failed: {error}")
            return text
        return Path(file.name).read_text("utf-8").rstrip("\n")


def announce(session: PromptSession, text: str, console: Console) -> None:
    """Write a line for the user from any thread: above the prompt while there is one."""
    loop = session.app.loop
    if loop is None or not session.app.is_running:
        console.say(text)
        return
    loop.call_soon_threadsafe(lambda: run_in_terminal(lambda: console.say(text)))


def _is_pasted() -> bool:
    """Tell whether keys come faster than anybody types: what is pasted while a statement runs comes without a mark."""
    return len(get_app().key_processor.input_queue) >= _PASTED


def _keys(help: Callable[[], None] | None) -> KeyBindings:
    keys = KeyBindings()

    @keys.add("f1")
    def on_help(event) -> None:
        if help is not None:
            run_in_terminal(help)

    @keys.add("tab", filter=Condition(_is_pasted))
    def tab(event) -> None:
        event.current_buffer.insert_text("\t")

    @keys.add("enter", filter=has_focus("DEFAULT_BUFFER") & ~is_searching)
    def enter(event) -> None:
        buffer = get_app().current_buffer
        if is_finished(buffer.text):
            # What was pasted may end with empty lines.
            buffer.document = Document(buffer.text.rstrip() or buffer.text)
            buffer.validate_and_handle()
        else:
            buffer.insert_text("\n")

    return keys
