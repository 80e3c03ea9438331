"""Vectors without a model: `--dense letters` or `--dense letters:WEIGHT`, and `--sparse lengths`."""

from collections.abc import Sequence
from typing import Any

import numpy as np


class Letters:
    """Dense vectors: how often a text has each letter."""

    policy = "cpu"

    def __init__(self, detail: str) -> None:
        """`detail` is what follows the colon: a number that is added to each count."""
        self._weight = float(detail or 1)
        self.name = f"letters:{self._weight}"
        self.dimensions = 26

    def embed(self, texts: Sequence[str]) -> Any:
        """One row of length 1 per text."""
        counts = [[self._weight + text.lower().count(chr(97 + letter)) for letter in range(26)] for text in texts]
        matrix = np.array(counts, np.float32).reshape(len(texts), 26)
        return matrix / np.linalg.norm(matrix, axis=1, keepdims=True)

    def close(self) -> None:
        """Nothing to do."""


class Lengths:
    """Sparse vectors: the lengths of the words of a text are its terms."""

    name = "lengths"
    vocabulary_size = 64

    def __init__(self, detail: str) -> None:
        """`detail` is what follows the colon."""

    def encode(self, texts: Sequence[str]) -> list[Any]:
        """The terms and their weights, of each text."""
        found = []
        for text in texts:
            terms, counts = np.unique([min(len(word), 63) for word in text.split()] or [0], return_counts=True)
            found.append((terms.astype(np.int32), counts.astype(np.float32)))
        return found

    def close(self) -> None:
        """Nothing to do."""
