"""A series drawn with characters."""

import datetime

import pyarrow as pa
import pytest

from cepsql.errors import InterfaceError
from cepsql.render.plots.characters import draw_characters
from cepsql.render.plots.matches import MATCH, VARIABLE


def series(values, variables, key="a"):
    times = [datetime.datetime(2026, 1, 1, 0, 0, second) for second in range(len(values))]
    matches = [None if name is None else 1 for name in variables]
    keys = [key] * len(values)
    return pa.table(
        {
            "k": keys,
            "at": times,
            "v": values,
            VARIABLE: pa.array(variables, pa.string()),
            MATCH: pa.array(matches, pa.int64()),
        }
    )


def test_the_rows_of_a_match_are_letters_of_their_variables():
    rows = pa.concat_tables([series([5, 3, 1, 4, 5], [None, "DOWN", "DIP", "UP", "UP"]), series([9], [None], "b")])
    assert draw_characters(rows, "at", "v", ["k"], 50, 9).splitlines() == [
        "v over at · k = a, 1 match, the first of 2 partitions",
        "5 ┤·                                             U",
        "  ┤                                  U",
        "  ┤            D",
        "  ┤",
        "1 ┤                       I",
        "  └───────────────────────────────────────────────",
        "   2026-01-01 00:00:00         2026-01-01 00:00:04",
        "D DOWN, I DIP, U UP, · in no match",
    ]


def test_a_variable_of_one_letter_is_named_once():
    rows = series([1, 2, 3], ["A", "B", None])
    assert draw_characters(rows, "at", "v", [], 50, 9).splitlines()[-1] == "A, B, · in no match"


def test_rows_without_a_pattern_are_dots():
    rows = series([2.5, None, 2.5], [None, None, None])
    assert draw_characters(rows, "at", "v", [], 40, 8).count("·") == 2
    assert draw_characters(rows.slice(1, 1), "at", "v", [], 40, 8) == "v is NULL in all rows"
    assert draw_characters(rows.slice(0, 0), "at", "v", [], 40, 8) == "there are no rows to draw"


def test_times_have_no_offset():
    rows = series([1, 2], [None, None])
    zoned = rows.set_column(1, "at", rows["at"].cast(pa.timestamp("us", "Europe/Oslo")))
    axis = draw_characters(zoned, "at", "v", [], 50, 9).splitlines()[-1]
    assert axis.split("  ")[-1].strip() == "2026-01-01 01:00:01"


def test_texts_cannot_be_drawn():
    with pytest.raises(InterfaceError, match="k is neither a number nor a time"):
        draw_characters(series([1], [None]), "k", "v", [], 40, 8)
