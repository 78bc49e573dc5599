"""How the keys of a match are spread: over buckets, and these evenly over the partitions of Spark's shuffle."""

import struct
from dataclasses import dataclass

from pyspark.sql import SparkSession

from cepsql.spark.jvm.lent_settings import setting

_MASK = 0xFFFFFFFF


@dataclass(frozen=True)
class Buckets:
    """`count` groups of keys on so many shuffle partitions; with other numbers the state of a key would not be found.

    Spark itself keeps the number of shuffle partitions in a checkpoint, whatever the session says later.
    """

    count: int
    partitions: int


def session_buckets(spark: SparkSession, count: int | None = None) -> Buckets:
    """Return `count` buckets, by default one for each of the session's shuffle partitions."""
    partitions = int(setting(spark, "spark.sql.shuffle.partitions"))
    return Buckets(count or partitions, partitions)


def balanced_buckets(buckets: Buckets) -> list[int]:
    """Return one INT for each bucket such that grouping by it fills the partitions evenly.

    Spark sends a group to partition pmod(hash(value), partitions); the numbers 0, 1, 2 ... would leave some empty.
    """
    partitions = buckets.partitions
    room = [(buckets.count + partitions - 1 - i) // partitions for i in range(partitions)]
    chosen: list[int] = []
    value = 0
    while len(chosen) < buckets.count:
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
