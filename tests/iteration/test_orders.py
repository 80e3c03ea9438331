"""`order="none"` and `order="key"`: results as they come, and those of one key in input order."""

import itertools
import os
import threading
from collections import defaultdict
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import inorder
from inorder.engines import threads
from tests.support.gates import GUARD_S, FixedSizer

pytestmark = [pytest.mark.usefixtures("no_leaks"), pytest.mark.req("API-1")]


class Steps:
    """Items that end one after the other, in an order that a test chooses."""

    def __init__(self, ends: list[int]) -> None:
        self._may_end = {item: threading.Event() for item in ends}
        self._ends = iter(ends)

    def run(self, item: int) -> int:
        """Wait until it is this item's turn to end, and fail if it is to fail."""
        assert self._may_end[item].wait(GUARD_S)
        if item % 5 == 4:
            raise ValueError(item)
        return item

    def end_next(self) -> None:
        """Let the next item end."""
        following = next(self._ends, None)
        if following is not None:
            self._may_end[following].set()


def take_all(results: Iterator[Any], steps: Steps, pending: int) -> list[int]:
    """Take results; whenever one was taken, let the next item end. `pending` have to end before the first result."""
    for _ in range(pending):
        steps.end_next()
    taken = []
    for result in results:
        taken.append(result.item if isinstance(result, inorder.ItemError) else result)
        steps.end_next()
    return taken


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(ends=st.permutations(range(10)))
def test_without_an_order_results_come_as_their_items_end(ends: list[int]) -> None:
    steps = Steps(ends)
    results = inorder.imap(steps.run, range(10), workers=10, where="threads", order="none", errors="yield")
    with closing(results):
        assert take_all(results, steps, 1) == ends


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(ends=st.permutations(range(10)), keys=st.lists(st.integers(0, 3), min_size=10, max_size=10))
def test_results_of_one_key_come_in_input_order_and_wait_for_none_of_another(ends: list[int], keys: list[int]) -> None:
    steps = Steps(ends)
    results = inorder.imap(
        steps.run, range(10), workers=10, where="threads", order="key", key=keys.__getitem__, errors="yield"
    )
    left = {key: [item for item in range(10) if keys[item] == key] for key in keys}
    ended: set[int] = set()
    expected: list[int] = []
    with closing(results):
        for item in ends:  # what must be there once this item has ended
            ended.add(item)
            queue = left[keys[item]]
            before = len(expected)
            while queue and queue[0] in ended:
                expected.append(queue.pop(0))
            steps.end_next()
            assert [_item_of(next(results)) for _ in expected[before:]] == expected[before:]
        assert list(results) == []


def _item_of(result: Any) -> Any:
    return result.item if isinstance(result, inorder.ItemError) else result


def misbehave(item: int) -> int:
    """Crash, raise, or return the item."""
    if item % 50 == 17:
        os._exit(3)
    if item % 50 == 31:
        raise ValueError(item)
    return item


@pytest.mark.process
@pytest.mark.parametrize("order", ["none", "key"])
def test_items_that_crash_or_raise_fail_alone_and_nothing_is_lost_or_repeated(order: Any) -> None:
    key = (lambda item: item % 7) if order == "key" else None
    results = list(inorder.imap(misbehave, range(200), workers=2, order=order, key=key, errors="yield"))
    failed = sorted(result.item for result in results if isinstance(result, inorder.ItemError))
    assert failed == [item for item in range(200) if item % 50 in (17, 31)]
    found = [_item_of(result) for result in results]
    assert sorted(found) == list(range(200))
    if order == "key":
        by_key = defaultdict(list)
        for item in found:
            by_key[item % 7].append(item)
        assert all(items == sorted(items) for items in by_key.values())


@pytest.mark.process
@pytest.mark.parametrize("order", ["none", "key"])
def test_the_iteration_can_be_left_early(order: Any) -> None:
    key = str if order == "key" else None
    with inorder.imap(abs, itertools.count(), workers=2, order=order, key=key) as results:
        assert len(list(itertools.islice(results, 100))) == 100


@pytest.mark.parametrize("order", ["none", "key"])
def test_results_that_were_taken_leave_the_byte_budget_behind_a_slow_first_item(
    order: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise the run would pause when the results behind the first item have filled the budget."""
    monkeypatch.setattr(threads, "BatchSizer", partial(FixedSizer, 1))
    first = threading.Event()

    def function(item: int) -> bytes:
        if item == 0:
            assert first.wait(GUARD_S)
        return bytes([item]) * 10_000

    options = inorder.RunOptions(buffered_bytes_max=50_000)
    results = inorder.imap(
        function,
        range(100),
        workers=2,
        where="threads",
        order=order,
        key=(lambda item: item) if order == "key" else None,
        options=options,
    )
    with closing(results):
        taken = [result[0] for result in itertools.islice(results, 99)]
        assert sorted(taken) == list(range(1, 100))
        first.set()
        assert [result[0] for result in results] == [0]


def test_results_that_nobody_takes_stay_within_the_byte_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "BatchSizer", partial(FixedSizer, 1))
    ended: list[int] = []

    def function(item: int) -> bytes:
        ended.append(item)
        return bytes(10_000)

    options = inorder.RunOptions(buffered_bytes_max=50_000)
    with inorder.imap(function, range(1000), workers=2, where="threads", order="none", options=options) as results:
        for count in range(1, 100):
            next(results)
            assert len(ended) <= count + 8


def test_a_key_that_cannot_be_hashed_is_one_line() -> None:
    with pytest.raises(inorder.OperatorError) as caught:
        list(inorder.imap(str, range(3), where="inline", order="key", key=lambda item: [item]))
    assert str(caught.value) == (
        "key returned [0] for the item 0, which cannot be hashed; return text, a number or a tuple of these"
    )


def test_an_exception_of_key_names_its_item_and_comes_after_the_results_before_it() -> None:
    results = inorder.imap(str, [1, 2, "x", 3], where="inline", order="key", key=lambda item: 1 / item)
    assert [next(results), next(results)] == ["1", "2"]
    with pytest.raises(TypeError, match="unsupported operand") as caught:
        next(results)
    assert caught.value.__notes__ == ["key raised this for the item 'x'"]


def test_the_key_of_an_item_is_asked_for_once() -> None:
    asked: list[int] = []

    def key(item: int) -> int:
        asked.append(item)
        return len(asked)

    assert sorted(inorder.imap(abs, range(20), where="inline", order="key", key=key)) == list(range(20))
    assert asked == list(range(20))


@pytest.mark.parametrize("order", ["none", "key"])
def test_the_first_failure_that_comes_ends_the_iteration(order: Any) -> None:
    key = abs if order == "key" else None
    results: Any = inorder.imap(lambda item: 1 // (item - 3), range(5), where="inline", order=order, key=key)
    with pytest.raises(inorder.ItemError, match="item 3 failed"):
        list(results)
    assert list(results) == []


@pytest.mark.parametrize("order", ["none", "key"])
def test_an_input_that_raises_raises(order: Any) -> None:
    def items() -> Iterator[int]:
        yield 1
        raise LookupError("the input is gone")

    key = abs if order == "key" else None
    with pytest.raises(LookupError, match="the input is gone"):
        list(inorder.imap(abs, items(), where="threads", order=order, key=key))
