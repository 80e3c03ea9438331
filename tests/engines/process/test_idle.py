"""Worker processes that one engine of a run leaves to the next."""

import gc
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from inorder.core.events import Pulled
from inorder.engines.process.engine import ProcessEngine
from inorder.engines.process.idle import IdleProcesses
from inorder.engines.process.worker_process import ProcessOptions
from inorder.errors import InfrastructureError
from tests.support.misbehaviour import Mischief, is_running, serve, wait_until, whoami

from .test_engine import give, run_batch, take

MUCH = 50_000
"""Objects that count beside whatever else the garbage collector freezes."""
pytestmark = [pytest.mark.usefixtures("no_leaks"), pytest.mark.process]


class Unloadable:
    """A function that no process can load."""

    def __call__(self, _: Any) -> None: ...

    def __reduce__(self) -> tuple[Any, ...]:
        return int, ("not a number",)


class Releasing:
    """A function that notes in a file that it was told to close what it has open; or ends its process instead."""

    def __init__(self, path: str, ends: bool = False) -> None:
        self._path = path
        self._ends = ends

    def __call__(self, _: Any) -> int:
        return os.getpid()

    def release(self) -> None:
        """Called between two engines."""
        if self._ends:
            os._exit(1)
        Path(self._path).write_text(str(os.getpid()))


class Litter:
    """A function that leaves garbage in cycles, and says what its process holds."""

    def __init__(self) -> None:
        self._itself = self
        self._much = [[number] for number in range(MUCH)]

    def __call__(self, _: Any) -> tuple[int, int]:
        for each in self._much:
            each.append(each)  # type: ignore[arg-type]
        return len(os.listdir("/proc/self/fd")), (gc.get_freeze_count() + len(gc.get_objects())) // MUCH


@pytest.fixture
def idle() -> Iterator[IdleProcesses]:
    """The idle processes of a run."""
    with closing(IdleProcesses()) as made:
        yield made


def run_engine(
    idle: IdleProcesses, function: Callable[[Any], Any], *items: Any, isolated: bool = False, **options: Any
) -> list[Any]:
    """Run items on an engine of one worker."""
    engine = ProcessEngine(function, 1, timeout_s=None, options=ProcessOptions(**options), idle=idle)
    with closing(engine):
        engine.start()
        take(engine, 1, Pulled)
        return run_batch(engine, *items, isolated=isolated)


def test_the_next_engine_goes_on_with_the_process_and_its_own_function(idle: IdleProcesses) -> None:
    [pid] = run_engine(idle, whoami, 1)
    with closing(IdleProcesses()) as others:
        assert run_engine(idle, serve, 7, 8) == run_engine(others, serve, 7, 8)
    assert run_engine(idle, whoami, 1) == [pid]
    idle.close()
    assert wait_until(lambda: not is_running(pid))


def test_processes_end_when_they_are_closed_and_no_further_one_is_kept(idle: IdleProcesses) -> None:
    [pid] = run_engine(idle, whoami, 1)
    [kept] = idle._processes
    idle.close()
    assert (idle._processes, kept.is_alive(), is_running(pid)) == ([], False, False)
    [other] = run_engine(idle, whoami, 1)
    assert wait_until(lambda: not is_running(other))
    assert idle._processes == []


def test_a_process_does_not_grow_with_the_number_of_engines(idle: IdleProcesses) -> None:
    held = [run_engine(idle, Litter(), 1) for _ in range(7)]
    assert held[3:] == [held[2]] * 4


def test_a_process_that_was_killed_while_it_was_idle_is_replaced(idle: IdleProcesses) -> None:
    [pid] = run_engine(idle, whoami, 1)
    os.kill(pid, signal.SIGKILL)
    [other] = run_engine(idle, whoami, 1)
    assert other != pid


def test_an_isolated_item_gets_a_process_that_has_run_nothing(idle: IdleProcesses) -> None:
    [pid] = run_engine(idle, whoami, 1)
    assert run_engine(idle, whoami, 1, isolated=True) != [pid]


def test_a_function_closes_what_it_has_open_before_its_engine_is_closed(idle: IdleProcesses, tmp_path: Path) -> None:
    [pid] = run_engine(idle, Releasing(str(tmp_path / "released")), 1)
    assert (tmp_path / "released").read_text() == str(pid)
    assert run_engine(idle, whoami, 1) == [pid]


def test_a_process_that_cannot_close_what_it_has_open_is_replaced(idle: IdleProcesses, tmp_path: Path) -> None:
    [pid] = run_engine(idle, Releasing(str(tmp_path / "released"), ends=True), 1)
    assert idle._processes == []
    assert run_engine(idle, whoami, 1) != [pid]


def test_other_limits_need_another_process(idle: IdleProcesses) -> None:
    [pid] = run_engine(idle, whoami, 1)
    assert run_engine(idle, whoami, 1, memory_bytes_max=2**40) != [pid]


def test_a_process_that_is_due_for_replacement_is_not_left(idle: IdleProcesses) -> None:
    run_engine(idle, whoami, 1, recycle_tasks=1)
    assert idle._processes == []


def test_a_function_that_cannot_be_loaded_is_an_error_of_the_function(idle: IdleProcesses) -> None:
    run_engine(idle, whoami, 1)
    with pytest.raises(InfrastructureError, match="the function cannot be loaded"):
        run_engine(idle, Unloadable(), 1)


def test_a_process_that_is_busy_when_its_engine_ends_is_killed(idle: IdleProcesses, tmp_path: Path) -> None:
    engine = ProcessEngine(serve, 1, timeout_s=None, idle=idle)
    with closing(engine):
        engine.start()
        take(engine, 1, Pulled)
        give(engine, 0, Mischief("hang", str(tmp_path / "word")))
        assert wait_until(lambda: bool(engine.list_activity()))
        [pid] = engine.process_ids()
    assert idle._processes == []
    assert wait_until(lambda: not is_running(pid))
