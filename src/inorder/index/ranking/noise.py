"""How similar vectors are to a question that means nothing.

A vector of a question always has neighbours. Whether they say anything is told by questions of random letters, asked of
the same vectors: what is not more similar than the best answer to any of them was found by chance.
"""

import random
from typing import Any

import numpy as np

from inorder.index.vectors.matrix import VectorMatrix

QUESTIONS = 32
_SEED = 16
_ROWS_MAX = 100_000
"""Of more vectors, as many are compared, evenly spaced."""
_LETTERS = "etaoinshrdlcumwfgypbvkjxqz"


def measure_noise(provider: Any, matrix: VectorMatrix) -> float:
    """The highest similarity that a question of random letters reaches."""
    rows = np.flatnonzero(matrix.chunks >= 0)
    rows = rows[:: -(-len(rows) // _ROWS_MAX) or 1]
    if not len(rows):
        return 0.0
    return float(matrix.find_highest(provider.embed(make_questions()), rows))


def make_questions() -> list[str]:
    """Questions of one to three words of random letters, the same ones every time."""
    source = random.Random(_SEED)

    def make_word() -> str:
        return "".join(source.choices(_LETTERS, k=source.randint(4, 9)))

    return [" ".join(make_word() for _ in range(source.randint(1, 3))) for _ in range(QUESTIONS)]
