"""The protocols of dense and sparse embedding providers."""

from collections.abc import Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt

Matrix = npt.NDArray[np.float32]
SparseVector = tuple[npt.NDArray[np.int32], npt.NDArray[np.float32]]
"""The terms with a weight above 0, ascending, and the weight of each."""


class DenseProvider(Protocol):
    """Computes one vector of unit length per text. Thread-safe."""

    @property
    def name(self) -> str:
        """The name that files and messages show."""
        ...

    @property
    def dimensions(self) -> int:
        """The length of every vector."""
        ...

    def embed(self, texts: Sequence[str]) -> Matrix:
        """One row per text, in order."""
        ...

    def close(self) -> None:
        """Release all resources. Idempotent."""
        ...


class SparseProvider(Protocol):
    """Computes one sparse vector per text: weighted terms of a fixed vocabulary. Thread-safe."""

    @property
    def name(self) -> str:
        """The name that files and messages show."""
        ...

    @property
    def vocabulary_size(self) -> int:
        """Number of terms; every term is below it."""
        ...

    def encode(self, texts: Sequence[str]) -> list[SparseVector]:
        """One vector per text, in order."""
        ...

    def close(self) -> None:
        """Release all resources. Idempotent."""
        ...


def normalize_rows(matrix: Matrix) -> Matrix:
    """Scale the rows to unit length. Raises ValueError for a row that is zero or not finite: it has no direction."""
    with np.errstate(over="ignore", invalid="ignore"):
        lengths = np.sqrt(np.einsum("ij,ij->i", matrix, matrix, dtype=np.float64))
    wrong = np.flatnonzero(~np.isfinite(lengths) | (lengths == 0))
    if wrong.size:
        raise ValueError(f"the vector of text {int(wrong[0])} is zero or not finite")
    unit: Matrix = (matrix / lengths[:, None]).astype(np.float32)
    return unit


def replace_surrogates(text: str) -> str:
    """The text with lone surrogates, which UTF-8 cannot encode, replaced by question marks."""
    if text.isascii():
        return text
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace").decode("utf-8")
    return text
