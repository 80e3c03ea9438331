"""`static`: word vectors that are part of the package. They need no model, no download and nothing but numpy.

The vector of a text is the weighted sum of those of its word pieces, scaled to unit length. Vectors and weights are
integers, and no sum exceeds what a float of 64 bits holds exactly, so every machine gives the same bytes.

The words are English. A text in another script has no word that is known; `covers` tells.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from inorder.documents.embed.providers import versions
from inorder.documents.embed.providers.base import Matrix

from .pieces import CONTINUED, PieceCache, measure_known_letters
from .table import FOLDER, read_table

NAME = "static"
_KNOWN_LETTERS_MIN = 0.5
_NUMBER_SHARE = 10
"""A piece of digits weighs this much less than a word: it says little, and a text may have many of them."""
_BITS = 21
"""Of the numbers of a sum that are kept: 256 squares of them add up to less than 53 bits."""


class PieceProvider:
    """The sum of the vectors of the pieces of a text, scaled to unit length."""

    def __init__(self, folder: Path = FOLDER) -> None:
        table = read_table(folder)
        self._pieces = PieceCache(table.vocabulary)
        self._directions = table.expand()
        is_number = np.array([piece.removeprefix(CONTINUED).isdecimal() for piece in table.vocabulary])
        self._lengths = np.where(is_number, table.lengths // _NUMBER_SHARE, table.lengths).astype(np.float64)
        self.name = f"{NAME}/{versions.STATIC}"
        self.dimensions = table.dimensions

    def embed(self, texts: Sequence[str]) -> Matrix:
        """One row per text. A text without known words gets the first unit vector."""
        rows = np.zeros((len(texts), self.dimensions), np.float64)
        for row, text in zip(rows, texts, strict=True):
            pieces = self._pieces.split_text(text)
            if pieces:
                row += self._lengths[pieces] @ self._directions[pieces].astype(np.float64)
        highest = np.abs(rows).max(axis=1, initial=1.0)
        rows = np.trunc(np.ldexp(rows, -np.maximum(0, np.frexp(highest)[1] - _BITS)[:, None]))
        rows[~rows.any(axis=1), 0] = 1.0
        unit: Matrix = (rows / np.sqrt((rows * rows).sum(axis=1, keepdims=True))).astype(np.float32)
        return unit

    def covers(self, text: str) -> bool:
        """Whether most of a text is in an alphabet whose words are known."""
        return measure_known_letters(text) >= _KNOWN_LETTERS_MIN

    def close(self) -> None:
        """There is nothing to release."""
