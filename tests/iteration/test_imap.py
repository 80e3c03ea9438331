"""`imap` as its users see it: results in the order of the items, errors where they belong, and workers that stop."""

import gc
import itertools
import pickle
import threading
import weakref
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from types import GeneratorType
from typing import Any

import pytest

import inorder
from inorder import Category, ItemError, iteration
from inorder.sim.clock import VirtualClock
from tests.support.gates import GUARD_S, Gate, alive, wait_for_end

pytestmark = pytest.mark.usefixtures("no_leaks")

both_places = pytest.mark.parametrize("where", ["threads", "inline"])


@pytest.fixture
def gate() -> Iterator[Gate]:
    with Gate() as gate:
        yield gate


def reject(*bad: int, error: Callable[[str], BaseException] = ValueError) -> Callable[[int], int]:
    """A function that fails for these items."""

    def function(item: int) -> int:
        if item in bad:
            raise error(f"bad {item}")
        return item * 10

    return function


@both_places
def test_results_come_in_the_order_of_the_items(where: Any) -> None:
    assert list(inorder.imap(str, range(2000), where=where)) == [str(n) for n in range(2000)]


@pytest.mark.req("CMP-1")
def test_results_keep_their_order_when_the_work_finishes_backwards() -> None:
    finished = [threading.Event() for _ in range(5)]
    finished[4].set()
    order = []

    def function(item: int) -> int:
        assert finished[item + 1].wait(GUARD_S)
        order.append(item)
        finished[item].set()
        return item

    assert list(inorder.imap(function, range(4), workers=4, where="threads")) == [0, 1, 2, 3]
    assert order == [3, 2, 1, 0]


@both_places
def test_no_items_give_no_results(where: Any) -> None:
    assert list(inorder.imap(str, [], where=where)) == []


@pytest.mark.req("WIN-7")
@pytest.mark.parametrize("schedule", ["fifo", "sjf"])
@both_places
def test_an_endless_input_is_consumed_lazily(where: Any, schedule: Any) -> None:
    with closing(
        inorder.imap(str, itertools.count(), where=where, options=inorder.RunOptions(schedule=schedule))
    ) as results:
        assert list(itertools.islice(results, 100)) == [str(n) for n in range(100)]


@both_places
def test_nothing_is_taken_from_the_input_before_the_first_result_is_asked_for(where: Any) -> None:
    taken: list[int] = []
    with closing(inorder.imap(str, (taken.append(n) for n in range(9)), where=where)):
        assert taken == []


@both_places
def test_the_position_is_the_seq_of_the_next_result(where: Any) -> None:
    results: Any = inorder.imap(str, range(3), where=where)
    assert results.position == 0
    assert [results.position for _ in results] == [1, 2, 3]
    assert results.position == 3


# Errors


@both_places
def test_a_failed_item_ends_the_iteration_where_it_stands(where: Any) -> None:
    results: Any = inorder.imap(reject(3, 7), range(10), where=where, workers=1)
    with pytest.raises(ItemError) as caught:
        list(results)
    error = caught.value
    assert results.position == 4
    assert (error.seq, error.item, error.attempts, error.category) == (3, 3, 1, Category.RUNTIME)
    assert isinstance(error.__cause__, ValueError)
    assert str(error) == "item 3 failed (runtime, attempt 1): ValueError: bad 3"
    with pytest.raises(StopIteration):
        next(results)


@both_places
def test_everything_before_a_failed_item_is_yielded_first(where: Any) -> None:
    results = inorder.imap(reject(5), range(10), where=where)
    assert list(itertools.islice(results, 5)) == [0, 10, 20, 30, 40]
    with pytest.raises(ItemError, match="item 5 failed"):
        next(results)


@pytest.mark.req("DEC-4")
@both_places
def test_errors_can_be_yielded_in_their_place_instead(where: Any) -> None:
    results = list(inorder.imap(reject(1, 3), range(5), where=where, errors="yield"))
    assert [type(result) for result in results] == [int, ItemError, int, ItemError, int]
    assert [(error.seq, error.item, str(error.__cause__)) for error in results if isinstance(error, ItemError)] == [
        (1, 1, "bad 1"),
        (3, 3, "bad 3"),
    ]


def test_an_item_error_can_be_sent_to_another_process() -> None:
    [error] = inorder.imap(reject(7), [7], errors="yield", where="inline")
    copy = pickle.loads(pickle.dumps(error))
    assert (copy.seq, copy.item, copy.category, copy.attempts, str(copy)) == (0, 7, Category.RUNTIME, 1, str(error))


@both_places
@pytest.mark.parametrize("error", [StopIteration, GeneratorExit, SystemExit, RuntimeError])
def test_no_exception_of_the_function_passes_for_the_end_of_the_iteration(where: Any, error: Any) -> None:
    results = list(inorder.imap(reject(1, error=error), range(3), where=where, errors="yield"))
    assert len(results) == 3
    assert isinstance(results[1], ItemError)
    assert isinstance(results[1].__cause__, error)


@both_places
def test_a_stop_iteration_in_the_function_is_raised_as_an_item_error(where: Any) -> None:
    with pytest.raises(ItemError, match="item 1 failed"):
        list(inorder.imap(reject(1, error=StopIteration), range(3), where=where))


def test_an_interrupt_inside_an_inline_function_comes_through_and_ends_the_iteration() -> None:
    results: Any = inorder.imap(reject(1, error=KeyboardInterrupt), range(3), where="inline")
    with pytest.raises(KeyboardInterrupt):
        list(results)
    with pytest.raises(StopIteration):
        next(results)


class InputGone(Exception):
    """Something that only the input raises."""


@pytest.mark.parametrize("schedule", ["fifo", "sjf"])
@both_places
def test_an_error_of_the_input_comes_through_and_stops_the_workers(where: Any, schedule: Any) -> None:
    def items() -> Iterator[int]:
        yield from range(3)
        raise InputGone

    before = alive()
    results = inorder.imap(str, items(), where=where, options=inorder.RunOptions(schedule=schedule))
    with pytest.raises(InputGone):
        list(results)
    assert wait_for_end(alive() - before)
    with pytest.raises(StopIteration):
        next(results)


# Retries


@pytest.mark.req("RTY-2", "RTY-1")
@both_places
def test_trouble_that_may_pass_is_tried_again(where: Any) -> None:
    calls: Counter[int] = Counter()

    def function(item: int) -> int:
        calls[item] += 1
        if item == 1 and calls[item] < 3:
            raise ConnectionError("reset")
        return item

    assert list(inorder.imap(function, range(3), where=where, retries=2)) == [0, 1, 2]
    assert calls == {0: 1, 1: 3, 2: 1}


@pytest.mark.req("RTY-2")
@both_places
def test_an_item_that_fails_once_more_than_its_retries_is_given_up(where: Any) -> None:
    calls: Counter[int] = Counter()

    def function(item: int) -> int:
        calls[item] += 1
        raise ConnectionError("reset")

    [error] = inorder.imap(function, ["only"], where=where, retries=1, errors="yield")
    assert isinstance(error, ItemError)
    assert (error.attempts, error.category, error.retryable) == (2, Category.PROVIDER, True)
    assert calls == {"only": 2}


@pytest.mark.req("RTY-1")
@both_places
def test_no_retry_is_spent_on_what_will_fail_again(where: Any) -> None:
    calls: Counter[int] = Counter()

    def function(item: int) -> int:
        calls[item] += 1
        raise ValueError("bad")

    [error] = inorder.imap(function, ["only"], where=where, retries=5, errors="yield")
    assert isinstance(error, ItemError)
    assert (error.attempts, error.category, error.retryable) == (1, Category.RUNTIME, False)
    assert calls == {"only": 1}


# The end of an iteration


class Crew:
    """An endless iteration on two threads: its first result is taken, and somebody is held at the gate with another."""

    def __init__(self, gate: Gate) -> None:
        self._gate = gate
        self._before = alive()
        self.started: list[int] = []

    def results(self) -> Any:
        results: Any = inorder.imap(
            self._work, itertools.count(), workers=2, where="threads", options=inorder.RunOptions(cancel_grace_s=0)
        )
        assert next(results) == 0
        assert self.threads
        return results

    @property
    def threads(self) -> set[threading.Thread]:
        return alive() - self._before

    def goes_home(self) -> bool:
        """Whether everybody ends, once let go, and starts nothing else."""
        threads = self.threads
        self._gate.open()
        return wait_for_end(threads) and set(self.started) <= {0, 1, 2}

    def _work(self, item: int) -> int:
        self.started.append(item)
        if item == 0:
            self._gate.await_arrivals()
        else:
            self._gate.hold()
        return item


@pytest.fixture
def crew(gate: Gate) -> Crew:
    return Crew(gate)


def test_an_exhausted_iteration_has_stopped_its_workers() -> None:
    before = alive()
    list(inorder.imap(str, range(3), workers=2, where="threads"))
    assert wait_for_end(alive() - before)


def test_closing_stops_the_workers_and_twice_is_once(crew: Crew) -> None:
    results = crew.results()
    with pytest.warns(RuntimeWarning, match=r"still running in threads, which cannot be killed: seq [12] \(") as warned:
        results.close()
    assert warned[0].filename == __file__
    results.close()
    assert crew.goes_home()
    assert list(results) == []


@pytest.mark.req("CAN-4")
def test_closing_waits_for_the_items_that_threads_run(gate: Gate) -> None:
    ended = []

    def work(item: int) -> int:
        if item:
            gate.hold()
            ended.append(item)
        return item

    with inorder.imap(work, range(2), workers=2, where="threads") as results:
        assert next(results) == 0
        gate.await_arrivals()
        gate.open()
    assert ended == [1]


@pytest.mark.filterwarnings("ignore:still running")
def test_leaving_the_loop_stops_the_workers(crew: Crew) -> None:
    def leave_early() -> None:
        for _ in itertools.chain([0], crew.results()):
            break

    leave_early()
    gc.collect()
    assert crew.goes_home()


@pytest.mark.filterwarnings("ignore:still running")
def test_an_exception_in_the_loop_stops_the_workers(crew: Crew) -> None:
    def stumble() -> None:
        results = crew.results()
        raise LookupError(f"the consumer stumbled after {results.position}")

    with pytest.raises(LookupError, match="stumbled after 1"):
        stumble()
    gc.collect()
    assert crew.goes_home()


@pytest.mark.filterwarnings("ignore:still running")
def test_an_iteration_that_nobody_wants_is_collected_and_stops_its_workers(crew: Crew) -> None:
    watched = weakref.ref(crew.results())
    gc.collect()
    assert watched() is None
    assert crew.goes_home()


@both_places
def test_a_failed_item_stops_the_workers(where: Any) -> None:
    before = alive()
    results = inorder.imap(reject(2), itertools.count(), where=where)
    with pytest.raises(ItemError):
        list(results)
    assert wait_for_end(alive() - before)


# What functions return


@both_places
def test_a_function_may_return_nothing(where: Any) -> None:
    assert list(inorder.imap(lambda item: None, range(5), where=where)) == [None] * 5


@both_places
def test_a_function_may_return_a_generator_which_nobody_touches(where: Any) -> None:
    def function(item: int) -> Iterator[int]:
        yield item

    results = list(inorder.imap(function, range(3), where=where))
    assert all(isinstance(result, GeneratorType) for result in results)
    assert [list(result) for result in results] == [[0], [1], [2]]


@both_places
def test_a_function_may_return_an_exception_which_is_a_result_like_any_other(where: Any) -> None:
    assert [str(result) for result in inorder.imap(ValueError, range(3), where=where)] == ["0", "1", "2"]


@pytest.mark.slow
@pytest.mark.req("CMP-2")
@pytest.mark.usefixtures("young_garbage")
def test_a_result_is_let_go_once_the_consumer_has_come_back_for_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    payloads: weakref.WeakSet[Any] = weakref.WeakSet()

    class Payload:
        def __init__(self, item: int) -> None:
            self.item = item
            self.body = bytes(2**20)
            payloads.add(self)

    monkeypatch.setattr(iteration, "SystemClock", VirtualClock)  # work ahead is done only when nothing is at hand
    results: Any = inorder.imap(
        Payload, range(30), where="inline", options=inorder.RunOptions(buffered_bytes_max=4 * 2**20)
    )
    for number, result in enumerate(results):
        assert result.item == number
        del result
        gc.collect()
        assert len(payloads) <= 8
    del results
    gc.collect()
    assert len(payloads) == 0


@both_places
def test_the_very_objects_come_back_however_large(where: Any) -> None:
    large = [bytes(8 * 2**20) for _ in range(4)]
    results = list(inorder.imap(lambda item: item, large, where=where, workers=1))
    assert all(result is item for result, item in zip(results, large, strict=True))
