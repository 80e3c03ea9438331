"""Functions for workers: they write where they run, and wait until they are released."""

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from inorder.core.commands import Command, CommitRun, Summary
from inorder.core.events import Event
from inorder.core.options import KernelOptions
from inorder.core.state import Counters
from inorder.core.windows.plan import PlanItem
from inorder.engines.base import Engine
from inorder.host.clock import SystemClock
from inorder.runtime.loop import Runtime
from tests.ray.machines import here
from tests.support.misbehaviour import wait_for, wait_until


class Visit(NamedTuple):
    """An item: write a file into the folder, and wait until the folder has a file of this name."""

    folder: str
    number: int
    until: str = ""


class Seen(NamedTuple):
    """A worker that wrote its file."""

    number: int
    node: int
    pid: int
    supervisor: int


def visit(item: Visit) -> tuple[int, int]:
    """Return the number of the item, and the node."""
    name = f"{item.folder}/{item.number}.{here()}.{os.getpid()}.{os.getppid()}"
    Path(f"{name}.seen").touch()
    if item.until:
        wait_for(f"{item.folder}/{item.until}")
    return item.number, here()


def seen_in(folder: Path) -> list[Seen]:
    """All workers that wrote a file so far."""
    return sorted(Seen(*map(int, path.name.split(".")[:4])) for path in folder.glob("*.seen"))


def wait_for_workers(folder: Path, count: int, condition: Callable[[Seen], bool] = lambda seen: True) -> list[Seen]:
    """Wait for the first `count` workers for which the condition holds."""
    found: list[Seen] = []

    def are_there() -> bool:
        found[:] = [seen for seen in seen_in(folder) if condition(seen)]
        return len(found) >= count

    assert wait_until(are_there), f"only {len(found)} of {count} workers came"
    return found


class Run(NamedTuple):
    """The outcome of a run."""

    results: list[Any]
    summary: Summary
    counters: Counters
    buffered_bytes: int
    """The peak of buffered bytes."""


def run_on(
    engine: Engine, items: Sequence[Any], observe: Callable[[Command], object] = lambda command: None, **options: Any
) -> Run:
    """Run items; return all results in commit order. Options are those of the kernel."""
    results: list[Any] = []
    buffered: list[int] = []

    def observer(_: int, event: Event, commands: Sequence[Command] | None) -> None:
        buffered.append(runtime.kernel.snapshot().buffered_bytes)
        for command in commands or ():
            observe(command)

    def commit(run: CommitRun, _: Sequence[Any]) -> int:
        assert run.start == len(results)
        results.extend(envelope.payload if envelope.failure is None else envelope.failure for envelope in run.envelopes)
        return run.end

    plan = [(PlanItem(), item) for item in items]
    runtime = Runtime(plan, engine, commit, SystemClock(), options=KernelOptions(**options), observer=observer)
    return Run(results, runtime.run(), runtime.kernel.statistics(), max(buffered))
