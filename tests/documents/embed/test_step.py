"""The step `embed` as a function of texts and an open provider."""

from collections.abc import Sequence

import numpy as np
import pytest

from inorder.documents.embed.providers.base import Matrix, SparseVector
from inorder.documents.embed.providers.registry import open_dense
from inorder.documents.embed.step import (
    CHUNKS_MAX,
    count_together,
    embed,
    embed_together,
    measure,
    settings_of,
    summarize,
)
from inorder.errors import OperatorError, StageError

pytestmark = pytest.mark.req("DOC-3")

DOCUMENTS = [["the lamp is lit", "oil"], [], ["a schooner", "near the reef", "turned away"]]


class LengthProvider:
    """Dense and sparse vectors of the length of a text. An empty text has none."""

    name = "length"
    dimensions = 2
    vocabulary_size = 1000

    def __init__(self) -> None:
        self.calls: list[int] = []

    def embed(self, texts: Sequence[str]) -> Matrix:
        self.calls.append(len(texts))
        if "" in texts:
            raise ValueError("the vector of text 0 is zero")
        return np.array([[len(text), 0] for text in texts], dtype=np.float32).reshape(-1, 2)

    def encode(self, texts: Sequence[str]) -> list[SparseVector]:
        self.calls.append(len(texts))
        return [(np.array([len(text)], np.int32), np.array([2.0], np.float32)) for text in texts]

    def close(self) -> None: ...


@pytest.mark.parametrize("family", ["dense", "sparse"])
def test_documents_together_get_the_vectors_of_each_alone_from_one_call(family: str) -> None:
    provider = LengthProvider()
    together = embed_together(family, DOCUMENTS, provider)
    assert provider.calls == [5]
    alone = [embed(family, texts, provider) for texts in DOCUMENTS]
    assert [np.array(each, object).tolist() for each in together] == [np.array(each, object).tolist() for each in alone]
    assert [len(each) for each in together] == [2, 0, 3]


def test_the_vectors_of_one_document_do_not_keep_those_of_all_in_memory() -> None:
    first, *_ = embed_together("dense", DOCUMENTS, LengthProvider())
    assert isinstance(first, np.ndarray)
    assert first.base is None or first.base.shape == first.shape


def test_the_same_texts_give_the_same_vectors() -> None:
    provider = open_dense("hash:32")
    first, again = embed("dense", DOCUMENTS[0], provider), embed("dense", DOCUMENTS[0], provider)
    assert np.array_equal(np.asarray(first), np.asarray(again))


def test_a_text_without_a_vector_raises_with_the_name_of_the_provider() -> None:
    with pytest.raises(StageError, match=r"^length: the vector of text 0 is zero$") as caught:
        embed("dense", [""], LengthProvider())
    assert (caught.value.category, caught.value.retryable) == ("runtime", False)


@pytest.mark.parametrize(
    ("sizes", "count"),
    [([], 0), ([CHUNKS_MAX * 9], 1), ([1, CHUNKS_MAX - 1, 1], 2), ([1, CHUNKS_MAX], 1), ([0, 0, 1], 3)],
)
def test_documents_go_together_up_to_a_number_of_chunks(sizes: list[float], count: int) -> None:
    assert count_together(sizes) == count


@pytest.mark.parametrize(
    ("family", "expected"),
    [
        ("dense", {"norms": {"min": 3.0, "avg": 9.0, "max": 15.0}, "dimensions": 2}),
        ("sparse", {"norms": {"min": 2.0, "avg": 2.0, "max": 2.0}, "avg_nnz": 1.0}),
    ],
)
def test_the_summary_says_how_many_vectors_there_are_and_how_long(family: str, expected: dict[str, object]) -> None:
    provider = LengthProvider()
    vectors = embed(family, DOCUMENTS[0], provider)
    found = summarize(family, vectors, provider, measure(family, vectors))
    assert found == {"vectors": 2, "provider": "length", **expected}


@pytest.mark.req("DOC-4")
def test_settings_state_the_provider_with_its_version() -> None:
    assert settings_of("dense", "hash:32") == {"family": "dense", "provider": "hash/1:32"}
    assert settings_of("dense", "static") != settings_of("dense", "hash")
    with pytest.raises(OperatorError, match="unknown provider"):
        settings_of("dense", "nothing")
