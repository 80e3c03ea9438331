"""One item of thirty misbehaves on a node: it alone fails, named with the reason, and the rest arrive in order."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from inorder import RunOptions, imap
from inorder.errors import Category, ItemError
from tests.ray.machines import Machines
from tests.support.misbehaviour import (
    MEMORY_BYTES,
    Mischief,
    Unreadable,
    Unsendable,
    ended_at_last,
    is_running,
    serve,
    serve_slowly,
    the_one_failure_in,
    wait_until,
    word_at,
)

COUNT = 30
GUILTY = 11
LIMIT_S = 1.5
EXPECTED_REST = [seq * 2 for seq in range(COUNT) if seq != GUILTY]


def results_with(machines: Machines, item: Any, function: Callable[[Any], Any] = serve, **options: Any) -> list[Any]:
    items = [item if seq == GUILTY else seq for seq in range(COUNT)]
    settings: dict[str, Any] = {"where": "ray", "workers": 2, "errors": "yield", "ray": machines.options(), **options}
    return list(imap(function, items, **settings))


def the_rest_of(results: list[Any]) -> list[Any]:
    return results[:GUILTY] + results[GUILTY + 1 :]


def the_one_failure(machines: Machines, item: Any, function: Any = serve, **options: Any) -> ItemError:
    results = results_with(machines, item, function, **options)
    assert len(results) == COUNT
    return the_one_failure_in(results, GUILTY, item)


@pytest.mark.req("RTY-3")
@pytest.mark.parametrize(
    ("name", "ending"), [("kill", "SIGKILL"), ("segfault", "SIGSEGV"), ("exit", "exited with status 3")]
)
def test_an_item_that_ends_its_process_twice_fails_with_the_ending_named(
    machines: Machines, name: str, ending: str
) -> None:
    error = the_one_failure(machines, Mischief(name), retries=3)
    assert (error.category, error.attempts) == (Category.RUNTIME, 2)
    assert "the second time in isolation" in error.message
    assert ending in error.message


@pytest.mark.req("RTY-3")
def test_many_items_that_end_their_process_do_not_end_the_run(machines: Machines) -> None:
    items = [Mischief("exit") if seq % 4 == 3 else seq for seq in range(32)]
    results = list(
        imap(serve, items, workers=2, errors="yield", where="ray", options=RunOptions(ray=machines.options()))
    )
    failed = [seq for seq, result in enumerate(results) if isinstance(result, ItemError)]
    assert failed == list(range(3, 32, 4))


@pytest.mark.req("RTY-3", "LED-7")
def test_the_death_of_its_worker_spends_none_of_the_retries_of_an_item(machines: Machines, tmp_path: Path) -> None:
    results = results_with(machines, Mischief("die once, then stumble once", str(tmp_path / "been")), retries=1)
    assert results[GUILTY] == "at last"
    assert the_rest_of(results) == EXPECTED_REST


@pytest.mark.req("RTY-4")
@pytest.mark.parametrize("name", ["hang", "hang in C", "hang and ignore SIGTERM"])
def test_an_item_that_hangs_is_timed_out_once_and_its_process_killed(
    machines: Machines, name: str, tmp_path: Path
) -> None:
    pid_file = str(tmp_path / "pid")
    error = the_one_failure(machines, Mischief(name, pid_file), timeout_s=LIMIT_S, retries=3)
    assert (error.category, error.attempts, error.retryable) == (Category.TIMEOUT, 1, False)
    assert "1500 ms" in error.message
    assert wait_until(lambda: not is_running(word_at(pid_file))), "what hung goes on"


@pytest.mark.req("RTY-4")
def test_the_only_worker_is_replaced_when_its_item_hangs(machines: Machines, tmp_path: Path) -> None:
    error = the_one_failure(machines, Mischief("hang", str(tmp_path / "pid")), workers=1, timeout_s=LIMIT_S)
    assert error.category is Category.TIMEOUT


@pytest.mark.req("API-1")
@pytest.mark.parametrize("order", ["input", "none", "key"])
def test_in_every_order_each_result_comes_once_and_in_its_place(machines: Machines, order: Any, tmp_path: Path) -> None:
    items: list[Any] = list(range(COUNT))
    items[5], items[GUILTY] = Mischief("exit"), Mischief("hang", str(tmp_path / "pid"))
    items[17] = Mischief("die once, then stumble once", str(tmp_path / "been"))
    keys = {item: seq % 3 for seq, item in enumerate(items)}
    found = imap(
        serve,
        items,
        where="ray",
        workers=2,
        order=order,
        key=keys.__getitem__ if order == "key" else None,
        timeout_s=LIMIT_S,
        retries=1,
        errors="yield",
        options=RunOptions(ray=machines.options()),
    )
    seqs = []
    for result in found:
        seqs.append(result.seq if isinstance(result, ItemError) else 17 if result == "at last" else result // 2)
        assert isinstance(result, ItemError) == (seqs[-1] in (5, GUILTY))
    assert sorted(seqs) == list(range(COUNT))
    if order == "input":
        assert seqs == list(range(COUNT))
    elif order == "key":
        assert all([seq for seq in seqs if seq % 3 == key] == list(range(key, COUNT, 3)) for key in range(3))


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("raise sealed", "Sealed: sealed"),
        ("raise undecodable", "ValueError: no such thing: caf\\udce9.txt"),
        ("return unsendable", "the result cannot be pickled: TypeError: cannot be taken apart"),
        ("return unreadable", "the result cannot be unpickled: ValueError: cannot be put together"),
        ("return unreadable, as an exit", "the result cannot be unpickled: SystemExit: cannot be put together"),
    ],
)
def test_a_result_that_cannot_be_pickled_fails_its_item(machines: Machines, name: str, said: str) -> None:
    assert the_one_failure(machines, Mischief(name)).message == said


@pytest.mark.parametrize(
    ("item", "said"),
    [
        (Unsendable(), "the item cannot be pickled: TypeError: cannot be taken apart"),
        (Unreadable(), "the worker cannot unpickle the item: ValueError: cannot be put together"),
    ],
)
def test_an_item_that_cannot_be_pickled_fails_alone(machines: Machines, item: Any, said: str) -> None:
    error = the_one_failure(machines, item, retries=3)
    assert (error.category, error.attempts, error.message) == (Category.INPUT, 1, said)


@pytest.mark.parametrize("name", ["close stream", "close descriptor"])
def test_an_item_that_closes_the_standard_output_is_named_and_the_damage_repaired(
    machines: Machines, name: str
) -> None:
    error = the_one_failure(machines, Mischief(name), serve_slowly, workers=1)
    assert (error.category, error.message) == (Category.RUNTIME, "closed stdout")


def test_an_item_that_leaves_a_process_behind_is_named_and_the_process_ended(
    machines: Machines, tmp_path: Path
) -> None:
    pid_file = str(tmp_path / "pid")
    with ended_at_last(pid_file):
        error = the_one_failure(machines, Mischief("leave child", pid_file), serve_slowly, workers=1)
        assert (error.category, error.message) == (Category.RUNTIME, "left 1 child process behind")
        assert not is_running(word_at(pid_file))


def test_an_item_that_wants_more_memory_than_a_worker_may_have_fails_alone(machines: Machines) -> None:
    error = the_one_failure(machines, Mischief("want memory"), memory_bytes_max=MEMORY_BYTES)
    assert "MemoryError" in error.message
