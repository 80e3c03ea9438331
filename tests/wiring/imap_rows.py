"""Parameters of `imap`."""

import contextlib
import os
import threading
import warnings
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import inorder
from inorder.engines import threads
from inorder.engines.process.worker_process import StartupError
from inorder.errors import InfrastructureError
from inorder.lanes import Ticket
from tests.support.gates import FixedSizer
from tests.wiring.doors import FakeProcess, WiredRun, path_of
from tests.wiring.row import OptionRow, index_rows
from tests.wiring.workers import fail, lose_server

BIG = 64 * 1024


def count_workers_inside(run: WiredRun) -> int:
    run.time.on_quiet = run.gate.open
    list(run.imap(run.gate.hold, range(12), where="threads"))
    return run.gate.inside_max


def name_place(run: WiredRun) -> str:
    with contextlib.suppress(InfrastructureError):
        list(run.imap(abs, range(2)))
    if run.ray_engines:
        return "Ray"
    return "process" if run.started else "thread"


def list_in_order(run: WiredRun) -> list[int]:
    """The order of four results, of which the first comes last. It has the key of the third."""
    run.patch.setattr(threads, "BatchSizer", partial(FixedSizer, 1))
    last = threading.Event()

    def work(item: int) -> int:
        if item == 0:
            last.wait()
        if item == 3:
            last.set()
        return item

    key = (lambda item: item % 2) if run.value == "key" else None
    return list(run.imap(work, range(4), workers=2, where="threads", key=key))


def resumes_after_an_edit(run: WiredRun) -> Any:
    """What is left of an iteration whose function was edited."""
    journal = Path(run.folder / "run.journal")

    def make(factor: int) -> Callable[[int], int]:
        return lambda item: item * factor

    with inorder.imap(make(1), [1, 2, 3], where="inline", journal=journal) as results:
        next(results)
        next(results)
    try:
        return list(run.imap(make(2), [1, 2, 3], where="inline", journal=journal))
    except inorder.OperatorError:
        return "edited"


def get_address(run: WiredRun) -> Any:
    try:
        list(run.imap(abs, range(2), where="ray"))
    except InfrastructureError:
        return run.ray_engines[0]["options"].address
    return None


def ends_after_10_s(run: WiredRun) -> str:
    """How an item ends that takes ten seconds."""

    def wait() -> None:
        run.time.advance(10)
        run.time.on_quiet = run.gate.open

    run.time.on_quiet = wait
    [result] = run.imap(run.gate.hold, ["done"], workers=1, errors="yield", where="threads")
    return str(result.category) if isinstance(result, inorder.ItemError) else result


def count_attempts(run: WiredRun) -> int:
    called: list[int] = []

    def work(item: int) -> None:
        called.append(item)
        fail(item)

    list(run.imap(work, [0], errors="yield", where="threads"))
    return len(called)


def measure_backoff(run: WiredRun) -> float:
    """The wait before the only retry, in units of the option, at least half of it and at most all of it."""
    began: list[float] = []

    def work(item: int) -> None:
        began.append(run.time.now_s())
        fail(item)

    list(run.imap(work, [0], retries=1, errors="yield", where="threads"))
    assert run.value / 2 <= began[1] - began[0] <= run.value
    return run.value


def count_lost_workers(run: WiredRun) -> int:
    """How many workers are lost in an iteration in which all of them are killed at their start."""

    def die(process: FakeProcess) -> None:
        raise StartupError("killed", "SIGKILL")

    run.patch.setattr(FakeProcess, "receive", die)
    with pytest.raises(InfrastructureError):
        list(run.imap(abs, [0], workers=1))
    return len(run.started)


def count_tries_at_a_server(run: WiredRun) -> int:
    """How many attempts are made at a server that is down until the iteration ends."""
    tried: list[int] = []

    def work(item: int) -> None:
        tried.append(item)
        lose_server(item)

    with pytest.raises(InfrastructureError, match="http://server is down"):
        list(run.imap(work, [0], workers=1, where="threads"))
    return len(tried)


def name_category(run: WiredRun) -> str:
    [error] = run.imap(fail, [0], errors="yield", where="threads")
    return str(error.category)


def count_ran_beside_the_head(run: WiredRun) -> int:
    """How many large results are computed while the first item is not done."""
    ended: list[int] = []

    def work(item: int) -> str:
        if item == 0:
            run.gate.hold()
        ended.append(item)
        return "x" * BIG

    seen: list[int] = []
    run.time.on_quiet = lambda: (seen.append(len(ended)), run.gate.open())
    list(run.imap(work, range(20), workers=2, where="threads"))
    return seen[0]


def count_results(run: WiredRun) -> int:
    """How many results come out of three items that fail."""
    results = run.imap(fail, range(3), where="threads")
    count = 0
    with contextlib.suppress(inorder.ItemError):
        for _ in results:
            count += 1
    return count


def list_starts(run: WiredRun, items: Sequence[int] = (3, 1, 2), **base: Any) -> list[int]:
    started: list[int] = []
    list(run.imap(started.append, items, workers=1, where="threads", **base))
    return started


def get_memory_limit(run: WiredRun) -> Any:
    list(run.imap(abs, [0], workers=1))
    return run.started[0].memory_bytes_max


def count_processes(run: WiredRun) -> int:
    """How many processes one worker uses for six items, in batches of one, two and three. Each item leaks 100 bytes."""
    run.resident_sizes.update({count: 100 * count for count in range(7)})
    list(run.imap(abs, range(6), workers=1))
    return len(run.started)


def measure_grace(run: WiredRun) -> float:
    """How long closing waits for a running item."""
    waits: list[float] = []
    run.patch.setattr(Ticket, "wait", lambda ticket, timeout_s=None: waits.append(timeout_s))
    results = run.imap(lambda item: item and run.gate.hold(), range(2), workers=2, where="threads")
    next(results)
    run.gate.await_arrivals()
    with warnings.catch_warnings(action="ignore"):
        results.close()
    return waits[0]


def count_processes_for_20_silent_s(run: WiredRun) -> int:
    """How many worker processes one item takes if the first is silent for 20 s."""
    run.silence_first_process(20.0)
    list(run.imap(abs, [0], workers=1))
    return len(run.started)


def warns_after_20_s(run: WiredRun) -> bool:
    """Whether the consumer is told what it waits for, if that takes 20 s."""

    def open_later() -> None:
        run.time.advance(20)
        run.time.on_quiet = run.gate.open

    run.time.on_quiet = open_later
    with warnings.catch_warnings(record=True, action="always") as caught:
        list(run.imap(run.gate.hold, ["report.pdf"], workers=1, where="threads"))
    texts = [str(warning.message) for warning in caught]
    return any("waiting for worker 0, which holds seq 0 ('report.pdf')" in text for text in texts)


def list_files(run: WiredRun) -> list[str]:
    list(run.imap(abs, range(2), workers=1, where="threads"))
    return sorted(path.name for path in run.folder.iterdir())


def count_syncs(run: WiredRun) -> int:
    real, synced = os.fsync, []

    def sync(descriptor: int) -> None:
        synced.append(path_of(descriptor))
        real(descriptor)

    run.patch.setattr(os, "fsync", sync)
    list(run.imap(abs, [0], workers=1, journal=run.folder / "run.journal", where="threads"))
    return sum(path.endswith(".journal") for path in synced)


def list_spooled(run: WiredRun) -> list[str]:
    with run.imap(abs, range(2), workers=1, journal=run.folder / "run.journal", where="threads") as results:
        next(results)
        return [path.name for path in run.folder.iterdir() if path.is_dir()]


def resumes(run: WiredRun) -> bool:
    """Whether an iteration resumes when its items are others with the same key."""
    journal = Path(run.folder / "run.journal")
    with run.imap(abs, [1, 2, 3], workers=1, journal=journal, where="threads") as results:
        next(results)
        next(results)
    try:
        return list(run.imap(abs, [-1, -2, -3], workers=1, journal=journal, where="threads")) == [2, 3]
    except inorder.OperatorError:
        return False


def count_ahead(run: WiredRun, **base: Any) -> int:
    """How many items are run while the first one is not done."""
    ended: list[int] = []
    seen: list[int] = []

    def work(item: int) -> None:
        if item == 0:
            run.gate.hold()
        ended.append(item)

    run.time.on_quiet = lambda: (seen.append(len(ended)), run.gate.open())
    run.patch.setattr(threads, "BatchSizer", partial(FixedSizer, 1))
    list(run.imap(work, range(40), workers=2, where="threads", **base))
    return seen[0]


def name_parity(item: int) -> str:
    return "odd" if item % 2 else "even"


IMAP_ROWS = index_rows(
    OptionRow("workers", count_workers_inside, [(2, 2), (5, 5)]),
    OptionRow("where", name_place, [("threads", "thread"), ("processes", "process"), ("ray", "Ray")]),
    OptionRow("order", list_in_order, [("input", [0, 1, 2, 3]), ("none", [1, 2, 3, 0]), ("key", [1, 3, 0, 2])]),
    OptionRow("version", resumes_after_an_edit, [("", "edited"), ("2", [4, 6])]),
    OptionRow("ray", get_address, [(inorder.RayOptions(address="auto"), "auto"), (inorder.RayOptions(), None)]),
    OptionRow("timeout_s", ends_after_10_s, [(9.0, "timeout"), (11.0, "done")]),
    OptionRow("retries", count_attempts, [(0, 1), (3, 4)]),
    OptionRow("classify", name_category, [(None, "provider"), (lambda error: ("input", False), "input")]),
    OptionRow("buffered_bytes_max", count_ran_beside_the_head, [(4 * BIG, 3), (2**30, 19)]),
    OptionRow("windows", count_ahead, [(inorder.Windows(entries=4), 7), (inorder.Windows(entries=9), 17)]),
    OptionRow("budgets", count_ahead, [(inorder.Budgets(commit_lag_soft=5), 5), (inorder.Budgets(), 39)]),
    OptionRow(
        "size",
        partial(count_ahead, windows=inorder.Windows(bytes_max=30)),
        [(None, 39), (lambda item: 10, 5), (lambda item: 5, 11)],
    ),
    OptionRow(
        "batch_key", partial(list_starts, items=[1, 2, 3, 4]), [(None, [1, 2, 3, 4]), (name_parity, [1, 3, 2, 4])]
    ),
    OptionRow("errors", count_results, [("raise", 0), ("yield", 3)]),
    OptionRow("schedule", partial(list_starts, cost=float), [("fifo", [3, 1, 2]), ("sjf", [1, 2, 3])]),
    OptionRow("cost", partial(list_starts, schedule="sjf"), [(abs, [1, 2, 3]), (lambda item: -item + 4, [3, 2, 1])]),
    OptionRow("memory_bytes_max", get_memory_limit, [(None, None), (3 * 2**30, 3 * 2**30)]),
    OptionRow("recycle_tasks", count_processes, [(None, 1), (2, 3)]),
    OptionRow("cancel_grace_s", measure_grace, [(3.0, 3.0), (40.0, 40.0)]),
    OptionRow("stall_warning_s", warns_after_20_s, [(0.0, False), (10.0, True)]),
    OptionRow("lease_s", count_processes_for_20_silent_s, [(10.0, 2), (40.0, 1)]),
    OptionRow("recycle_resident_bytes", count_processes, [(None, 1), (150, 2)]),
    OptionRow("retry_backoff_s", measure_backoff, [(1.0, 1.0), (20.0, 20.0)]),
    OptionRow("infrastructure_budget", count_lost_workers, [(0, 1), (3, 4)]),
    OptionRow("outage_s_max", count_tries_at_a_server, [(9.0, 1), (21.0, 3)]),
    OptionRow("journal", list_files, [(None, []), ("run.journal", ["run.journal", "run.journal.lock"])]),
    OptionRow("fsync", count_syncs, [("always", 3), ("batch", 2), ("interval", 1), ("off", 0)]),
    OptionRow("spool", list_spooled, [("memory", []), ("disk", ["run.journal.results"])]),
    OptionRow("key", resumes, [(None, False), (abs, True)]),
)
"""Every parameter of `imap` besides the function and the items."""
