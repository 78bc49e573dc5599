"""State by key, stored so that a micro-batch costs what changes, not what there is.

As in a log-structured merge tree, each micro-batch writes the state of its keys as a new level, which overrides older
ones; levels of similar size are merged.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from cepsql.ordered.keyed.key_hashes import key_hashes
from cepsql.ordered.keyed.level import IndexedRows, Level, index_rows
from cepsql.ordered.keyed.sorted_hashes import contained, distinct, places_of, ranges, sorted_hashes, united
from cepsql.ordered.keys import partition_keys
from cepsql.ordered.operator import OrderedRows
from cepsql.ordered.plain_columns import one_chunk, stack

_GROWTH = 2
"""An older level is at least so many times as large as all newer ones."""

_MOST_BYTES = 2**30
"""Levels that would be larger together are not merged: the size of a column is limited."""

Forgets = Callable[[str, pa.Table], np.ndarray | None]
"""(section, rows) -> which rows can be removed from the state; None: none."""


@dataclass(frozen=True)
class KeyedChange:
    """A change of the state by key: the keys with these hashes have exactly the rows of `sections`.

    hashes:  ascending and distinct.
    forgets: called when all levels are merged.
    """

    hashes: np.ndarray
    sections: Mapping[str, pa.Table]
    forgets: Forgets


@dataclass(frozen=True)
class KeyedRows:
    """The sections of an operator whose rows belong to keys.

    names:  the names of the key columns.
    levels: the rows, oldest level first.
    """

    names: tuple[str, ...]
    levels: tuple[Level, ...] = ()

    @property
    def schemas(self) -> dict[str, pa.Schema]:
        """The columns of the sections that have rows."""
        return {name: section.rows.schema for level in self.levels for name, section in level.sections.items()}

    def of(self, hashes: np.ndarray) -> dict[str, pa.Table]:
        """Return the sections of the keys with these hashes, ascending and distinct; sections without rows are left
        out."""
        tables_by_name: dict[str, list[pa.Table]] = {}
        for level in reversed(self.levels):
            places, there = places_of(level.hashes, hashes)
            for name, section in level.sections.items():
                rows = section.of(places)
                if rows.num_rows:
                    tables_by_name.setdefault(name, []).append(rows)
            hashes = hashes[~there]
        return {name: stack(tables) for name, tables in tables_by_name.items()}

    def changed(self, change: "KeyedChange") -> "KeyedRows":
        """Return the state after a change."""
        hashes, sections = change.hashes, change.sections
        by_section = {name: sorted_hashes(self.row_hashes(rows)) for name, rows in sections.items() if rows.num_rows}
        with_rows = united([one.hashes for one in by_section.values()])
        if not np.array_equal(with_rows, hashes):
            if not contained(hashes, with_rows).all():
                raise AssertionError("an operator remembers rows of keys that did not come")
            # A key without rows matters only if an older level has rows of it.
            matters = contained(with_rows, hashes)
            for level in self.levels:
                matters |= contained(level.hashes, hashes)
            hashes = hashes[matters]
        if not len(hashes):
            return self
        indexed = {name: index_rows(sections[name], by_hash, hashes) for name, by_hash in by_section.items()}
        return replace(self, levels=_merged((*self.levels, Level(hashes, indexed)), change.forgets))

    def row_hashes(self, rows: pa.Table) -> np.ndarray:
        """Return the hash of the key of each row."""
        return key_hashes([one_chunk(rows[name]) for name in self.names], rows.num_rows)


def keyed_rows(names: Sequence[str], sections: Mapping[str, pa.Table]) -> KeyedRows:
    """Return sections as state by key, with these names of the key columns."""
    nothing = KeyedRows(tuple(names))
    hashes = [nothing.row_hashes(rows) for rows in sections.values() if rows.num_rows]
    if not hashes:
        return nothing
    return nothing.changed(KeyedChange(distinct(np.concatenate(hashes)), sections, lambda *_: None))


def touched_hashes(names: Sequence[str], sides: Sequence[OrderedRows | None]) -> np.ndarray:
    """Return the hashes of the keys of ordered rows, ascending and distinct."""
    there = [side for side in sides if side is not None and side.rows.num_rows]
    if not there:
        return np.zeros(0, np.uint32)
    return distinct(key_hashes(partition_keys(names, there), len(there[0].starts) - 1))


def _merged(levels: tuple[Level, ...], forgets: Forgets) -> tuple[Level, ...]:
    """Merge the newest levels with older ones that are not much larger."""
    first = len(levels) - 1
    newer, bytes_newer = levels[-1].size, levels[-1].nbytes
    while first > 0 and levels[first - 1].size < _GROWTH * newer:
        bytes_newer += levels[first - 1].nbytes
        if bytes_newer > _MOST_BYTES:
            break
        first -= 1
        newer += levels[first].size
    if first == len(levels) - 1:
        return levels
    merged = _merge(levels[first:], None if first else forgets)
    return (*levels[:first], merged) if len(merged.hashes) else ()


def _merge(levels: Sequence[Level], forgets: Forgets | None) -> Level:
    """Merge several levels into one; with `forgets`, no older level is left."""
    lasting = _lasting(levels)
    hashes = np.concatenate([level.hashes[chosen] for level, chosen in zip(levels, lasting, strict=True)])
    by_hash = sorted_hashes(hashes)
    hashes, order = by_hash.hashes, by_hash.places
    sections = {}
    for name in dict.fromkeys(name for level in levels for name in level.sections):
        section = _merged_section(name, levels, lasting, order, forgets)
        if section.rows.num_rows:
            sections[name] = section
    if forgets is not None:
        # Without older levels a key without rows overrides nothing.
        there = np.zeros(len(hashes), bool)
        for section in sections.values():
            there |= section.ends > section.begins()
        sections = {name: replace(section, ends=section.ends[there]) for name, section in sections.items()}
        hashes = hashes[there]
    return Level(hashes, sections)


def _lasting(levels: Sequence[Level]) -> list[np.ndarray]:
    """Return which hashes of each level no newer level has."""
    newer, lasting = np.zeros(0, np.uint32), list[np.ndarray]()
    for level in reversed(levels):
        lasting.insert(0, ~contained(newer, level.hashes))
        newer = united([newer, level.hashes[lasting[0]]])
    return lasting


def _merged_section(
    name: str, levels: Sequence[Level], lasting: Sequence[np.ndarray], order: np.ndarray, forgets: Forgets | None
) -> IndexedRows:
    """Return the remaining rows of a section; `order` sorts the remaining hashes."""
    tables, places, sizes, count = list[pa.Table](), list[np.ndarray](), list[np.ndarray](), 0
    for level, chosen in zip(levels, lasting, strict=True):
        section = level.sections.get(name)
        if section is None:
            sizes.append(np.zeros(np.count_nonzero(chosen), np.int64))
            continue
        begins, every = section.begins(), section.ends - section.begins()
        stay = np.zeros(section.rows.num_rows, bool)
        mine = section.places[ranges(begins[chosen], every[chosen])]
        stay[mine] = True
        rows = section.rows
        if forgets is not None and (forgotten := forgets(name, rows)) is not None:
            stay &= ~forgotten
            owners = np.repeat(np.arange(np.count_nonzero(chosen)), every[chosen])[stay[mine]]
            sizes.append(np.bincount(owners, minlength=np.count_nonzero(chosen)))
            mine = mine[stay[mine]]
        else:
            sizes.append(every[chosen])
        numbers = np.cumsum(stay) - 1
        places.append(numbers[mine] + count)
        tables.append(rows if stay.all() else rows.filter(pa.array(stay)))
        count += tables[-1].num_rows
    size, place = np.concatenate(sizes), np.concatenate([*places, np.zeros(0, np.int64)])
    begins = np.cumsum(size) - size
    sorted_places = place[ranges(begins[order], size[order])].astype(np.int32)
    return IndexedRows(stack(tables), sorted_places, np.cumsum(size[order]))
