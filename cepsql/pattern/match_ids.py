"""MATCH_ID(): a name for a match that is the same on every replay."""

import hashlib

import pyarrow as pa

from cepsql.pattern.rows import Matches, Partitions


def match_ids(identity: str, partitions: Partitions, matches: Matches) -> pa.Array:
    """Return the id of each match, 32 hexadecimal digits: a hash of the query's identity and of the first row's id.

    An empty match behind the last row of its partition is known by that row.
    """
    row_ids = partitions.rows.column("i").combine_chunks()
    ids = []
    for partition, start in zip(matches.partition.tolist(), matches.start.tolist(), strict=True):
        behind = start >= partitions.starts[partition + 1]
        row = row_ids[start - 1 if behind else start].as_py()
        text = identity.encode() + (b"|" if behind else b":") + row
        ids.append(hashlib.blake2b(text, digest_size=16).hexdigest())
    return pa.array(ids, pa.string())
