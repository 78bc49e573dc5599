"""Rows that change a table: each adds a row or takes one away, and those of one identity follow one another."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cepsql.ordered.keys import first_places, key_codes, numbered_among
from cepsql.ordered.operator import Change
from cepsql.ordered.ordinal import is_nested
from cepsql.ordered.plain_columns import canonical
from cepsql.ordered.sorting import is_ascending, stable_order
from cepsql.render.far_times import python_values

IDENTITY = "identity"
"""The STRING column that tells which row of the table a row changes."""

KIND = "kind"
"""The TINYINT column with the `Change` that a row is, among the values of an operator's input."""

_REMOVES = (Change.DELETE, Change.UPDATE_BEFORE)


def signs(kinds: pa.ChunkedArray | pa.Array) -> np.ndarray:
    """Return 1 for each row that is added and -1 for each that is taken away (int64)."""
    return np.where(np.isin(np.asarray(kinds), _REMOVES), -1, 1)


def labelled(owners: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, pa.Array]:
    """Say in which order different rows change a table, and what each does.

    owners:  a number for the identity of each row.
    weights: how often each row is added; negative: taken away.
    Returns the places of the rows to give out, each as often as its weight says, and an int8 `Change` each: those of an
    identity together, what it was before what it is.
    """
    places = np.repeat(np.arange(len(weights)), np.abs(weights))
    adds = weights[places] > 0
    if adds.all():
        owner = owners[places]
        places = places if is_ascending(owner) else places[stable_order(owner)]
        return places, pa.array(np.full(len(places), Change.INSERT, np.int8))
    group = owners[places] * 2 + adds
    order = stable_order(group)
    places, adds, group = places[order], adds[order], group[order]
    begins = np.flatnonzero(np.concatenate([[True], group[1:] != group[:-1]]))
    sizes = np.diff(np.append(begins, len(group)))
    # What an identity loses stands right before what it gets.
    both = np.flatnonzero(np.diff(group[begins] // 2) == 0)
    pairs = np.zeros(len(begins), np.int64)
    pairs[both] = pairs[both + 1] = np.minimum(sizes[both], sizes[both + 1])
    updates = np.arange(len(places)) < np.repeat(begins + pairs, sizes)
    kinds = np.where(
        adds,
        np.where(updates, Change.UPDATE_AFTER, Change.INSERT),
        np.where(updates, Change.UPDATE_BEFORE, Change.DELETE),
    )
    return places, pa.array(kinds.astype(np.int8))


def numbered_owners(identity: pa.Array, weights: np.ndarray) -> np.ndarray:
    """Number the identities of rows that are added or taken away so often, for `labelled`.

    An identity that loses no row needs no number of its own.
    """
    lost = weights < 0
    if not lost.any():
        return np.arange(len(weights))
    mine = np.flatnonzero(pc.is_in(identity, value_set=identity.filter(pa.array(lost))))
    return numbered_among(mine, [identity], len(weights))


def net_rows(columns: Sequence[pa.Array], weights: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Add the weights of equal rows.

    Returns the place of the first one of each set of equal rows, the weight of each set, and the set of each row.
    """
    codes, count = key_codes(list(columns), len(weights))
    codes = codes.astype(np.int64)
    return first_places(codes), np.bincount(codes, weights, count).astype(np.int64), codes


def net_owned_rows(
    owners: np.ndarray, columns: Sequence[pa.Array], weights: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Add the weights of equal rows, as `net_rows` does, where only rows with one owner may be equal.

    owners: a number from 0 for the owner of each row. Where most have a row each, few values are compared.
    """
    alone = np.bincount(owners)[owners] == 1
    if alone.all():
        places = np.arange(len(owners))
        return places, weights, places
    single, several = np.flatnonzero(alone), np.flatnonzero(~alone)
    chosen = pa.array(several)
    first, total, sets = net_rows([pa.array(owners[several]), *(one.take(chosen) for one in columns)], weights[several])
    codes = np.empty(len(owners), np.int64)
    codes[several], codes[single] = sets, len(first) + np.arange(len(single))
    return np.concatenate([several[first], single]), np.concatenate([total, weights[single]]), codes


def net_changes(owners: np.ndarray, columns: Sequence[pa.Array], weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Add the weights of equal rows of one identity, without those that come to nothing.

    owners: a number from 0 for the identity of each row.
    Returns the place of the first one of each set of equal rows, ascending, and the weight of each set.
    """
    # What changed once cannot come to nothing.
    places, weight, _ = net_owned_rows(owners, columns, weights)
    places, weight = places[weight != 0], weight[weight != 0]
    order = np.argsort(places)
    return places[order], weight[order]


def equal_values(left: pa.Array, right: pa.Array) -> np.ndarray:
    """Tell which values are equal, where NULL equals NULL and NaN equals NaN."""
    if is_nested(left.type) or pa.types.is_null(left.type):
        codes, _ = key_codes([pa.concat_arrays([left, right])], 2 * len(left))
        return codes[: len(left)] == codes[len(left) :]
    left, right = canonical(left), canonical(right)
    same = pc.or_kleene(pc.equal(left, right), pc.and_(pc.is_null(left), pc.is_null(right))).fill_null(False)
    if pa.types.is_floating(left.type):
        same = pc.or_(same, pc.and_(pc.is_nan(left), pc.is_nan(right)).fill_null(False))
    return np.asarray(same.to_numpy(zero_copy_only=False), bool)


def identities(columns: Sequence[pa.Array], count: int) -> pa.Array:
    """Return a text for each of `count` rows that only rows with equal values have."""
    if not columns:
        return pa.array([""] * count, pa.string())
    return pc.binary_join_element_wise(*map(_part, columns), "")


def _part(column: pa.Array) -> pa.Array:
    """Return values as texts of which each tells where it ends."""
    column = canonical(column)
    if is_nested(column.type) or pa.types.is_binary(column.type):
        text = pa.array([None if value is None else repr(value) for value in _values(column)], pa.string())
    else:
        text = column.cast(pa.string())
    size = pc.utf8_length(text).cast(pa.string())
    return pc.binary_join_element_wise(size, text, ":").fill_null("-")


def _values(column: pa.Array) -> list:
    """Return nested values as Python has them; in those with a time that it does not have, times are numbers."""
    try:
        return column.to_pylist()
    except OverflowError:
        # One by one: the text of a value does not depend on others.
        return [python_values(column[at : at + 1])[0] for at in range(len(column))]
