"""Dense vectors without a model: hashed words and character n-grams.

This works offline, needs no weights, and gives the same bytes on every machine: votes are counted as integers, and then
only square roots and divisions are applied, which IEEE 754 rounds exactly. The vectors know nothing of meaning: texts
are similar if they share words, parts of words, and spellings. Every word and every run of three and of five bytes of
the lower-cased text adds or subtracts one vote for one dimension, chosen by its hash. The square root of the votes is
taken, so that frequent words weigh more, but not in proportion.

Each text is hashed by itself, as one array that fits the processor's cache.
"""

import unicodedata
import zlib
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from .base import Matrix
from .versions import HASH, HASH_DIMENSIONS

_SIZES = (3, 5)
_WORD_WEIGHT = 4
_FACTORS = [np.uint32(factor) for factor in (0x9E3779B1, 0x85EBCA6B, 0xC2B2AE35, 0x27D4EB2F, 0x165667B1)]
_MIXER = np.uint32(0x2C1B3C6D)
_HALF, _ONE = np.uint32(16), np.uint32(1)

Hashes = npt.NDArray[np.uint32]


class HashProvider:
    """The provider `hash` or `hash:DIMENSIONS`."""

    def __init__(self, dimensions: int = HASH_DIMENSIONS) -> None:
        self.dimensions = dimensions
        self.name = f"hash/{HASH}:{dimensions}"

    def embed(self, texts: Sequence[str]) -> Matrix:
        """One row per text. A text without any votes gets the first unit vector."""
        votes = np.zeros((len(texts), self.dimensions), dtype=np.int64)
        for row, text in zip(votes, texts, strict=True):
            row += self._count_votes(_normalize_text(text))
        votes[~votes.any(axis=1), 0] = 1
        sizes = np.abs(votes)
        # The squares of the square roots add up to the votes, so this is the norm.
        rows: Matrix = (np.sign(votes) * np.sqrt(sizes / sizes.sum(axis=1, keepdims=True))).astype(np.float32)
        return rows

    def close(self) -> None:
        """There is nothing to release."""

    def _count_votes(self, text: bytes) -> npt.NDArray[np.int64]:
        words = text.split()
        runs = _hash_runs(np.frombuffer(text, dtype=np.uint8).astype(np.uint32))
        hashes = np.concatenate([*runs, np.fromiter(map(zlib.crc32, words), dtype=np.uint32, count=len(words))])
        slots = self._choose_slots(hashes)
        first_word = len(slots) - len(words)
        return self._count(slots[:first_word]) + _WORD_WEIGHT * self._count(slots[first_word:])

    def _choose_slots(self, hashes: Hashes) -> npt.NDArray[np.int64]:
        """For each hash, twice its dimension, plus one if it votes against it."""
        hashes ^= hashes >> _HALF
        hashes *= _MIXER
        against = (hashes >> np.uint32(9)) & _ONE
        hashes >>= _HALF
        hashes *= np.uint32(self.dimensions)
        hashes >>= _HALF
        return ((hashes << _ONE) | against).astype(np.int64)

    def _count(self, slots: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """For each dimension, the votes for it minus the votes against it."""
        counts = np.bincount(slots, minlength=2 * self.dimensions)
        return counts[0::2] - counts[1::2]


def _normalize_text(text: str) -> bytes:
    """The text in NFKC and lower case."""
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text)
    return text.lower().encode("utf-8", "surrogatepass")


def _hash_runs(data: Hashes) -> list[Hashes]:
    """A hash for every run of bytes, for each size."""
    runs: list[Hashes] = []
    hashes = data * _FACTORS[0]
    for offset in range(1, _SIZES[-1]):
        hashes = (hashes[: max(0, len(data) - offset)] ^ data[offset:]) * _FACTORS[offset]
        if offset + 1 in _SIZES:
            runs.append(hashes)
    return runs
