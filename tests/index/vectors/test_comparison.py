"""The similarity of a vector to those of an index does not depend on where they are."""

from pathlib import Path

import numpy as np
import pytest

from inorder.index.vectors.matrix import VectorMatrix, compare_rows
from tests.index.vectors.corpus import make_corpus

pytestmark = pytest.mark.req("IDX-3", "IDX-5")


@pytest.mark.parametrize("width", [1, 3, 64, 100, 384])
@pytest.mark.parametrize("count", [1, 2, 7, 64, 1001])
def test_a_row_has_the_same_similarity_among_any_others(width: int, count: int) -> None:
    source = np.random.default_rng(count)
    rows = source.standard_normal((count, width)).astype(np.float32)
    vector = source.standard_normal(width).astype(np.float32)
    together = compare_rows(rows, vector)
    assert together.dtype == np.float32
    assert np.allclose(together, rows.astype(np.float64) @ vector.astype(np.float64), atol=1e-4)
    alone = [compare_rows(rows[at : at + 1], vector)[0] for at in range(count)]
    assert np.array_equal(together, np.array(alone))
    order = source.permutation(count)
    assert np.array_equal(compare_rows(rows[order], vector), together[order])
    shifted = np.frombuffer(b"12345678" + rows.tobytes(), np.float32, offset=8).reshape(count, width)
    assert np.array_equal(compare_rows(shifted, vector), together)


def test_few_rows_of_several_files_are_compared_as_all_are(tmp_path: Path) -> None:
    corpus = make_corpus(tmp_path / "data", 30)
    corpus.change({"03": ["lamp", "wick"]})
    corpus.change({"11": ["horn"], "99": ["fog"]})
    with corpus.open() as connection:
        matrix = VectorMatrix(connection, str(corpus.data))
    assert len(matrix.chunks) == 34
    [vector] = np.frombuffer(matrix.read(np.array([31]))[0], "<f4").reshape(1, -1)
    every = np.arange(34)
    found = matrix.compare(vector, every)
    assert found[31] == pytest.approx(1)
    for rows in (every[:3], every[29:], np.array([33, 0, 31]), np.array([32]), every[:0]):
        assert np.array_equal(matrix.compare(vector, rows), found[rows])


def test_a_search_does_without_vectors_if_any_file_is_lost(tmp_path: Path) -> None:
    corpus = make_corpus(tmp_path / "data")
    corpus.change({"03": ["lamp"]})
    files = corpus.list_files()
    with corpus.open() as connection:
        matrix = VectorMatrix(connection, str(corpus.data))
        assert matrix.is_current()
        Path(files[1].path).unlink()
        assert not matrix.is_current()
        lost = VectorMatrix(connection, str(corpus.data))
    assert not lost.is_available
    assert lost.problem == f"{files[1].path} is missing; run `inorder index` to write it again"
    assert lost.is_current()
