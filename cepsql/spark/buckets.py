"""Bucket numbers that Spark's hash partitioning spreads evenly over its partitions."""

import struct

_MASK = 0xFFFFFFFF


def balanced_buckets(buckets: int, partitions: int) -> list[int]:
    """Return one INT for each bucket such that grouping by it fills the partitions evenly.

    Spark sends a group to partition pmod(hash(value), partitions); the numbers 0, 1, 2 ... would leave some empty.
    """
    room = [(buckets + partitions - 1 - i) // partitions for i in range(partitions)]
    chosen, value = [], 0
    while len(chosen) < buckets:
        partition = spark_hash(value) % partitions
        if room[partition]:
            room[partition] -= 1
            chosen.append(value)
        value += 1
    return chosen


def spark_hash(value: int) -> int:
    """Return Spark's hash() of an INT: Murmur3 (x86, 32 bit) of its four bytes with seed 42, as a signed integer."""
    k = _rotated(value * 0xCC9E2D51 & _MASK, 15) * 0x1B873593 & _MASK
    h = _rotated(42 ^ k, 13) * 5 + 0xE6546B64 & _MASK
    h ^= 4
    h = (h ^ h >> 16) * 0x85EBCA6B & _MASK
    h = (h ^ h >> 13) * 0xC2B2AE35 & _MASK
    return struct.unpack("<i", struct.pack("<I", h ^ h >> 16))[0]


def _rotated(word: int, bits: int) -> int:
    return (word << bits | word >> 32 - bits) & _MASK
