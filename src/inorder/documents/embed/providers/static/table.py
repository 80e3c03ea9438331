"""The table of word vectors that is part of the package.

A vector of 256 numbers takes 32 bytes: it is cut into 32 parts, and each part is the number of one of 256 shapes that
all vectors share. Its length, which says how much a word means, is stored beside it. So 27,000 vectors take 1 MB.
`tools/static_vectors.py` makes the table from the model all-MiniLM-L6-v2.
"""

from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from inorder.errors import OperatorError
from inorder.host.regular_file import open_regular, read_regular

FOLDER = Path(__file__).parent
VECTORS = "minilm.vectors.npz"
VOCABULARY = "minilm.vocabulary.txt"


class VectorTable(NamedTuple):
    """The vectors of a vocabulary."""

    vocabulary: list[str]
    codes: npt.NDArray[np.uint8]
    """For each piece, the numbers of the shapes of its parts."""
    shapes: npt.NDArray[np.int8]
    """For each part, its shapes."""
    lengths: npt.NDArray[np.uint16]

    @property
    def dimensions(self) -> int:
        """The length of a vector."""
        return int(self.shapes.shape[0] * self.shapes.shape[2])

    def expand(self) -> npt.NDArray[np.int8]:
        """The directions of all vectors, one per row."""
        parts, count, width = self.shapes.shape
        numbers = self.codes + np.arange(parts) * count  # of each shape among those of all parts
        found: npt.NDArray[np.int8] = self.shapes.reshape(-1, width).take(numbers, axis=0)
        return found.reshape(len(self.codes), self.dimensions)


def read_table(folder: Path = FOLDER) -> VectorTable:
    """Read the table. Raises OperatorError if a file is missing or damaged."""
    try:
        vocabulary = read_regular(folder / VOCABULARY).decode("ascii").split()
        with open_regular(folder / VECTORS) as file, np.load(file, allow_pickle=False) as stored:
            table = VectorTable(vocabulary, stored["codes"], stored["shapes"], stored["lengths"])
    except Exception as error:
        raise OperatorError(f"static: the package inorder is damaged; reinstall it: {error}") from None
    if not len(vocabulary) == len(table.codes) == len(table.lengths):
        raise OperatorError("static: the package inorder is damaged; reinstall it: its word vectors are incomplete")
    return table


def write_table(folder: Path, table: VectorTable) -> None:
    """Write the table. The same table gives the same bytes."""
    (folder / VOCABULARY).write_text("\n".join(table.vocabulary) + "\n", encoding="ascii")
    np.savez(folder / VECTORS, codes=table.codes, shapes=table.shapes, lengths=table.lengths)
