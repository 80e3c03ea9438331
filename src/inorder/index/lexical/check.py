"""Check that the inverted index matches the chunks that it was made of."""

import sqlite3
import zlib
from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

from .blocks import Numbers, decode_blocks, read_terms
from .file_terms import LENGTH_TYPE, NUMBER_TYPE, FileTerms
from .postings import read_alive, read_segments
from .schema import DamagedIndexError

_FACTORS = [np.uint64(each) for each in (0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9)]
_SHIFT = np.uint64(29)
_MODULUS = 1 << 64


def is_inverted_index_intact(connection: sqlite3.Connection, files: Iterable[tuple[list[int], FileTerms]]) -> bool:
    """Whether the inverted index has exactly the terms of these files, each given by the ids of its chunks and their
    terms."""
    return (sum(_digest_file(chunks, terms) for chunks, terms in files) - _digest_index(connection)) % _MODULUS == 0


def _digest_file(chunks: Sequence[int], terms: FileTerms) -> int:
    ids = np.array(chunks, np.int64)
    hashes = _hash_terms(terms.vocabulary.split())[np.frombuffer(terms.terms, NUMBER_TYPE)]
    owners = np.repeat(ids, np.frombuffer(terms.sizes, NUMBER_TYPE))
    total = _digest(hashes, owners, np.frombuffer(terms.body, np.uint8), np.frombuffer(terms.head, np.uint8))
    lengths = (np.frombuffer(each, LENGTH_TYPE) for each in (terms.body_lengths, terms.head_lengths))
    return total + _digest_lengths(ids, *lengths)


def _digest_index(connection: sqlite3.Connection) -> int:
    total = 0
    segments = {segment.id: segment for segment in read_segments(connection)}
    alive = {id_: read_alive(connection, segment.chunks) for id_, segment in segments.items()}
    for id_, segment in segments.items():
        kept = alive[id_]
        total += _digest_lengths(segment.chunks[kept], segment.body_lengths[kept], segment.head_lengths[kept])
    previous = -1, ""
    for id_, first, block in connection.execute("SELECT segment, first, data FROM term_blocks ORDER BY segment, first"):
        terms = read_terms(block, first)
        if id_ not in segments or previous >= (id_, first):
            raise DamagedIndexError(f"the terms from {first!r} on are not in their place")
        previous = id_, terms[-1]
        total += _digest_block(block, terms, segments[id_].chunks, alive[id_])
    return total


def _digest_block(block: bytes, terms: list[str], chunks: Numbers, alive: npt.NDArray[np.bool_]) -> int:
    starts, numbers, body, head = decode_blocks([block])
    if (numbers >= len(chunks)).any():
        raise DamagedIndexError("a term names a chunk that its segment does not have")
    kept = alive[numbers]
    hashes = np.repeat(_hash_terms(terms), np.diff(starts, append=len(numbers)))
    return _digest(hashes[kept], chunks[numbers[kept]], body[kept], head[kept])


def _hash_terms(terms: list[str]) -> npt.NDArray[np.uint64]:
    return np.array([zlib.crc32(term.encode("utf-8", "surrogatepass")) for term in terms], np.uint64)


def _digest_lengths(chunks: npt.NDArray[np.int64], body: npt.NDArray[np.integer], head: npt.NDArray[np.integer]) -> int:
    return _digest(np.zeros(len(chunks), np.uint64), chunks, body, head)


def _digest(
    terms: npt.NDArray[np.uint64],
    chunks: npt.NDArray[np.int64],
    body: npt.NDArray[np.integer],
    head: npt.NDArray[np.integer],
) -> int:
    """A sum over all postings, so that their order does not matter."""
    mixed = terms * _FACTORS[0] + chunks.astype(np.uint64) * _FACTORS[1]
    mixed ^= mixed >> _SHIFT
    mixed = (mixed + body.astype(np.uint64) * np.uint64(65_536) + head.astype(np.uint64)) * _FACTORS[2]
    mixed ^= mixed >> _SHIFT
    return int((mixed * _FACTORS[0]).sum(dtype=np.uint64))
