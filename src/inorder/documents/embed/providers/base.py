"""The protocols of dense and sparse embedding providers."""

import threading
from collections.abc import Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt

Matrix = npt.NDArray[np.float32]
SparseVector = tuple[npt.NDArray[np.int32], npt.NDArray[np.float32]]
"""The terms with a weight above 0, ascending, and the weight of each."""


class DenseProvider(Protocol):
    """Computes one vector of unit length per text. Thread-safe.

    A plug-in of the kind `providers` is called with what follows its name in `--dense NAME:DETAIL`, and returns one.
    Its attribute `policy` says where it runs: `cpu` in each worker process (the default), `gpu` and `io` in one process
    for all workers.

    >>> import numpy
    >>> class Letters:
    ...     def __init__(self, detail):
    ...         self.name, self.dimensions = "letters", 26
    ...     def embed(self, texts):
    ...         rows = [[1 + text.count(chr(97 + i)) for i in range(26)] for text in texts]
    ...         counts = numpy.array(rows, numpy.float32)
    ...         return counts / numpy.linalg.norm(counts, axis=1, keepdims=True)
    ...     def close(self):
    ...         pass
    >>> Letters("").embed(["lamp"]).shape
    (1, 26)
    """

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
    """Computes one sparse vector per text: weighted terms of a fixed vocabulary. Thread-safe.

    A plug-in of the kind `providers` that is named with `--sparse` returns one.

    >>> import numpy
    >>> class Lengths:
    ...     def __init__(self, detail):
    ...         self.name, self.vocabulary_size = "lengths", 100
    ...     def encode(self, texts):
    ...         return [(numpy.array([len(text) % 100], numpy.int32), numpy.ones(1, numpy.float32)) for text in texts]
    ...     def close(self):
    ...         pass
    >>> Lengths("").encode(["lamp"])[0][0].tolist()
    [4]
    """

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


class BatchTally:
    """Counts the batches that a provider has run, for telemetry. Thread-safe.

    A provider with batches has one as its attribute `batches`. A provider may also have the attributes `model` and
    `device`; without them, the model is the detail of its specification, and the device is the CPU."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._batches = self._texts = self._retries = 0

    def add(self, texts: int) -> None:
        """Count a batch of this many texts."""
        self.add_all(1, texts)

    def add_all(self, batches: int, texts: int) -> None:
        """Count several batches with this many texts together."""
        with self._lock:
            self._batches += batches
            self._texts += texts

    def add_retry(self, count: int = 1) -> None:
        """Count requests that were sent again."""
        with self._lock:
            self._retries += count

    def take_retries(self) -> int:
        """Return the number of requests that were sent again since the last call."""
        with self._lock:
            taken, self._retries = self._retries, 0
            return taken

    def take(self) -> tuple[int, int]:
        """Return the number of batches and of texts in them since the last call: each batch is reported once."""
        with self._lock:
            taken, self._batches, self._texts = (self._batches, self._texts), 0, 0
            return taken


def measure_rows(matrix: Matrix) -> npt.NDArray[np.float64]:
    """The length of each row."""
    lengths: npt.NDArray[np.float64] = np.sqrt(np.einsum("ij,ij->i", matrix, matrix, dtype=np.float64))
    return lengths


def normalize_rows(matrix: Matrix) -> Matrix:
    """Scale the rows to unit length. Raises ValueError for a row that is zero or not finite: it has no direction."""
    with np.errstate(over="ignore", invalid="ignore"):
        lengths = measure_rows(matrix)
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
