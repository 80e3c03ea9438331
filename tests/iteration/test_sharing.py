"""An iteration and several threads, tasks and processes, and iterations in iterations."""

import asyncio
import os
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import inorder
from tests.support.gates import GUARD_S

pytestmark = [pytest.mark.usefixtures("no_leaks"), pytest.mark.req("API-1")]


def run(main: Any) -> Any:
    """Run a coroutine to its end, in a bounded time."""
    return asyncio.run(asyncio.wait_for(main, GUARD_S))


# ---- Iterations in iterations


def sum_up(count: int) -> int:
    """An item that iterates with the defaults itself."""
    return sum(inorder.imap(abs, range(count), workers=2))


def start_pool(_: int) -> list[int]:
    """An item that uses the pool of the standard library."""
    from multiprocessing import get_context

    with get_context("spawn").Pool(1) as pool:
        return pool.map(abs, [-1, -2])


@pytest.mark.process
def test_an_item_in_a_process_may_iterate_with_the_defaults() -> None:
    assert list(inorder.imap(sum_up, [3, 4, 300], workers=2)) == [3, 6, 44_850]


@pytest.mark.process
@pytest.mark.slow
def test_an_item_in_a_process_may_start_a_pool() -> None:
    assert list(inorder.imap(start_pool, [1, 2], workers=1)) == [[1, 2], [1, 2]]


def hold_open(path: str) -> None:
    """Hold a pipe open as long as this process lives."""
    with open(path, "w", encoding="ascii"):
        time.sleep(GUARD_S)


def iterate_over_one(path: str) -> None:
    next(inorder.imap(hold_open, [path], workers=1))


@pytest.mark.process
def test_an_iteration_in_an_item_ends_with_the_item(tmp_path: Path) -> None:
    path = str(tmp_path / "pipe")
    os.mkfifo(path)
    with ThreadPoolExecutor(1) as pool, inorder.imap(iterate_over_one, [path], workers=1) as results:
        waiting = pool.submit(list, results)
        with open(path, "rb") as pipe:  # waits for the inner item
            results.close()
            assert pipe.read() == b""  # waits for the end of its process
        assert waiting.result(GUARD_S) == []


@pytest.mark.parametrize("where", ["inline", "threads"])
def test_the_results_of_one_iteration_are_the_items_of_another(where: Any) -> None:
    inner = inorder.imap(abs, [-1, -2, -3], where=where)
    assert list(inorder.imap(str, inner, where=where)) == ["1", "2", "3"]


def test_with_async_for_the_items_may_be_the_results_of_coroutines() -> None:
    async def double(number: int) -> int:
        return 2 * number

    async def main() -> list[str]:
        inner = inorder.imap(double, range(3))
        return [each async for each in inorder.imap(str, inner, where="threads")]

    assert run(main()) == ["0", "2", "4"]


# ---- Threads and tasks


class Held:
    """Items that a test lets end."""

    def __init__(self) -> None:
        self.has_begun = threading.Event()
        self.may_end = threading.Event()

    def __call__(self, item: int) -> int:
        self.has_begun.set()
        assert self.may_end.wait(GUARD_S)
        return item


def test_a_second_thread_is_refused_and_disturbs_nothing() -> None:
    held = Held()
    with ThreadPoolExecutor(1) as pool:
        results = inorder.imap(held, range(3), workers=1, where="threads")
        first = pool.submit(next, results)
        assert held.has_begun.wait(GUARD_S)
        with pytest.raises(RuntimeError, match="another thread is taking a result of this iteration"):
            next(results)
        held.may_end.set()
        assert first.result(GUARD_S) == 0
        assert list(results) == [1, 2]


def test_a_thread_that_waits_sees_the_end_when_another_one_closes_the_iteration() -> None:
    held = Held()
    options = inorder.RunOptions(cancel_grace_s=0)
    with ThreadPoolExecutor(1) as pool:
        results = inorder.imap(held, range(3), workers=1, where="threads", options=options)
        waiting = pool.submit(list, results)
        assert held.has_begun.wait(GUARD_S)
        with pytest.warns(RuntimeWarning, match="still running in threads"):
            results.close()
        assert waiting.result(GUARD_S) == []
        held.may_end.set()


@pytest.mark.parametrize("is_coroutine", [True, False])
def test_a_second_task_is_refused_and_disturbs_nothing(is_coroutine: bool) -> None:
    async def main() -> None:
        held, may_end = Held(), asyncio.Event()

        async def wait(item: int) -> int:
            await may_end.wait()
            return item

        function: Any = wait if is_coroutine else held
        results = inorder.imap(function, range(3), workers=1, where=None if is_coroutine else "threads")
        first = asyncio.ensure_future(anext(results))
        await asyncio.sleep(0)
        with pytest.raises(RuntimeError, match="another task is waiting for the next result of this iteration"):
            await anext(results)
        may_end.set()
        held.may_end.set()
        assert await first == 0
        assert [each async for each in results] == [1, 2]

    run(main())


@pytest.mark.parametrize("is_coroutine", [True, False])
def test_a_task_that_waits_sees_the_end_when_another_one_closes_the_iteration(is_coroutine: bool) -> None:
    async def main() -> None:
        held = Held()

        async def wait(_: int) -> None:
            held.has_begun.set()
            await asyncio.Event().wait()

        options = inorder.RunOptions(cancel_grace_s=0)
        function: Any = wait if is_coroutine else held
        where: Any = None if is_coroutine else "threads"
        results = inorder.imap(function, range(3), workers=1, where=where, options=options)

        async def collect() -> list[Any]:
            return [each async for each in results]

        waiting = asyncio.ensure_future(collect())
        while not held.has_begun.is_set():
            await asyncio.sleep(0)
        await results.aclose()
        held.may_end.set()
        assert await waiting == []

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        run(main())


def test_an_iteration_that_was_left_open_on_a_closed_loop_is_one_line_at_once() -> None:
    async def wait(item: int) -> int:
        await asyncio.sleep(item)
        return item

    async def take(results: Any) -> int:
        return await anext(results)

    results = inorder.imap(wait, [0, *[GUARD_S] * 5])
    assert run(take(results)) == 0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(inorder.OperatorError, match="another event loop, which is closed; begin a new iteration"):
            run(take(results))


# ---- Forks


def fork(child: Callable[[], None]) -> bytes:
    """Run something in a fork of this process, which then ends; return the error that it has raised."""
    receive, send = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            child()
        except BaseException as error:
            os.write(send, f"{type(error).__name__}: {error}".encode())
        finally:
            os._exit(0)
    os.close(send)
    with open(receive, "rb") as file:
        said = file.read()
    os.waitpid(pid, 0)
    return said


@pytest.mark.process
@pytest.mark.parametrize("where", ["processes", "threads"])
def test_a_fork_can_close_what_it_inherits_and_the_parent_goes_on(where: Any, tmp_path: Path) -> None:
    journal = tmp_path / "journal"
    options = inorder.RunOptions(infrastructure_budget=0)
    with inorder.imap(abs, range(3000), workers=2, where=where, journal=journal, options=options) as results:
        assert next(results) == 0
        assert fork(results.close) == b""
        assert list(results) == list(range(1, 3000))
    with pytest.warns(RuntimeWarning, match="complete"):
        assert list(inorder.imap(abs, range(3000), where=where, journal=journal)) == []


@pytest.mark.process
def test_a_fork_cannot_take_results_of_its_parent() -> None:
    with inorder.imap(abs, range(3000), workers=2) as results:
        assert next(results) == 0
        said = fork(lambda: next(results))
        assert said == (b"OperatorError: an iteration cannot go on in a fork of its process; begin another one there")
        assert list(results) == list(range(1, 3000))


# ---- Inputs that raise


def count_then_raise(end: int) -> Iterator[int]:
    yield from range(end)
    raise LookupError("the input is gone")


@pytest.mark.process
@pytest.mark.parametrize("order", ["input", "none", "key"])
@pytest.mark.parametrize("where", ["processes", "threads", "inline"])
def test_everything_before_the_error_of_an_input_is_delivered(order: Any, where: Any) -> None:
    found: list[int] = []
    key = (lambda item: item % 3) if order == "key" else None
    with pytest.raises(LookupError, match="the input is gone"):
        found.extend(inorder.imap(abs, count_then_raise(500), where=where, order=order, key=key))
    assert sorted(found) == list(range(500))


def test_a_journal_is_not_complete_if_the_input_has_raised(tmp_path: Path) -> None:
    journal = tmp_path / "journal"
    found: list[int] = []
    with pytest.raises(LookupError):
        found.extend(inorder.imap(abs, count_then_raise(5), where="inline", journal=journal))
    assert found == [0, 1, 2, 3, 4]
    assert list(inorder.imap(abs, range(7), where="inline", journal=journal)) == [5, 6]
