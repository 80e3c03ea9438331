"""`async for` over `imap`, with functions and coroutine functions, and inputs of both kinds."""

import asyncio
import itertools
import os
import threading
from collections.abc import AsyncIterator, Coroutine
from typing import Any

import pytest

import inorder
from tests.support.gates import GUARD_S

pytestmark = [pytest.mark.usefixtures("no_leaks"), pytest.mark.req("API-1")]


def run(main: Coroutine[Any, Any, Any]) -> Any:
    """Run a coroutine to its end, in a bounded time."""
    return asyncio.run(asyncio.wait_for(main, GUARD_S))


async def collect(*arguments: Any, **options: Any) -> list[Any]:
    return [result async for result in inorder.imap(*arguments, **options)]


async def count_to(end: int) -> AsyncIterator[int]:
    for number in range(end):
        await asyncio.sleep(0)
        yield number


async def double(number: int) -> int:
    for _ in range(number % 3):
        await asyncio.sleep(0)
    return 2 * number


def triple(number: int) -> int:
    return 3 * number


@pytest.mark.process
@pytest.mark.parametrize("order", ["input", "none", "key"])
@pytest.mark.parametrize("is_async_input", [False, True])
@pytest.mark.parametrize("where", [None, "threads", "processes", "coroutines"])
def test_every_kind_of_function_and_input_gives_every_result_once(order: Any, is_async_input: bool, where: Any) -> None:
    function: Any = double if where == "coroutines" else triple
    factor = 2 if where == "coroutines" else 3
    options: dict[str, Any] = {} if where in (None, "coroutines") else {"where": where}
    key = (lambda number: number % 4) if order == "key" else None
    items: Any = count_to(300) if is_async_input else range(300)
    found = run(collect(function, items, workers=3, order=order, key=key, **options))
    assert sorted(found) == [factor * number for number in range(300)]
    if order == "input":
        assert found == sorted(found)


def test_so_many_coroutines_run_at_once_and_no_more() -> None:
    running: set[int] = set()
    most: list[int] = []

    async def function(number: int) -> None:
        running.add(number)
        most.append(len(running))
        for _ in range(5):
            await asyncio.sleep(0)
        running.discard(number)

    run(collect(function, range(200), workers=7))
    assert max(most) == 7
    assert len(most) == 200


def test_a_coroutine_is_cancelled_at_its_time_limit_and_the_others_go_on() -> None:
    cancelled: list[int] = []

    async def function(number: int) -> int:
        if number == 3:
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                cancelled.append(number)
                raise
        return number

    found = run(collect(function, range(10), timeout_s=0.05, errors="yield"))
    error = found.pop(3)
    assert found == [number for number in range(10) if number != 3]
    assert (str(error.category), error.message) == ("timeout", "exceeded its time limit of 50 ms")
    assert cancelled == [3]


def test_a_coroutine_that_does_not_end_when_it_is_cancelled_fails_and_is_named() -> None:
    async def main() -> list[Any]:
        ended = asyncio.Event()

        async def stubborn(number: int) -> int:
            while number == 1 and not ended.is_set():
                try:
                    await ended.wait()
                except asyncio.CancelledError:
                    continue
            return number

        options = inorder.RunOptions(cancel_grace_s=0.05)
        found = [
            each async for each in inorder.imap(stubborn, range(3), timeout_s=0.05, errors="yield", options=options)
        ]
        ended.set()
        return found

    with pytest.warns(RuntimeWarning, match=r"still running.*seq 1 \(1\)"):
        found = run(main())
    assert (found[0], str(found[1].category), found[2]) == (0, "timeout", 2)


def test_a_coroutine_that_fails_for_a_moment_is_tried_again() -> None:
    tried: list[int] = []

    async def function(number: int) -> int:
        tried.append(number)
        if tried.count(number) == 1:
            raise ConnectionError("reset")
        return number

    options = inorder.RunOptions(retry_backoff_s=0)
    assert run(collect(function, range(5), retries=1, options=options)) == list(range(5))
    assert sorted(tried) == sorted([*range(5), *range(5)])


def test_a_consumer_that_is_cancelled_leaves_no_coroutine_behind() -> None:
    state: list[str] = []

    async def function(number: int) -> None:
        state.append("began")
        try:
            await asyncio.Event().wait()
        finally:
            state.append("ended")

    async def main() -> None:
        before = asyncio.all_tasks()
        consumer = asyncio.create_task(collect(function, itertools.count(), workers=4))
        while state.count("began") < 4:
            await asyncio.sleep(0)
        consumer.cancel()
        with pytest.raises(asyncio.CancelledError):
            await consumer
        assert sorted(state) == ["began"] * 4 + ["ended"] * 4
        assert asyncio.all_tasks() == before

    run(main())


@pytest.mark.process
@pytest.mark.parametrize("where", ["threads", "processes"])
def test_a_consumer_that_is_cancelled_while_it_waits_for_workers_ends_them(where: Any) -> None:
    began, hold = threading.Event(), threading.Event()

    def wait(number: int) -> None:
        began.set()
        hold.wait(GUARD_S)

    async def main() -> None:
        function: Any = _wait_for_ever if where == "processes" else wait
        options = inorder.RunOptions(cancel_grace_s=0)
        results = inorder.imap(function, range(4), workers=2, where=where, options=options)
        consumer = asyncio.create_task(anext(results))
        await asyncio.sleep(0)
        if where == "threads":
            await asyncio.to_thread(began.wait, GUARD_S)
        consumer.cancel()
        with pytest.raises(asyncio.CancelledError):
            await consumer
        assert [each async for each in results] == []
        hold.set()

    if where == "threads":
        with pytest.warns(RuntimeWarning, match="still running in threads"):
            run(main())
    else:
        run(main())


def _wait_for_ever(number: int) -> None:
    threading.Event().wait()


def test_leaving_the_iteration_closes_an_asynchronous_input() -> None:
    closed: list[bool] = []

    async def endless() -> AsyncIterator[int]:
        try:
            for number in itertools.count():
                yield number
                await asyncio.sleep(0)
        finally:
            closed.append(True)

    async def main() -> None:
        async with inorder.imap(double, endless(), workers=2) as results:
            async for result in results:
                if result == 20:
                    break

    run(main())
    assert closed == [True]


def test_an_endless_asynchronous_input_is_read_no_further_than_needed() -> None:
    read: list[int] = []

    async def endless() -> AsyncIterator[int]:
        for number in itertools.count():
            read.append(number)
            yield number

    async def main() -> None:
        async with inorder.imap(double, endless(), workers=2) as results:
            assert await anext(results) == 0
            assert len(read) <= 200

    run(main())


@pytest.mark.parametrize("where", ["threads", None])
def test_an_asynchronous_input_that_raises_raises(where: Any) -> None:
    async def items() -> AsyncIterator[int]:
        yield 1
        raise LookupError("the input is gone")

    options: dict[str, Any] = {} if where is None else {"where": where}
    with pytest.raises(LookupError, match="the input is gone"):
        run(collect(double if where is None else triple, items(), **options))


def test_a_slow_input_holds_no_result_back() -> None:
    async def main() -> None:
        more = asyncio.Event()

        async def items() -> AsyncIterator[int]:
            yield 1
            await more.wait()
            yield 2

        async with inorder.imap(triple, items(), workers=1, where="threads") as results:
            assert await anext(results) == 3
            more.set()
            assert await anext(results) == 6

    run(main())


@pytest.mark.parametrize("makes_async_input", [False, True])
def test_what_only_a_loop_can_run_is_refused_by_for(makes_async_input: bool) -> None:
    results: Any = inorder.imap(abs, count_to(3)) if makes_async_input else inorder.imap(double, range(3))
    with pytest.raises(inorder.OperatorError, match="need `async for`"):
        list(results)


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"where": "threads"}, "a coroutine function runs on the caller's event loop; leave out where='threads'"),
        ({"workers": 0}, "workers must be between 1 and 65536, got 0"),
        ({"timeout_s": -1}, "timeout_s must be greater than 0, got -1"),
    ],
    ids=str,
)
def test_options_that_do_not_fit_coroutines_are_refused(options: dict[str, Any], complaint: str) -> None:
    with pytest.raises(inorder.OperatorError) as caught:
        inorder.imap(double, range(3), **options)
    assert str(caught.value) == complaint


@pytest.mark.filterwarnings("ignore:.*was never awaited:RuntimeWarning")
@pytest.mark.parametrize("is_closed", [True, False], ids=["closed", "idle"])
@pytest.mark.parametrize("is_async", [True, False], ids=["asynchronous input", "input"])
@pytest.mark.parametrize(("function", "where"), [(double, None), (triple, "threads")], ids=["coroutines", "threads"])
def test_an_iteration_on_another_loop_than_its_own_ends_with_one_line(
    function: Any, where: Any, is_async: bool, is_closed: bool
) -> None:
    items: Any = count_to(10_000) if is_async else range(10_000)
    results = inorder.imap(function, items, workers=2, where=where)
    first = asyncio.new_event_loop()
    assert first.run_until_complete(take(results)) == 0
    if is_closed:
        first.close()
    state = "which is closed" if is_closed else "and goes on there"
    with pytest.raises(
        inorder.OperatorError, match=f"began on another event loop, {state}; begin a new iteration here"
    ):
        run(take(results))
    with pytest.raises(StopAsyncIteration):
        run(take(results))
    if not is_closed:
        first.run_until_complete(asyncio.sleep(0))
        first.close()


async def take(results: Any) -> Any:
    return await anext(results)


@pytest.mark.process
def test_an_item_that_crashes_fails_alone_under_async_for() -> None:
    found = run(collect(_crash_at_five, range(20), workers=2, errors="yield"))
    assert [number for number, result in enumerate(found) if isinstance(result, inorder.ItemError)] == [5]


def _crash_at_five(number: int) -> int:
    if number == 5:
        os._exit(1)
    return number
