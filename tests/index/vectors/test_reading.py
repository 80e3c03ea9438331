"""The vectors of new documents are read a few documents at a time."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from inorder.documents.embed import stored
from inorder.index.vectors import documents
from inorder.stage.store.database import open_store
from inorder.stage.store.inputs import Input
from tests.index.vectors.corpus import Corpus, make_corpus

pytestmark = pytest.mark.req("IDX-3", "IDX-5")
TEXTS = {f"{number:02}": [f"lamp {number}"] for number in range(40, 47)}


def note_groups(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many documents are read together from now on."""
    groups: list[int] = []
    load = stored.load_dense_tables

    def note(sources: Sequence[Input]) -> Iterator[stored.DenseVectors]:
        groups.append(len(sources))
        return load(sources)

    monkeypatch.setattr(stored, "load_dense_tables", note)
    return groups


@pytest.mark.parametrize(
    ("documents_max", "size_max", "groups"),
    [(64, 1000, [7]), (3, 1000, [3, 3, 1]), (64, 2.5, [2, 2, 2, 1]), (64, 0.5, [1] * 7)],
    ids=["few", "many", "large ones", "larger than the limit"],
)
def test_no_more_than_some_documents_and_some_bytes_are_read_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, documents_max: int, size_max: float, groups: list[int]
) -> None:
    """`size_max` is in units of one document."""
    corpus = make_corpus(tmp_path / "data", 40)
    store = open_store(str(tmp_path / "data"), "embed")
    found_row = None if store is None else store.get("dense/00")
    assert found_row is not None
    size = found_row.size
    monkeypatch.setattr(documents, "_DOCUMENTS", documents_max)
    monkeypatch.setattr(documents, "_BYTES", round(size_max * size))
    found = note_groups(monkeypatch)
    corpus.change(TEXTS)
    assert found == groups
    monkeypatch.undo()
    assert corpus.read() == corpus.build_fresh(tmp_path / "fresh").read()


def test_the_documents_of_a_first_run_are_read_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = note_groups(monkeypatch)
    Corpus(tmp_path / "data").change(TEXTS)
    assert found == [6, 1]  # the last one is a block of its own


def test_documents_between_those_that_are_copied_keep_their_places(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    corpus = make_corpus(tmp_path / "data")
    found = note_groups(monkeypatch)
    corpus.change({"03": ["oil"], "04": ["oil"], "10": ["reef"]})
    for file in corpus.list_files():
        Path(file.path).unlink()
    found.clear()
    corpus.change({"05": ["rope"]})
    monkeypatch.undo()
    assert sum(found) == len(corpus.texts)
    assert corpus.read() == corpus.build_fresh(tmp_path / "fresh").read()
