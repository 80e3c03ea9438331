"""Adaptive windows beside every fixed size, in virtual time or in one real run.

    python bench/windows.py [--real] [--rounds 3] [--json]

Each *shape* is a plan, workers and a commit lane. It runs once per fixed size, and with adaptive windows that start
from the smallest size and from the default. In virtual time the real runtime and kernel run on the workers of the
simulator: the figures are the same on every machine. With `--real` items sleep on threads, rounds alternate between the
sizes, and figures are medians with the spread.

The last columns say how much longer the adaptive runs took than the best fixed one (target: at most 10 %).
"""

import argparse
import json
import statistics
import time
from collections.abc import Callable, Sequence
from random import Random
from typing import Any

import msgspec

from inorder import RunOptions, Windows, imap
from inorder.core.commands import Command, CommitRun, RetryScheduled, WindowOpened
from inorder.core.events import Committed, Event
from inorder.core.options import KernelOptions, PressureOptions, RetryOptions, WindowOptions
from inorder.core.windows.plan import PlanItem
from inorder.runtime.loop import Runtime
from inorder.runtime.memory_probe import MemoryProbe
from inorder.sim.clock import VirtualClock
from inorder.sim.engine import SimEngine
from inorder.sim.scenario import Scenario, SimItem

FIXED = (16, 64, 256, 1024, 4096)
STARTS = (16, 1024)
ITEMS = 6000
WORKERS = 8
KIB = 1024


class Shape(msgspec.Struct, frozen=True, kw_only=True):
    """What runs: how long each item takes, and what it meets."""

    durations_ms: tuple[int, ...]
    failures: tuple[int, ...] = ()
    """Failures of each item before it succeeds; empty: none fails."""
    result_bytes: int = 100
    budget_bytes: int = 256 * KIB * KIB
    resident_bytes_soft: int = 2**60
    """A soft limit on resident memory, which is that of the buffered results."""
    schedule: str = "fifo"
    commit_ms: float = 0.0
    """Time of the commit lane for one item."""


class VirtualRun(msgspec.Struct, kw_only=True):
    """The result of one run in virtual time."""

    duration_ms: int
    targets: list[int]
    """Target sizes of the windows, in order."""


def make_shapes(items: int = ITEMS) -> dict[str, Shape]:
    """Return the shapes by name."""

    def draw(count: int, share: float, slow_ms: int, quick_ms: int = 10) -> tuple[int, ...]:
        rng = Random(7)
        return tuple(slow_ms if rng.random() < share else quick_ms for _ in range(count))

    rng = Random(8)
    half = items // 2
    return {
        "even": Shape(durations_ms=(10,) * items),
        "uneven": Shape(durations_ms=tuple(min(400, round(rng.expovariate(1 / 12))) for _ in range(items))),
        "stragglers": Shape(durations_ms=draw(items, 0.01, 500)),
        "long stragglers": Shape(durations_ms=draw(2 * items, 0.001, 2000)),
        "stragglers, then none": Shape(durations_ms=draw(half, 0.01, 500) + (10,) * half),
        "none, then stragglers": Shape(durations_ms=(10,) * half + draw(half, 0.01, 500)),
        "shortest first": Shape(durations_ms=draw(items, 0.01, 500), schedule="sjf"),
        "retries": Shape(durations_ms=(10,) * items, failures=tuple(int(rng.random() < 0.4) for _ in range(items))),
        "large results": Shape(
            durations_ms=draw(items, 0.01, 500), result_bytes=KIB * KIB, budget_bytes=128 * KIB * KIB
        ),
        "little memory": Shape(
            durations_ms=draw(items, 0.01, 500), result_bytes=KIB * KIB, resident_bytes_soft=100 * KIB * KIB
        ),
        "slow commits": Shape(durations_ms=draw(items, 0.01, 500), commit_ms=1.5),
    }


def make_options(shape: Shape, entries: int, *, adaptive: bool) -> KernelOptions:
    """Return the options of a run of this shape."""
    soft = shape.budget_bytes * 3 // 4
    return KernelOptions(
        windows=WindowOptions(entries=entries, entries_min=min(16, entries), adaptive=adaptive),
        pressure=PressureOptions(
            buffered_bytes_soft=soft,
            buffered_bytes_hard=shape.budget_bytes,
            window_bytes_soft=soft,
            window_bytes_hard=shape.budget_bytes,
            prefetch_bytes_max=shape.budget_bytes // 2,
            resident_bytes_soft=shape.resident_bytes_soft,
        ),
        retry=RetryOptions(retries_max=2, backoff_ms=50),
        schedule=shape.schedule,
    )


class _Simulation:
    """One run of a shape in virtual time."""

    def __init__(self, shape: Shape, options: KernelOptions, workers: int) -> None:
        failures = shape.failures or (0,) * len(shape.durations_ms)
        items = tuple(
            SimItem(item_id=str(number), duration_ms=ms, failures=failed, result_bytes=shape.result_bytes)
            for number, (ms, failed) in enumerate(zip(shape.durations_ms, failures, strict=True))
        )
        self._shape = shape
        self._clock = VirtualClock()
        scenario = Scenario(seed=1, items=items, options=options, workers=workers, batch_limit=1)
        self._engine = SimEngine(scenario, self._clock)
        self._targets: list[int] = []
        self._free_ms = 0.0
        self._runtime = Runtime(
            ((PlanItem(cost=float(item.duration_ms)), item) for item in items),
            self._engine,
            self._commit,
            self._clock,
            options=options,
            total=len(items),
            observer=self._observe,
            memory=MemoryProbe(self._read_memory, 50),
        )

    def run(self) -> VirtualRun:
        summary = self._runtime.run()
        if summary.succeeded != len(self._shape.durations_ms):
            raise SystemExit(f"the run did not end well: {summary}")
        return VirtualRun(duration_ms=self._clock.true_ms, targets=self._targets)

    def _read_memory(self) -> int:
        return self._runtime.kernel.snapshot().buffered_bytes

    def _observe(self, _now_ms: int, _event: Event, commands: Sequence[Command] | None) -> None:
        for command in commands or ():
            if isinstance(command, RetryScheduled):
                self._engine.failures[command.seq] += 1
            elif isinstance(command, WindowOpened):
                self._targets.append(command.target_entries)

    def _commit(self, run: CommitRun, items: Sequence[Any]) -> int | None:
        """Acknowledge after the time that the commit lane takes."""
        took_ms = len(items) * self._shape.commit_ms
        if not took_ms:
            return run.end
        self._engine.post(max(1, round(took_ms)), Committed(run.end))
        return None


def simulate(shape: Shape, entries: int, *, adaptive: bool = False, workers: int = WORKERS) -> VirtualRun:
    """Run a shape in virtual time."""
    return _Simulation(shape, make_options(shape, entries, adaptive=adaptive), workers).run()


def run_real(shape: Shape, entries: int, *, adaptive: bool = False, workers: int = WORKERS) -> float:
    """Run a shape on threads that sleep, and return the seconds."""
    windows = Windows(entries=entries, entries_min=min(16, entries), adaptive=adaptive)
    options = RunOptions(windows=windows, schedule=shape.schedule)
    began_s = time.perf_counter()
    done = sum(1 for _ in imap(_sleep, shape.durations_ms, workers=workers, where="threads", options=options))
    seconds = time.perf_counter() - began_s
    if done != len(shape.durations_ms):
        raise SystemExit(f"{done} results")
    return seconds


def _sleep(duration_ms: int) -> None:
    time.sleep(duration_ms / 1000)


def compare(measure: Callable[..., float], shape: Shape) -> dict[str, float]:
    """Measure a shape with every size, by label."""
    found = {f"fixed {entries}": measure(shape, entries) for entries in FIXED}
    return found | {f"adaptive from {entries}": measure(shape, entries, adaptive=True) for entries in STARTS}


def compute_excess(found: dict[str, float]) -> dict[str, float]:
    """Return by how much each adaptive run was slower than the best fixed one, as a share of it."""
    best = min(value for label, value in found.items() if label.startswith("fixed"))
    return {label: value / best - 1 for label, value in found.items() if label.startswith("adaptive")}


def compare_virtual() -> dict[str, dict[str, float]]:
    """Seconds of virtual time of every shape and size."""
    return {
        name: compare(lambda *args, **options: simulate(*args, **options).duration_ms / 1000, shape)
        for name, shape in make_shapes().items()
    }


def compare_real(rounds: int) -> dict[str, dict[str, list[float]]]:
    """Seconds of real runs of some shapes: least, median and most."""
    figures = {}
    shapes = make_shapes(3000)
    for name in ("even", "stragglers"):
        found = [compare(run_real, shapes[name]) for _ in range(rounds)]
        figures[name] = {
            label: [f([each[label] for each in found]) for f in (min, statistics.median, max)] for label in found[0]
        }
    return figures


def print_virtual(figures: dict[str, dict[str, float]]) -> None:
    """Print a table of seconds, with the excess of the adaptive runs."""
    labels = list(next(iter(figures.values())))
    print(f"{'shape':22}", *(f"{label:>18}" for label in labels))
    for name, found in figures.items():
        excess = compute_excess(found)
        cells = [
            f"{value:8.2f} s" + (f" {excess[label]:+6.1%}" if label in excess else "") for label, value in found.items()
        ]
        print(f"{name:22}", *(f"{cell:>18}" for cell in cells))


def print_real(figures: dict[str, dict[str, list[float]]]) -> None:
    """Print medians with their spread."""
    for name, found in figures.items():
        excess = compute_excess({label: middle for label, (_, middle, _) in found.items()})
        for label, (least, middle, most) in found.items():
            beside = f"{excess[label]:+7.1%}" if label in excess else ""
            print(f"{name:22} {label:>18} {middle:7.2f} s   ({least:.2f} to {most:.2f}) {beside}")


def main() -> None:
    """Measure and print a table, or one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--real", action="store_true")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    figures: Any = compare_real(options.rounds) if options.real else compare_virtual()
    if options.json:
        print(json.dumps(figures))
    elif options.real:
        print_real(figures)
    else:
        print_virtual(figures)


if __name__ == "__main__":
    main()
