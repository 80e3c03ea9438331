"""Where documents that may have changed have their places in the plan of the last run."""

import random
from bisect import bisect_left

import pytest

from inorder.documents.edits import CountIds, edit_documents
from inorder.stage.contracts import LastRun, WorkItem

pytestmark = pytest.mark.req("STL-1")


def bind_count(known: list[str]) -> CountIds:
    """Counts as a database does, which refuses what is not valid Unicode."""

    def count(first: str, end: str) -> int:
        assert (first + end).encode()
        return bisect_left(known, end) - bisect_left(known, first)

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
    expected = edit_documents(last, wanted, items, prefixes)
    assert expected is not None
    assert edit_documents(unread, wanted, items, prefixes, bind_count(known)) == expected


def test_rows_are_read_if_an_id_is_not_valid_unicode() -> None:
    last = LastRun(count=1, read_ids=lambda: iter(["a"]))
    edits = edit_documents(last, ["b\udcff"], {}, count_ids=bind_count(["a"]))
    assert edits is not None
    assert (edits.gone, edits.dropped) == (["b\udcff"], set())
