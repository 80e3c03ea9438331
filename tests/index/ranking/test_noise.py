"""How similar a question of random letters is: of many vectors, some are compared."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from inorder.index.ranking import noise


def measure(chunks: list[int]) -> tuple[float, list[list[int]]]:
    """What is measured, and which rows were compared."""
    compared: list[list[int]] = []

    def find_highest(questions: Any, rows: Any) -> float:
        compared.append(rows.tolist())
        return 0.25

    matrix: Any = SimpleNamespace(chunks=np.array(chunks, np.int64), find_highest=find_highest)
    return noise.measure_noise(SimpleNamespace(embed=len), matrix), compared


def test_no_more_rows_than_the_limit_are_compared_and_those_evenly_spaced(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(noise, "_ROWS_MAX", 2)
    assert measure([5, -1, 6, 7, 8, -1, 9]) == (0.25, [[0, 4]])
    assert measure([5, -1, 6]) == (0.25, [[0, 2]])


def test_without_a_vector_there_is_no_noise() -> None:
    assert measure([-1, -1]) == (0.0, [])
    assert measure([]) == (0.0, [])
