"""The adaptive number of workers beside every fixed one, in virtual time or in one real run.

    python bench/workers.py [--real] [--rounds 3] [--json]

Each *shape* is a plan and the resource behind its workers: one that scales, one that serves two at a time, one that
slows down when it is crowded, one that refuses. It runs with fixed numbers of workers, and with `adaptive` and the
largest of them as the bound. In virtual time the autoscaler runs on simulated workers: the figures are the same on
every machine. With `--real` items sleep, rounds alternate, and figures are medians with the spread. The last columns
say how much longer the adaptive run took than the best fixed one (target: at most 10 %), and which numbers of workers
it had.
"""

import argparse
import json
import statistics
import tempfile
import threading
import time
from collections import deque
from collections.abc import Callable
from heapq import heappop, heappush
from random import Random
from typing import Any, NamedTuple

from inorder import StageContext, StageOptions, StagePlan, WorkItem, run_stage
from inorder.core.events import Envelope
from inorder.core.transitions import State
from inorder.stage.autoscale import StageAutoscaler

WORKERS_MAX = 12
FIXED = (1, 2, 3, 4, 6, 9, 12)
REAL_FIXED = (2, 6, 12)


class Shape(NamedTuple):
    """How long items take, and what the resource behind them does."""

    durations_ms: tuple[float, ...]
    served: tuple[int, ...] = (WORKERS_MAX,)
    """Items that the resource serves at a time; several numbers follow each other over the plan."""
    crowding: float = 0.0
    """By how much each further item slows all down, as a share."""
    refuses: bool = False
    """Whether it refuses what it cannot serve at once, instead of letting it wait."""
    failing: float = 0.0
    """Share of items that fail whatever the number of workers is."""


class Run(NamedTuple):
    """The result of one run."""

    seconds: float
    sizes: list[int]
    """Numbers of workers, in order."""


def make_shapes() -> dict[str, Shape]:
    """Return the shapes by name."""
    rng = Random(3)
    even = (40.0,) * 9000
    return {
        "scales": Shape(even),
        "scales, uneven": Shape(tuple(rng.expovariate(1 / 40) for _ in range(9000))),
        "scales, few long": Shape(tuple(400.0 if rng.random() < 0.05 else 20.0 for _ in range(15_000))),
        "scales, slow items": Shape((5000.0,) * 900),
        "serves two": Shape(even[:3000], (2,)),
        "serves two, slow items": Shape((2000.0,) * 300, (2,)),
        "serves four, crowded": Shape(even[:3000], (4,), crowding=0.1),
        "serves two, refuses": Shape(even[:3000], (2,), refuses=True),
        "serves eight, then three": Shape(even, (8, 3)),
        "serves three, then all": Shape(even, (3, 12)),
        "a fifth fails": Shape(even, failing=0.2),
    }


class _Simulation:
    """Workers that take one item after the other from a plan, in virtual time."""

    def __init__(self, shape: Shape, workers: int, *, adaptive: bool) -> None:
        self._shape = shape
        self._rng = Random(11)
        self._queue = deque(enumerate(shape.durations_ms))
        self._now_ms = 0.0
        self._events: list[tuple[float, int, Callable[[], None]]] = []
        self._order = 0
        self._wanted = workers
        self._workers: set[int] = set()
        self._next_worker = 0
        self._serving = 0
        self._waiting: deque[tuple[int, int, float, float]] = deque()
        self._done = 0
        self.sizes: list[int] = []
        self._scaler = StageAutoscaler(self, workers, lambda: bool(self._queue), 0) if adaptive else None  # type: ignore[arg-type]
        if self._scaler is None:
            self.resize(workers)

    def resize(self, count: int) -> None:
        """Have this number of workers; a worker that is not needed ends after its item."""
        self._wanted = count
        self.sizes.append(count)
        while len(self._workers) < count:
            self._workers.add(self._next_worker)
            self._at(0, lambda worker=self._next_worker: self._pull(worker))  # type: ignore[misc]
            self._next_worker += 1

    def run(self) -> Run:
        """Run to the end of the plan."""
        while self._events and self._done < len(self._shape.durations_ms):
            self._now_ms, _, act = heappop(self._events)
            act()
            if self._scaler is not None:
                self._scaler.adjust(int(self._now_ms))
        return Run(self._now_ms / 1000, self.sizes)

    @property
    def _served_max(self) -> int:
        phases = self._shape.served
        return phases[min(len(phases) - 1, self._done * len(phases) // len(self._shape.durations_ms))]

    def _at(self, delay_ms: float, act: Callable[[], None]) -> None:
        self._order += 1
        heappush(self._events, (self._now_ms + delay_ms, self._order, act))

    def _pull(self, worker: int) -> None:
        if len(self._workers) > self._wanted:
            self._workers.discard(worker)
            return
        if not self._queue:
            return
        number, duration_ms = self._queue.popleft()
        if self._serving < self._served_max:
            self._serve(worker, number, duration_ms, self._now_ms)
        elif self._shape.refuses:
            self._queue.append((number, duration_ms))
            self._at(5, lambda: self._deliver(worker, number, 5.0, is_failure=True))
        else:
            self._waiting.append((worker, number, duration_ms, self._now_ms))

    def _serve(self, worker: int, number: int, duration_ms: float, began_ms: float) -> None:
        self._serving += 1
        crowd = max(0, self._serving + len(self._waiting) - self._served_max)
        slow_ms = duration_ms * (1 + self._shape.crowding * crowd)

        def end() -> None:
            self._serving -= 1
            self._done += 1
            is_failure = self._shape.failing > 0 and self._rng.random() < self._shape.failing
            while self._waiting and self._serving < self._served_max:
                self._serve(*self._waiting.popleft())
            self._deliver(worker, number, self._now_ms - began_ms, is_failure=is_failure)

        self._at(slow_ms, end)

    def _deliver(self, worker: int, number: int, exec_ms: float, *, is_failure: bool) -> None:
        if self._scaler is not None:
            outcome = State.TERMINAL_FAIL if is_failure else State.TERMINAL_SUCCESS
            self._scaler.record(worker, [Envelope(number, 0, int(outcome), exec_ms=exec_ms)], int(self._now_ms))
        self._pull(worker)


def simulate(shape: Shape, workers: int, *, adaptive: bool = False) -> Run:
    """Run a shape in virtual time."""
    return _Simulation(shape, workers, adaptive=adaptive).run()


def run_real(shape: Shape, workers: int, *, adaptive: bool = False) -> Run:
    """Run a shape as a stage whose items sleep, on threads."""
    slots = threading.BoundedSemaphore(shape.served[0])

    def work(item: WorkItem, _ctx: StageContext) -> None:
        with slots:
            time.sleep(item.cost_hint / 1000)

    items = [WorkItem(item_id=str(number), cost_hint=ms) for number, ms in enumerate(shape.durations_ms)]
    with tempfile.TemporaryDirectory() as data:
        options = StageOptions(data=data, workers=workers, adaptive=adaptive, progress="none", fsync="off")
        began_s = time.perf_counter()
        outcome = run_stage(StagePlan("sleep", items), work, options)
        seconds = time.perf_counter() - began_s
    if outcome.succeeded != len(items):
        raise SystemExit(f"the run did not end well: {outcome}")
    return Run(seconds, [])


def compare(measure: Callable[..., Run], shape: Shape, fixed: tuple[int, ...] = FIXED) -> dict[str, Run]:
    """Measure a shape with every number of workers, by label."""
    found = {f"fixed {workers}": measure(shape, workers) for workers in fixed}
    return found | {"adaptive": measure(shape, WORKERS_MAX, adaptive=True)}


def compute_excess(seconds: dict[str, float]) -> float:
    """Return by how much the adaptive run was slower than the best fixed one, as a share of it."""
    return seconds["adaptive"] / min(value for label, value in seconds.items() if label != "adaptive") - 1


def print_virtual(figures: dict[str, dict[str, Run]]) -> None:
    """Print a table of seconds, the excess, and the numbers of workers that the adaptive runs had."""
    print(f"{'shape':26}", *(f"{label:>9}" for label in next(iter(figures.values()))))
    for name, found in figures.items():
        seconds = {label: run.seconds for label, run in found.items()}
        sizes = ", ".join(map(str, found["adaptive"].sizes[:16]))
        cells = " ".join(f"{value:7.1f} s" for value in seconds.values())
        print(f"{name:26} {cells} {compute_excess(seconds):+6.1%}  {sizes}")


def print_real(figures: dict[str, dict[str, list[float]]]) -> None:
    """Print medians with their spread."""
    for name, found in figures.items():
        cells = " ".join(f"{label} {low:.2f}-{mid:.2f}-{high:.2f} s" for label, (low, mid, high) in found.items())
        print(f"{name:14} {cells} {compute_excess({label: each[1] for label, each in found.items()}):+6.1%}")


def compare_real(rounds: int) -> dict[str, dict[str, list[float]]]:
    """Seconds of real runs of some shapes: least, median and most."""
    shapes = {"scales": Shape((25.0,) * 4000), "serves two": Shape((20.0,) * 600, (2,))}
    figures = {}
    for name, shape in shapes.items():
        rows = [
            {label: run.seconds for label, run in compare(run_real, shape, REAL_FIXED).items()} for _ in range(rounds)
        ]
        figures[name] = {
            label: [pick([row[label] for row in rows]) for pick in (min, statistics.median, max)] for label in rows[0]
        }
    return figures


def main() -> None:
    """Measure and print a table, or one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--real", action="store_true")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    if options.real:
        real = compare_real(options.rounds)
        print(json.dumps(real)) if options.json else print_real(real)
        return
    figures: dict[str, Any] = {name: compare(simulate, shape) for name, shape in make_shapes().items()}
    if options.json:
        seconds = {name: {label: run.seconds for label, run in found.items()} for name, found in figures.items()}
        print(json.dumps(seconds))
    else:
        print_virtual(figures)


if __name__ == "__main__":
    main()
