"""Vectors without a model: hashed words and character n-grams.

Works offline, needs no weights, and gives the same bytes everywhere: votes are counted in whole numbers, and the only
things done to them are square roots and divisions, which every machine rounds alike. It knows nothing of meaning: two
texts are near when they share words, parts of words, and spellings. Every word and every run of three and of five bytes
of the lower-cased text votes for one dimension, for or against it, as its hash says; of the votes the square root is
taken, so that what comes often counts for more, but not for that much more.

Each text is hashed by itself, as one array: it fits a processor's cache, and nothing can leak from one to the next.
"""

import unicodedata
import zlib
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from .base import Matrix

VERSION = 1
"""Another version, other vectors."""
DIMENSIONS = 384
"""Unless the operator says otherwise."""
DIMENSIONS_MAX = 65_536
"""Sixteen bits of a hash choose the dimension."""

_SIZES = (3, 5)
_WORD_WEIGHT = 4
_FACTORS = [np.uint32(factor) for factor in (0x9E3779B1, 0x85EBCA6B, 0xC2B2AE35, 0x27D4EB2F, 0x165667B1)]
_MIXER = np.uint32(0x2C1B3C6D)
_HALF, _ONE = np.uint32(16), np.uint32(1)

Hashes = npt.NDArray[np.uint32]


class HashProvider:
    """`hash`, or `hash:DIMENSIONS`."""

    def __init__(self, dimensions: int = DIMENSIONS) -> None:
        self.dimensions = dimensions
        self.name = f"hash/{VERSION}:{dimensions}"

    def embed(self, texts: Sequence[str]) -> Matrix:
        """A row for each text. One with nothing in it gets a row that says so."""
        votes = np.zeros((len(texts), self.dimensions), dtype=np.int64)
        for row, text in zip(votes, texts, strict=True):
            row += self._votes(_plain(text))
        votes[~votes.any(axis=1), 0] = 1
        sizes = np.abs(votes)
        # The squares of the square roots add up to the votes themselves.
        rows: Matrix = (np.sign(votes) * np.sqrt(sizes / sizes.sum(axis=1, keepdims=True))).astype(np.float32)
        return rows

    def close(self) -> None:
        """Nothing is held."""

    def _votes(self, plain: bytes) -> npt.NDArray[np.int64]:
        words = plain.split()
        runs = _runs(np.frombuffer(plain, dtype=np.uint8).astype(np.uint32))
        hashes = np.concatenate([*runs, np.fromiter(map(zlib.crc32, words), dtype=np.uint32, count=len(words))])
        places = self._places(hashes)
        first_word = len(places) - len(words)
        return self._count(places[:first_word]) + _WORD_WEIGHT * self._count(places[first_word:])

    def _places(self, hashes: Hashes) -> npt.NDArray[np.int64]:
        """Twice the dimension that each hash votes for, and one more if it votes against it."""
        hashes ^= hashes >> _HALF
        hashes *= _MIXER
        against = (hashes >> np.uint32(9)) & _ONE
        hashes >>= _HALF
        hashes *= np.uint32(self.dimensions)
        hashes >>= _HALF
        return ((hashes << _ONE) | against).astype(np.int64)

    def _count(self, places: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Those for a dimension less those against it."""
        counts = np.bincount(places, minlength=2 * self.dimensions)
        return counts[0::2] - counts[1::2]


def _plain(text: str) -> bytes:
    """Lower case, and one spelling for what Unicode can spell in several ways."""
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text)
    return text.lower().encode("utf-8", "surrogatepass")


def _runs(data: Hashes) -> list[Hashes]:
    """A hash for every run of each size."""
    runs: list[Hashes] = []
    hashes = data * _FACTORS[0]
    for place in range(1, _SIZES[-1]):
        hashes = (hashes[: max(0, len(data) - place)] ^ data[place:]) * _FACTORS[place]
        if place + 1 in _SIZES:
            runs.append(hashes)
    return runs
