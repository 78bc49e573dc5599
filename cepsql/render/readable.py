"""How objects that hold results show themselves: on Python's prompt, in a notebook, in a log."""

from collections.abc import Iterable


class Readable:
    """Shows its text, that of `str`, on a prompt and in a notebook."""

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        """Show it in a notebook."""
        # Rendering loads Arrow, which few results need.
        from cepsql.render.html import html_text

        return html_text(str(self))


class Brief:
    """Shows its text, that of `str`, in angle brackets, since it mostly stands among others of its kind."""

    def __repr__(self) -> str:
        return f"<{self}>"


def record(fields: Iterable[tuple[str, object]]) -> str:
    """Write names and values with a line for each, as the shell does with one row.

    >>> print(record([("batches", 3), ("rows_read", 12000)]))
     batches   | 3
     rows_read | 12000
    """
    shown = list(fields)
    width = max((len(name) for name, _ in shown), default=0)
    return "\n".join(f" {name:<{width}} | {value}" for name, value in shown)


def utc(seconds: float) -> str:
    """Write a moment, seconds since 1970, as statements show it.

    >>> utc(0)
    '1970-01-01 00:00:00Z'
    """
    # It loads numpy, which `import cepsql` does not.
    from cepsql.base.calendar import time_text

    return f"{time_text(int(seconds // 1) * 1_000_000)}Z"
