"""Where documents that may have changed have their places in the plan of the last run."""

import random
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from itertools import chain

import pytest

from inorder.documents import layout
from inorder.documents.edits import CountIds, edit_documents
from inorder.stage.contracts import LastRun, WorkItem
from inorder.stage.store.lookup import IdRange

pytestmark = pytest.mark.req("STL-1")


def bind_count(known: list[str]) -> CountIds:
    """Counts as a database does, which refuses what is not valid Unicode."""

    def count(ranges: Sequence[IdRange]) -> list[int]:
        assert "".join(chain.from_iterable(ranges)).encode()
        return [bisect_left(known, end) - bisect_left(known, first) for first, end in ranges]

    return count


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("prefixes", [("",), ("dense/", "lexical/")], ids=["one", "two"])
def test_places_that_are_counted_are_those_that_the_rows_show(seed: int, prefixes: tuple[str, ...]) -> None:
    source = random.Random(seed)
    names = [f"{source.choice('aäz')}{number}" for number in range(30)]
    known = sorted(source.sample(names, source.randint(0, 30)))
    wanted = source.sample(names, source.randint(1, 10))
    items = {
        name: [WorkItem(item_id=f"{prefix}{name}") for prefix in prefixes] for name in wanted if source.random() < 0.7
    }
    rows = [f"{prefix}{name}" for name in known for prefix in prefixes]
    last = LastRun(count=len(rows), read_ids=lambda: iter(rows))
    unread = LastRun(count=len(rows), read_ids=lambda: pytest.fail("the rows are read"))
    expected = edit_documents(last, wanted, items, items.__getitem__, prefixes)
    found = edit_documents(unread, wanted, items, items.__getitem__, prefixes, bind_count(known))
    assert expected is not None
    assert found is not None
    assert [*found.items] == [*expected.items]
    assert (found.dropped, found.gone) == (expected.dropped, expected.gone)


def test_rows_are_read_if_an_id_is_not_valid_unicode() -> None:
    last = LastRun(count=1, read_ids=lambda: iter(["a"]))
    edits = edit_documents(last, ["b\udcff"], {}, lambda _: [], count_ids=bind_count(["a"]))
    assert edits is not None
    assert (edits.gone, edits.dropped) == (["b\udcff"], set())


def test_items_are_made_when_their_turn_comes() -> None:
    """A run with many changes does not hold all of its items."""
    made = []

    def make_items(doc_id: str) -> list[WorkItem]:
        made.append(doc_id)
        return [WorkItem(item_id=doc_id)]

    last = LastRun(count=1, read_ids=lambda: iter(["a"]))
    edits = edit_documents(last, ["a", "b", "c"], {"a", "c"}, make_items)
    assert edits is not None
    assert not made
    for count, _ in enumerate(edits.items, 1):
        assert made == ["a", "c"][:count]
    assert made == ["a", "c"]
    assert edits.gone == ["b"]


@pytest.mark.parametrize("kept", [0, 2])
def test_results_of_many_documents_are_read_when_they_are_asked_for(kept: int, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []

    def find(_: str, kind: layout.ResultKind, doc_ids: Iterable[str]) -> dict[str, layout.Result]:
        read.extend(doc_ids)
        return {doc_id: layout.Result(doc_id, doc_id, 1) for doc_id in doc_ids if doc_id != "gone"}

    monkeypatch.setattr(layout, "find_stored", find)
    monkeypatch.setattr(layout, "_RESULTS_KEPT", kept)
    found = layout.StoredResults("DATA", layout.CHUNK_RESULTS, ["a", "gone"])
    assert found.doc_ids == {"a"}
    assert found["a"].doc_id == "a"
    assert read == (["a", "gone"] if kept else ["a", "gone", "a"])
