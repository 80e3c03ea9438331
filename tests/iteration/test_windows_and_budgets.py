"""How far `imap` goes ahead of a blocked item, by windows and budgets. See `test_limits.py` for what "quiet" means."""

import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from typing import Any

import pytest

import inorder
from inorder import Budgets, ItemError, OperatorError, Windows
from inorder.engines import threads
from inorder.host import memory
from tests.support.gates import GUARD_S, FixedSizer, Gate, quiet_engine
from tests.support.options import for_imap

pytestmark = [pytest.mark.usefixtures("no_leaks"), pytest.mark.req("REA-1")]

SIZE = 10_000
"""Of a result, in round numbers."""


@pytest.fixture
def count_ahead(monkeypatch: pytest.MonkeyPatch) -> Callable[..., int]:
    """Counts the items that are run while the first one is held."""

    def count_ahead(size_of: Callable[[int], int] = lambda item: 1, **options: Any) -> int:
        gate = Gate()
        started: list[int] = []
        ahead: list[int] = []

        def function(item: int) -> bytes:
            if item == 0:
                gate.hold()
                return b""
            started.append(item)
            return bytes(size_of(item))

        def quiet() -> None:
            ahead.extend(started)
            gate.open()

        monkeypatch.setattr(threads, "ThreadEngine", quiet_engine(gate, quiet))
        monkeypatch.setattr(threads, "BatchSizer", partial(FixedSizer, 1))
        known = for_imap(**{"workers": 3, "where": "threads"} | options)
        with gate, closing(inorder.imap(function, range(100), **known)) as results:
            assert [len(result) for result in results] == [0, *(size_of(item) for item in range(1, 100))]
        return len(ahead)

    return count_ahead


@pytest.mark.req("WIN-2", "WIN-4")
@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"windows": Windows(entries=4)}, 7),
        ({"windows": Windows(entries=9)}, 17),
        ({"windows": Windows(cost_max=3)}, 5),
        ({"windows": Windows(cost_max=3), "cost": lambda item: 0.5}, 11),
        ({"windows": Windows(bytes_max=30), "size": lambda item: 10}, 5),
        ({"windows": Windows(bytes_max=30), "size": lambda item: 31}, 1),
        ({"windows": Windows(bytes_max=30)}, 99),
    ],
)
def test_two_windows_bound_how_far_it_goes(count_ahead: Any, options: dict[str, Any], expected: int) -> None:
    assert count_ahead(**options) == expected


@pytest.mark.req("BPR-1", "BPR-3")
def test_a_commit_lag_above_its_budget_holds_further_items(count_ahead: Any) -> None:
    assert count_ahead(budgets=Budgets(commit_lag_hard=10)) in range(8, 13)
    assert count_ahead(budgets=Budgets(commit_lag_hard=50)) in range(37, 53)


@pytest.mark.req("BPR-1", "BPR-3")
def test_above_the_budget_of_resident_memory_only_the_next_item_in_order_runs(count_ahead: Any) -> None:
    assert count_ahead(budgets=Budgets(resident_bytes_hard=1)) == 0
    assert count_ahead(budgets=Budgets(resident_bytes_hard=2**50)) == 99


@pytest.mark.req("BPR-1")
def test_above_a_soft_budget_half_of_the_workers_run(monkeypatch: pytest.MonkeyPatch) -> None:
    def count_running(budgets: Budgets) -> int:
        with Gate() as gate:
            monkeypatch.setattr(threads, "ThreadEngine", quiet_engine(gate, gate.open))
            options = inorder.RunOptions(budgets=budgets)
            results = list(inorder.imap(gate.hold, range(20), workers=6, where="threads", options=options))
            assert len(results) == 20
            return gate.inside_max

    assert count_running(Budgets(resident_bytes_soft=1)) == 3
    assert count_running(Budgets()) == 6


@pytest.mark.req("BPR-1")
def test_each_byte_budget_bounds_what_waits(count_ahead: Any) -> None:
    wide = {"size_of": lambda item: SIZE, "buffered_bytes_max": 20 * SIZE}
    assert count_ahead(**wide) in range(14, 20)
    assert count_ahead(**wide, budgets=Budgets(buffered_bytes_soft=5 * SIZE, window_bytes_hard=5 * SIZE)) in range(3, 6)
    assert count_ahead(**wide, budgets=Budgets(window_bytes_hard=5 * SIZE)) in range(3, 6)


@pytest.mark.req("BPR-3")
def test_the_second_window_stops_at_half_of_the_budget_and_leaves_the_rest_to_the_first(count_ahead: Any) -> None:
    def size_of(item: int) -> int:
        return 1 if item < 20 else SIZE

    options = {"size_of": size_of, "windows": Windows(entries=20), "buffered_bytes_max": 24 * SIZE}
    assert count_ahead(**options) - 19 in range(9, 13)
    assert count_ahead(**options, budgets=Budgets(prefetch_bytes_max=24 * SIZE)) - 19 in range(16, 21)


@pytest.mark.req("RTY-2")
def test_retries_are_bounded_per_window() -> None:
    def count_attempts(windows: Windows) -> int:
        def fail(item: int) -> None:
            raise ConnectionError("reset")

        results = inorder.imap(
            fail, range(6), retries=1, errors="yield", where="inline", options=inorder.RunOptions(windows=windows)
        )
        return sum(error.attempts for error in results if isinstance(error, ItemError))

    assert count_attempts(Windows()) == 12
    assert count_attempts(Windows(retries_max=0)) == 6
    assert count_attempts(Windows(entries=3, retries_max=1)) == 8


@pytest.mark.req("CMP-3")
def test_items_with_one_batch_key_are_run_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first item is held until all items are in sight."""
    started: list[str] = []
    all_in_sight = threading.Event()

    def items() -> Iterator[str]:
        yield "first"
        yield from "abcabcabcabc"
        all_in_sight.set()

    def function(item: str) -> str:
        assert all_in_sight.wait(GUARD_S)
        started.append(item)
        return item

    assert "".join(inorder.imap(function, items(), workers=1, batch_key=str, where="threads")) == "firstabcabcabcabc"
    assert "".join(started) == "firstaaaabbbbcccc"


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"size": 3}, "size must be a function of one item"),
        ({"batch_key": "a"}, "batch_key must be a function of one item"),
        ({"size": lambda item: -1}, "size must return a number of bytes, got -1 for 0"),
        ({"size": lambda item: 1.5}, "size must return a number of bytes, got 1.5 for 0"),
        ({"batch_key": lambda item: item}, "batch_key must return a string, got 0 for 0"),
        (
            {"budgets": Budgets(buffered_bytes_soft=11), "buffered_bytes_max": 10},
            "budgets.buffered_bytes_soft must not be above buffered_bytes_max, got 11 and 10",
        ),
    ],
)
def test_what_does_not_fit_is_refused_by_its_name(options: dict[str, Any], complaint: str) -> None:
    with pytest.raises(OperatorError) as error:
        list(inorder.imap(str, range(3), where="inline", **for_imap(**options)))
    assert str(error.value) == complaint


def test_a_budget_of_memory_is_refused_where_memory_cannot_be_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "read_resident_bytes", lambda: 0)
    with pytest.raises(OperatorError, match="needs Linux: this system has no /proc to read resident memory from"):
        inorder.imap(str, range(3), where="inline", options=inorder.RunOptions(budgets=Budgets(resident_bytes_soft=1)))
