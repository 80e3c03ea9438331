"""Sparse vectors from a tiny model made here, through the real library."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from inorder.documents.embed.providers.base import SparseProvider
from inorder.documents.embed.providers.registry import open_sparse
from inorder.errors import OperatorError
from inorder.stage.contracts import StageError
from tests.documents.embed.models import VOCABULARY, bert_folder
from tests.lanes.doubles import Caller

library = pytest.importorskip("sentence_transformers", reason="the extra sentence-transformers is not installed")

pytestmark = pytest.mark.req("DOC-3")

TEXTS = ["the one", "two and a number, 7", "x", "half \ud800 of a pair", "word " * 300]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """As SPLADE models are published: an encoder that weighs words, and a pooling."""
    made = bert_folder(tmp_path_factory.mktemp("plain"), "bert-words")
    saved = tmp_path_factory.mktemp("saved")
    library.SparseEncoder(str(made), device="cpu").save(str(saved))
    return saved


@pytest.fixture(scope="module")
def provider(folder: Path) -> Iterator[SparseProvider]:
    provider = open_sparse(f"splade:{folder}")
    yield provider
    provider.close()


def dense(provider: SparseProvider, texts: list[str]) -> np.ndarray[tuple[int, int], np.dtype[np.float32]]:
    """The vectors with all their zeros, after what must hold for each was checked."""
    rows = np.zeros((len(texts), provider.vocabulary_size), dtype=np.float32)
    for row, (terms, weights) in zip(rows, provider.encode(texts), strict=True):
        assert (terms.dtype, weights.dtype) == (np.int32, np.float32)
        assert (np.diff(terms) > 0).all()
        assert (weights > 0).all()
        row[terms] = weights
    return rows


def test_the_weights_are_those_of_the_library_in_order(folder: Path, provider: SparseProvider) -> None:
    model = library.SparseEncoder(str(folder), device="cpu")
    plain = [text.replace("\ud800", "?") for text in TEXTS]
    expected = model.encode(plain, convert_to_sparse_tensor=False, show_progress_bar=False).numpy()
    assert provider.vocabulary_size == len(VOCABULARY)
    assert np.count_nonzero(expected) > 0
    np.testing.assert_allclose(dense(provider, TEXTS), expected, atol=1e-5)


def test_no_texts_give_no_vectors(provider: SparseProvider) -> None:
    assert provider.encode([]) == []


def test_a_text_has_the_same_vector_wherever_it_stands(provider: SparseProvider) -> None:
    texts = [f"text number {number}" for number in range(40)]
    np.testing.assert_allclose(dense(provider, texts), dense(provider, texts[::-1])[::-1], atol=1e-4)


def test_callers_on_many_threads_get_their_own(provider: SparseProvider) -> None:
    alone = [provider.encode([text]) for text in TEXTS]
    callers = [Caller(provider.encode, [text]) for text in TEXTS]
    for caller, [(terms, _)] in zip(callers, alone, strict=True):
        assert caller.answer()[0][0].tolist() == terms.tolist()


def test_closing_is_idempotent_and_nothing_comes_after_it(folder: Path) -> None:
    provider = open_sparse(f"splade:{folder}")
    provider.close()
    provider.close()
    with pytest.raises(StageError, match="closed"):
        provider.encode(["late"])


def test_a_model_that_cannot_be_loaded_is_named_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{")
    with pytest.raises(OperatorError, match="cannot load splade:") as caught:
        open_sparse(f"splade:{tmp_path}")
    assert "\n" not in str(caught.value)
