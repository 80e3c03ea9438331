"""Rows that are read ahead: the same as single queries find, with far fewer of them."""

import sqlite3
from bisect import bisect_left
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inorder.stage.store import database, lookup
from inorder.stage.store.database import StoreLookup, open_store
from inorder.stage.store.lookup import BLOCK_ROWS_MAX, BlockLookup, IdRange, count_in_ranges
from tests.stage.jobs import Place
from tests.stage.store.jobs import StoreWorker, run_stored
from tests.stage.store.test_reader import IDS, data

__all__ = ["data"]
pytestmark = pytest.mark.req("STL-1")

COUNT = 1000


class Table:
    """Rows by id, and how place of them were read."""

    def __init__(self, ids: list[str]) -> None:
        self.ids = sorted(ids)
        self.queries = self.rows = 0

    def fetch(self, item_id: str, count: int) -> list[tuple[str]]:
        start = bisect_left(self.ids, item_id)
        found = [(each,) for each in self.ids[start : start + count]]
        self.queries += 1
        self.rows += len(found)
        return found

    def make_lookup(self) -> BlockLookup[str]:
        return BlockLookup(self.fetch, lambda row: row[0])


@given(st.sets(st.text("abc", max_size=4)), st.lists(st.text("abc", max_size=4)))
def test_what_is_found_does_not_depend_on_the_order_of_the_lookups(known: set[str], asked: list[str]) -> None:
    for order in (asked, sorted(asked), sorted(asked, reverse=True)):
        lookup = Table([*known]).make_lookup()
        assert [lookup.get(item_id) for item_id in order] == [each if each in known else None for each in order]


def test_ids_in_order_are_read_in_blocks_also_several_sequences_in_turn() -> None:
    numbers = [f"{number:06}" for number in range(4000)]
    table = Table([f"{family}/{number}" for family in ("dense", "lexical", "sparse") for number in numbers])
    lookup = table.make_lookup()
    for number in numbers:
        for family in ("dense", "lexical", "sparse"):
            assert lookup.get(f"{family}/{number}") == f"{family}/{number}"
    assert table.queries < len(table.ids) / BLOCK_ROWS_MAX + 40
    assert table.rows < len(table.ids) * 1.1


def test_ids_without_order_read_few_rows_in_vain() -> None:
    table = Table([f"{number:06}" for number in range(5000)])
    lookup = table.make_lookup()
    for item_id in Random(0).sample(table.ids, 2000):
        assert lookup.get(item_id) == item_id
    assert table.rows < 4 * 2000


def test_ids_that_are_not_there_are_not_asked_for_one_by_one() -> None:
    table = Table(["a", "z"])
    lookup = table.make_lookup()
    assert [lookup.get(f"b{number}") for number in range(1000)] == [None] * 1000
    assert table.queries == 1


@pytest.mark.parametrize("order", [IDS, sorted(IDS), sorted(IDS, reverse=True)])
def test_ids_that_are_not_valid_unicode_are_found_among_the_others(data: Path, order: tuple[str, ...]) -> None:
    store = open_store(str(data), "stage")
    assert store is not None
    lookup = StoreLookup(store)
    for item_id in order:
        found = lookup.get(item_id)
        assert found is not None
        assert found == store.get(item_id)
        assert lookup.get(f"{item_id}x") is None
    assert lookup.list_others() == []


def test_rows_that_are_read_ahead_are_found_with_one_query_whatever_their_ids(data: Path, queries: list[str]) -> None:
    store = open_store(str(data), "stage")
    assert store is not None
    lookup = StoreLookup(store)
    wanted = {item_id: store.get(item_id) for item_id in IDS}
    queries.clear()
    lookup.read_ahead([*IDS[::-1], "missing", "missing \udcff"])
    assert {item_id: lookup.get(item_id) for item_id in IDS} == wanted
    assert [lookup.get("missing"), lookup.get("missing \udcff")] == [None, None]
    assert len(queries) == 1
    assert lookup.list_others() == []
    assert lookup.get(IDS[0]) == wanted[IDS[0]], "what was read ahead is used once"


@pytest.fixture
def queries(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Every statement that is executed by a reader of a store."""
    found: list[str] = []
    open_database: Callable[[str], sqlite3.Connection] = database.open_database

    def open_traced(path: str) -> sqlite3.Connection:
        connection = open_database(path)
        connection.set_trace_callback(found.append)
        return connection

    monkeypatch.setattr(database, "open_database", open_traced)
    return found


def test_an_unchanged_run_reads_the_store_in_blocks_and_finds_what_has_changed(
    place: Place, queries: list[str]
) -> None:
    for number in range(COUNT):
        place.source(f"{number:04}", f"text {number}")
    worker = StoreWorker()
    assert run_stored(place, place.data, worker).succeeded == COUNT
    queries.clear()
    worker.called.clear()
    assert run_stored(place, place.data, worker).skipped == COUNT
    assert worker.called == []
    assert 0 < sum("FROM items" in query for query in queries) <= COUNT / 100
    place.source("0321", "another text")
    place.source("0322x", "a new text")
    (place.sources / "0323").unlink()
    outcome = run_stored(place, place.data, worker)
    assert worker.called == ["0321", "0322x"]
    assert (outcome.succeeded, outcome.skipped) == (2, COUNT - 1)
    store = open_store(str(place.data), "shout")
    assert store is not None
    assert store.get("0323") is None
    assert store.count() == COUNT


def test_a_result_that_is_removed_does_not_hide_one_that_is_no_longer_planned(place: Place) -> None:
    for name in "abcd":
        place.source(name, f"text of {name}")
    run_stored(place, place.data, StoreWorker())
    place.source("a", "bad")
    (place.sources / "d").unlink()
    outcome = run_stored(place, place.data, StoreWorker(), barriers="bc")
    assert (outcome.failed, outcome.skipped) == (1, 3)
    store = open_store(str(place.data), "shout")
    assert store is not None
    assert [item.item_id for item in store.iterate()] == ["b", "c"]


@pytest.mark.parametrize("seed", range(10))
def test_rows_in_many_ranges_are_counted_with_few_queries(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lookup, "_RANGES", 7)
    source = Random(seed)
    names = sorted({f"{source.choice('aäz')}{number}" for number in range(60)})
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE TABLE items (item_id TEXT PRIMARY KEY) WITHOUT ROWID")
    connection.executemany("INSERT INTO items VALUES (?)", [(name,) for name in source.sample(names, 40)])
    known = [name for (name,) in connection.execute("SELECT item_id FROM items ORDER BY item_id")]
    queries: list[str] = []

    def fetch_all(query: str, *values: str) -> list[tuple[int]]:
        queries.append(query)
        return connection.execute(query, values).fetchall()

    ranges = [IdRange(*source.choices(["", *names, "zz"], k=2)) for _ in range(20)]
    ranges += [IdRange(name, f"{name}\0") for name in names]
    expected = [sum(first <= name < end for name in known) for first, end in ranges]
    assert count_in_ranges(fetch_all, "items", ranges) == expected
    assert len(queries) == -(-len(ranges) // 7)
    assert count_in_ranges(fetch_all, "items", []) == []
    connection.close()
