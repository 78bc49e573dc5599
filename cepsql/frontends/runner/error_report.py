"""Errors as the user reads them."""

import re
import traceback

from cepsql.base.usual_errors import usual_error
from cepsql.errors import Error, ExitCode, InternalError, SessionError, Span, render
from cepsql.frontends.runner.console_streams import Console


def report(
    error: Exception, console: Console, verbose: bool = False, file: str | None = None, text: str | None = None
) -> None:
    """Write an error once: what is wrong, where, what to do; with `verbose` also its cause and the technical account.

    file, text: the script that is executed, written before the message with the line if the error points into its text:
                it may point into that of a view or a query, too.
    """
    if not isinstance(error, Error):
        error = _internal(error)
    here = error.line is not None and error.text == text
    place = "" if file is None else f"{file}:{error.line}: " if here else f"{file}: "
    console.say(f"{place}{render(error, console.width)}", error=True)
    if verbose:
        console.say(_explained(error))
        if error.detail:
            console.say(error.detail.rstrip())


def _explained(error: Error) -> str:
    """Write what docs/errors.md says of an error, and where it stands there."""
    lines = [f"docs/errors.md#{error.anchor}"]
    if usual := usual_error(type(error), error.message):
        lines = [f"cause: {usual.cause}", f"what to do: {_LINK.sub(_named_page, usual.cure)}", *lines]
    return "\n".join(f"  {line}" for line in lines).replace("`", "")


def _named_page(link: re.Match[str]) -> str:
    return f"{link[1]} (docs/{link[2]})"


_LINK = re.compile(r"\[([^\]]+)\]\(([^)]+)\)")


def exit_code(error: Exception) -> ExitCode:
    """Choose the command's exit code after an error."""
    return ExitCode.SESSION if isinstance(error, SessionError) else ExitCode.QUERY


def anchored(error: Error, text: str, offset: int, statement: str) -> Error:
    """Move an error's position from one statement to the whole text in which it stands at `offset`."""
    if error.text != statement or error.span is None:
        return error
    span = Span(error.span.start + offset, error.span.end + offset)
    return type(error)(error.message, span, error.hint, text, error.detail)


def _internal(error: Exception) -> InternalError:
    account = "".join(traceback.format_exception(error))
    said = str(error).split("\n")[0]
    return InternalError(
        f"cepsql failed: {type(error).__name__}: {said}",
        hint="--errverbose or \\errverbose shows where",
        detail=account,
    )
