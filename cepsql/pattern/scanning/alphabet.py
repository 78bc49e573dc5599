"""Rows as bytes: one code for every set of variables that a row satisfies."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

SEPARATOR, FUTURE, NO_ROW = 0, 1, 255
"""Codes that stand for no row: between partitions, a row not known yet, and one that never occurs."""

FIRST_CODE = 2
MAX_CODES = 250
STATIC_BITS = 7


@dataclass(frozen=True)
class Alphabet:
    """The codes of rows (uint8, one a row), and for every variable the codes of the rows that satisfy it."""

    codes: np.ndarray
    classes: tuple[bytes, ...]


def encode(holds: np.ndarray, tested: Sequence[int]) -> Alphabet | None:
    """Give every row the code of the set of variables that it satisfies.

    holds:  bool, [variables, rows].
    tested: the variables that have a condition; the others accept every row.
    Up to seven tested variables have codes that never depend on the rows, so that expressions over them can be
    compiled once. Returns None where more than MAX_CODES sets occur.
    """
    if len(tested) <= STATIC_BITS:
        ranks: np.ndarray | None = _packed(holds, tested)
        masks: Sequence[int] = range(1 << len(tested))
    else:
        ranks, masks = _ranked(holds, tested)
    if ranks is None:
        return None
    every = bytes(FIRST_CODE + rank for rank in range(len(masks)))
    classes = [every] * len(holds)
    for bit, variable in enumerate(tested):
        classes[variable] = bytes(FIRST_CODE + rank for rank, mask in enumerate(masks) if mask >> bit & 1)
    return Alphabet(ranks + np.uint8(FIRST_CODE), tuple(classes))


def _packed(holds: np.ndarray, variables: Sequence[int]) -> np.ndarray:
    """Return for each row a uint8 with bit i set where the i-th of at most eight variables holds."""
    packed = np.zeros(holds.shape[1], np.uint8)
    for bit, variable in enumerate(variables):
        packed |= holds[variable].view(np.uint8) << np.uint8(bit)
    return packed


def _ranked(holds: np.ndarray, variables: Sequence[int]) -> tuple[np.ndarray | None, list[int]]:
    """Number the masks that occur; ranks are refined by eight variables at a time, which takes linear time."""
    ranks, masks = np.zeros(holds.shape[1], np.uint16), [0]
    for begin in range(0, len(variables), 8):
        pairs = ranks << np.uint16(8) | _packed(holds, variables[begin : begin + 8])
        present = np.flatnonzero(np.bincount(pairs, minlength=1 << 16))
        if len(present) > MAX_CODES:
            return None, []
        masks = [masks[pair >> 8] | (pair & 255) << begin for pair in present.tolist()]
        table = np.zeros(1 << 16, np.uint16)
        table[present] = np.arange(len(present))
        ranks = table[pairs]
    return ranks.astype(np.uint8), masks
