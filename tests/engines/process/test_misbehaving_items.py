"""One item of thirty misbehaves in its worker process: it alone fails, named with the reason, and the rest arrive."""

import itertools
import multiprocessing
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from inorder import RunOptions, imap
from inorder.engines.process import engine as process_engine
from inorder.engines.process import worker_process
from inorder.errors import Category, InfrastructureError, ItemError, OperatorError
from tests.support.misbehaviour import (
    MEMORY_BYTES,
    Endings,
    Mischief,
    Tensor,
    Unreadable,
    Unsendable,
    ended_at_last,
    is_running,
    serve,
    serve_slowly,
    the_one_failure_in,
    whoami_slowly,
    word_at,
)

pytestmark = [pytest.mark.usefixtures("no_leaks"), pytest.mark.process]

COUNT = 30
GUILTY = 11
LIMIT_S = 4.0


def results_with(item: Any, function: Callable[[Any], Any] = serve, **options: Any) -> list[Any]:
    items = [item if seq == GUILTY else seq for seq in range(COUNT)]
    settings: dict[str, Any] = {"where": "processes", "workers": 2, "errors": "yield", **options}
    return list(imap(function, items, **settings))


def the_rest_of(results: list[Any]) -> list[Any]:
    return results[:GUILTY] + results[GUILTY + 1 :]


EXPECTED_REST = [seq * 2 for seq in range(COUNT) if seq != GUILTY]


def the_one_failure(item: Any, function: Callable[[Any], Any] = serve, **options: Any) -> ItemError:
    results = results_with(item, function, **options)
    assert len(results) == COUNT
    return the_one_failure_in(results, GUILTY, item)


@pytest.mark.req("RTY-3")
@pytest.mark.parametrize(
    ("name", "ending"),
    [("kill", "was killed by SIGKILL"), ("segfault", "was killed by SIGSEGV"), ("exit", "exited with status 3")],
)
def test_an_item_that_ends_its_process_twice_fails_with_the_ending_named(name: str, ending: str) -> None:
    error = the_one_failure(Mischief(name), retries=3)
    assert (error.category, error.attempts) == (Category.RUNTIME, 2)
    where = "its worker died twice while running it, the second time in isolation"
    assert error.message == f"{where}: the process {ending}"


@pytest.mark.req("RTY-3")
def test_many_items_that_end_their_process_do_not_end_the_run() -> None:
    items = [Mischief("exit") if seq % 4 == 3 else seq for seq in range(16)]
    results = list(imap(serve, items, workers=2, errors="yield"))
    failed = [seq for seq, result in enumerate(results) if isinstance(result, ItemError)]
    assert failed == [3, 7, 11, 15]
    assert [result for seq, result in enumerate(results) if seq not in failed] == [
        seq * 2 for seq in range(16) if seq not in failed
    ]


@pytest.mark.req("RTY-3", "LED-7")
def test_the_death_of_its_worker_spends_none_of_the_retries_of_an_item(tmp_path: Path) -> None:
    results = results_with(Mischief("die once, then stumble once", str(tmp_path / "been")), retries=1)
    assert results[GUILTY] == "at last"
    assert the_rest_of(results) == EXPECTED_REST


@pytest.mark.req("RTY-4")
@pytest.mark.parametrize("name", ["hang", "hang in C", "hang and ignore SIGTERM"])
def test_an_item_that_hangs_is_timed_out_once_and_its_process_killed(name: str, tmp_path: Path) -> None:
    pid_file = str(tmp_path / "pid")
    error = the_one_failure(Mischief(name, pid_file), timeout_s=LIMIT_S, retries=3)
    assert (error.category, error.attempts, error.retryable) == (Category.TIMEOUT, 1, False)
    assert "4000 ms" in error.message
    assert not is_running(word_at(pid_file))


def test_an_exception_that_cannot_be_sent_still_says_what_it_was() -> None:
    error = the_one_failure(Mischief("raise sealed"))
    assert (error.category, error.message) == (Category.UNKNOWN, "Sealed: sealed")
    assert error.__cause__ is None


def test_an_exception_that_names_an_undecodable_file_name_still_says_what_it_was() -> None:
    error = the_one_failure(Mischief("raise undecodable"))
    assert (error.category, error.attempts) == (Category.RUNTIME, 1)
    assert "ValueError: no such thing: caf" in error.message


def test_a_result_that_cannot_be_pickled_fails_its_item() -> None:
    error = the_one_failure(Mischief("return unsendable"))
    assert error.category is Category.RUNTIME
    assert error.message == "the result cannot be pickled: TypeError: cannot be taken apart"


def test_a_result_that_cannot_be_unpickled_fails_its_item() -> None:
    error = the_one_failure(Mischief("return unreadable"))
    assert error.category is Category.RUNTIME
    assert error.message == "the result cannot be unpickled: ValueError: cannot be put together"


def test_a_result_whose_unpickling_raises_an_os_error_fails_its_item(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker_process, "_JOIN_S", 0.5)
    error = the_one_failure(Mischief("return unreadable, as of the disk"))
    assert error.message == "the result cannot be unpickled: OSError: cannot be put together"


def test_an_item_that_cannot_be_pickled_fails_without_being_sent() -> None:
    error = the_one_failure(Unsendable(), retries=3)
    assert (error.category, error.attempts) == (Category.INPUT, 1)
    assert error.message == "the item cannot be pickled: TypeError: cannot be taken apart"


def test_an_item_that_cannot_be_unpickled_fails_in_the_worker() -> None:
    error = the_one_failure(Unreadable(), retries=3)
    assert (error.category, error.attempts) == (Category.INPUT, 1)
    assert error.message == "the worker cannot unpickle the item: ValueError: cannot be put together"


@pytest.mark.parametrize("name", ["close stream", "close descriptor and linger"])
def test_an_item_that_closes_the_standard_output_is_named_and_the_damage_repaired(name: str) -> None:
    error = the_one_failure(Mischief(name), serve_slowly, workers=1)
    assert (error.category, error.message) == (Category.RUNTIME, "closed stdout")


def test_a_quick_item_that_closes_the_descriptor_of_the_standard_output_is_named_itself() -> None:
    error = the_one_failure(Mischief("close descriptor"), serve_slowly, workers=1)
    assert (error.category, error.message) == (Category.RUNTIME, "closed stdout")


def test_an_item_may_put_its_own_stream_in_the_place_of_the_standard_output() -> None:
    results = results_with(Mischief("replace stream"), workers=1)
    assert results[GUILTY] is None
    assert the_rest_of(results) == EXPECTED_REST


def test_an_item_that_leaves_a_process_behind_is_named_and_the_process_ended(tmp_path: Path) -> None:
    pid_file = str(tmp_path / "pid")
    with ended_at_last(pid_file):
        error = the_one_failure(Mischief("leave child", pid_file), serve_slowly, workers=1)
        assert (error.category, error.message) == (Category.RUNTIME, "left 1 child process behind")
        assert not is_running(word_at(pid_file))


def test_an_item_that_leaves_descendants_behind_is_named_alone(tmp_path: Path) -> None:
    pid_file = str(tmp_path / "pid")
    with ended_at_last(pid_file):
        error = the_one_failure(Mischief("leave family", pid_file), serve_slowly, workers=1)
        assert "behind" in error.message
        assert not is_running(word_at(pid_file))


def test_an_item_that_wants_more_memory_than_a_worker_may_have_fails_alone() -> None:
    error = the_one_failure(Mischief("want memory"), memory_bytes_max=MEMORY_BYTES)
    assert "MemoryError" in error.message


def test_workers_are_replaced_after_so_many_items() -> None:
    pids = list(imap(whoami_slowly, range(12), workers=1, options=RunOptions(recycle_tasks=4)))
    assert all(pids.count(pid) <= 4 for pid in pids)


@pytest.mark.parametrize("option", ["memory_bytes_max", "recycle_tasks"])
def test_limits_of_processes_are_refused_where_there_are_none(option: str) -> None:
    with pytest.raises(OperatorError, match=f"{option} needs worker processes"):
        imap(serve, [1], where="threads", **{option: 1})


def test_a_result_of_fifty_megabytes_arrives_whole() -> None:
    results = results_with(Mischief("50 MB"))
    assert results[GUILTY] == b"\xab" * (50 * 2**20)
    assert the_rest_of(results) == EXPECTED_REST


@pytest.mark.req("CMP-6")
def test_a_large_array_arrives_as_a_view_of_shared_memory() -> None:
    results = results_with(Mischief("tensor"))
    tensor = results[GUILTY]
    assert isinstance(tensor, Tensor)
    assert tensor.shape == (8, 2**20)
    assert type(tensor.data.obj).__name__ == "mmap"
    assert tensor.data == b"\xcd" * (8 * 2**20)
    assert the_rest_of(results) == EXPECTED_REST


@pytest.mark.parametrize("kind", ["lambda", "local"])
def test_a_function_without_a_name_travels_by_value(kind: str) -> None:
    factor = 3

    def local(item: int) -> int:
        return item * factor

    function = local if kind == "local" else lambda item: item * factor
    assert list(imap(function, range(3), workers=2)) == [0, 3, 6]


def test_a_function_that_cannot_travel_is_refused_with_what_to_do() -> None:
    held = threading.Lock()
    with pytest.raises(OperatorError, match=r"<lambda> cannot be sent .*lock.*; open that in the function"):
        imap(lambda item: held, range(3), workers=2)


@pytest.fixture
def ghost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[int], int]:
    """A function of a module that is gone by the time a worker wants it."""
    (tmp_path / "module_of_a_ghost.py").write_text("def haunt(number):\n    return number\n")
    monkeypatch.syspath_prepend(tmp_path)
    module = __import__("module_of_a_ghost")
    (tmp_path / "module_of_a_ghost.py").unlink()
    for compiled in (tmp_path / "__pycache__").glob("*"):
        compiled.unlink()
    function: Callable[[int], int] = module.haunt
    return function


def test_a_function_whose_module_the_worker_cannot_import_ends_the_run_with_the_reason(
    ghost: Callable[[int], int],
) -> None:
    with pytest.raises(InfrastructureError, match="No module named 'module_of_a_ghost'"):
        list(imap(ghost, range(COUNT), workers=2, errors="yield"))


def test_workers_that_ended_before_the_first_item_came_are_no_fault_of_the_items(ghost: Callable[[int], int]) -> None:
    def late() -> Iterator[int]:
        assert Endings(child.pid or 0 for child in multiprocessing.active_children()).come()
        yield from range(COUNT)

    with pytest.raises(InfrastructureError, match="cannot start"):
        list(imap(ghost, late(), workers=2, errors="yield"))


def test_the_end_of_the_thread_that_began_the_iteration_ends_no_worker() -> None:
    iterations: list[Any] = []
    pids: list[Any] = []

    def begin() -> None:
        iterations.append(imap(whoami_slowly, range(300), workers=1))
        pids.append(next(iterations[0]))

    thread = threading.Thread(target=begin)
    thread.start()
    thread.join()
    pids += iterations[0]
    assert len(pids) == 300
    assert len(set(pids)) == 1


def test_where_the_second_worker_cannot_be_started_the_first_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[worker_process.WorkerProcess] = []

    calls = itertools.count()

    def scarce(*args: Any) -> worker_process.WorkerProcess:
        if next(calls):  # both workers ask at the same time
            raise OSError("no more processes")
        started.append(worker_process.WorkerProcess(*args))
        return started[0]

    monkeypatch.setattr(process_engine, "WorkerProcess", scarce)
    try:
        with pytest.raises(InfrastructureError, match="cannot start a worker process: no more processes"):
            list(imap(serve, range(3), workers=2))
        assert not started[0].is_alive()
    finally:
        started[0].close()
