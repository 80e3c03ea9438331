"""What the embed stage asks of whoever makes vectors."""

from collections.abc import Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt

Matrix = npt.NDArray[np.float32]
SparseVector = tuple[npt.NDArray[np.int32], npt.NDArray[np.float32]]
"""The terms that count, ascending, and the weight of each."""


class DenseProvider(Protocol):
    """Makes one vector a text, of unit length. Safe for any number of threads."""

    @property
    def name(self) -> str:
        """What it is, for people."""
        ...

    @property
    def dimensions(self) -> int:
        """Of every vector."""
        ...

    def embed(self, texts: Sequence[str]) -> Matrix:
        """A row for each text, in order."""
        ...

    def close(self) -> None:
        """Let go of what it holds. Twice is once."""
        ...


class SparseProvider(Protocol):
    """Makes one sparse vector a text: terms of a fixed vocabulary, weighted. Safe for any number of threads."""

    @property
    def name(self) -> str:
        """What it is, for people."""
        ...

    @property
    def vocabulary_size(self) -> int:
        """Every term is below this."""
        ...

    def encode(self, texts: Sequence[str]) -> list[SparseVector]:
        """A vector for each text, in order."""
        ...

    def close(self) -> None:
        """Let go of what it holds. Twice is once."""
        ...


def normalised(matrix: Matrix) -> Matrix:
    """Rows of unit length. A row that is zero or not finite is refused: it would match everything or nothing."""
    with np.errstate(over="ignore", invalid="ignore"):
        lengths = np.sqrt(np.einsum("ij,ij->i", matrix, matrix, dtype=np.float64))
    wrong = np.flatnonzero(~np.isfinite(lengths) | (lengths == 0))
    if wrong.size:
        raise ValueError(f"the vector of text {int(wrong[0])} is zero or not finite")
    unit: Matrix = (matrix / lengths[:, None]).astype(np.float32)
    return unit


def encodable(text: str) -> str:
    """The text as UTF-8 can carry it: what is no character (half of a surrogate pair) becomes a question mark."""
    if text.isascii():
        return text
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace").decode("utf-8")
    return text
