"""Murmur3 (x86, 32 bit) as Spark has it, vectorised, each value with a seed of its own."""

import numpy as np
import pyarrow as pa


def hash_word(values: np.ndarray, seeds: np.ndarray) -> np.ndarray:
    """Hash values of four bytes."""
    return _finished(_mixed(seeds, values.view(np.uint32)), np.uint32(4))


def hash_words(values: np.ndarray, seeds: np.ndarray) -> np.ndarray:
    """Hash values of eight bytes: the low half, then the high half."""
    bits = values.view(np.uint64)
    low = bits.astype(np.uint32)
    return _finished(_mixed(_mixed(seeds, low), (bits >> np.uint64(32)).astype(np.uint32)), np.uint32(8))


def hash_texts(column: pa.Array, seeds: np.ndarray) -> np.ndarray:
    """Hash UTF-8 bytes: words of four, then each byte left over by itself, with its sign."""
    _, offsets, data = column.buffers()
    ends = np.frombuffer(offsets, np.int32)[column.offset : column.offset + len(column) + 1].astype(np.int64)
    octets = np.frombuffer(data, np.uint8) if data is not None and data.size else np.zeros(1, np.uint8)
    lengths, hashes = ends[1:] - ends[:-1], seeds.copy()
    if not len(lengths):
        return hashes
    # Longest first: those that still have bytes are then a slice.
    order = np.argsort(-lengths, kind="stable")
    begins, lengths, state = ends[:-1][order], lengths[order], hashes[order]
    whole = lengths // 4
    for word in range(int(whole[0])):
        n = np.searchsorted(-whole, -word, side="left")
        at = begins[:n] + 4 * word
        value = octets[at].astype(np.uint32)
        for byte in (1, 2, 3):
            value |= octets[at + byte].astype(np.uint32) << np.uint32(8 * byte)
        state[:n] = _mixed(state[:n], value)
    for byte in range(3):
        some = np.flatnonzero(lengths % 4 > byte)
        at = begins[some] + 4 * whole[some] + byte
        state[some] = _mixed(state[some], octets[at].view(np.int8).astype(np.int32).view(np.uint32))
    hashes[order] = _finished(state, lengths.astype(np.uint32))
    return hashes


def _mixed(hashes: np.ndarray, words: np.ndarray) -> np.ndarray:
    k = words * np.uint32(0xCC9E2D51)
    k = (k << np.uint32(15) | k >> np.uint32(17)) * np.uint32(0x1B873593)
    k ^= hashes
    return (k << np.uint32(13) | k >> np.uint32(19)) * np.uint32(5) + np.uint32(0xE6546B64)


def _finished(hashes: np.ndarray, length: np.ndarray | np.uint32) -> np.ndarray:
    h = hashes ^ length
    h = (h ^ h >> np.uint32(16)) * np.uint32(0x85EBCA6B)
    h = (h ^ h >> np.uint32(13)) * np.uint32(0xC2B2AE35)
    return h ^ h >> np.uint32(16)
