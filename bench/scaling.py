"""Dynamic lanes beside every fixed concurrency, in virtual time or in one real run.

    python bench/scaling.py [--real] [--rounds 3] [--json]

Each *shape* is a backlog, or several, of tasks that sleep. It runs with every fixed concurrency between the bounds, and
with a lane that scales between them, with the default options. In virtual time the state of the lane runs without
threads: the figures are the same on every machine. With `--real`, rounds alternate, and figures are medians with the
spread. The last column says how much longer the dynamic lane took than the best fixed one (target: at most 10 %).
"""

import argparse
import json
import statistics
import time
from collections.abc import Callable, Sequence
from heapq import heappop, heappush
from random import Random
from typing import Any, NamedTuple

from inorder.lanes import Lane, LaneConfig, Ticket
from inorder.lanes.state import LaneState
from inorder.lanes.ticket import AnyTicket

CONCURRENCY_MAX = 6


class Shape(NamedTuple):
    """When tasks are submitted, and how long each takes."""

    at_ms: tuple[int, ...]
    durations_ms: tuple[float, ...]


def make_shapes() -> dict[str, Shape]:
    """Return the shapes by name."""
    rng = Random(5)
    uneven = tuple(rng.expovariate(1 / 20) for _ in range(300))
    return {
        "200 x 10 ms": Shape((0,) * 200, (10,) * 200),
        "2000 x 1 ms": Shape((0,) * 2000, (1,) * 2000),
        "60 x 250 ms": Shape((0,) * 60, (250,) * 60),
        "300 uneven": Shape((0,) * 300, uneven),
        "bursts": Shape(tuple(500 * (number // 60) for number in range(600)), (10,) * 600),
    }


def make_config(concurrency: int | None) -> LaneConfig:
    """Return the configuration of a fixed lane, or of a dynamic one (None)."""
    if concurrency is None:
        return LaneConfig(name="dynamic", min_concurrency=1, max_concurrency=CONCURRENCY_MAX, capacity=2**20)
    return LaneConfig(name="fixed", max_concurrency=concurrency, capacity=2**20)


class _NoOwner:
    """Stands for the lane of a ticket, which is never asked."""


def simulate(shape: Shape, concurrency: int | None) -> float:
    """Seconds of virtual time until the last task has ended."""
    state = LaneState(make_config(concurrency))
    arrivals = sorted(zip(shape.at_ms, shape.durations_ms, strict=True), reverse=True)
    ends: list[tuple[float, int, AnyTicket]] = []
    durations: dict[AnyTicket, float] = {}
    now_s, order = 0.0, 0
    while arrivals or ends:
        moments = [arrivals[-1][0] / 1000] if arrivals else []
        moments += [ends[0][0]] if ends else []
        moments += [] if state.scale.due_s is None else [state.scale.due_s]
        now_s = max(now_s, min(moments))
        while ends and ends[0][0] <= now_s:
            ended = heappop(ends)[2]
            state.end(ended, None, None, ended_s=now_s, now_s=now_s)
        while arrivals and arrivals[-1][0] / 1000 <= now_s:
            ticket: Ticket[int] = Ticket(_NoOwner(), int, (), 0, now_s)  # type: ignore[arg-type]
            durations[ticket] = arrivals.pop()[1] / 1000
            if not state.try_admit(ticket, now_s):
                raise SystemExit("the lane refused a task")
        state.update(now_s)
        while (started := state.start(now_s)) is not None:
            order += 1
            heappush(ends, (now_s + durations.pop(started), order, started))
    return now_s


def run_real(shape: Shape, concurrency: int | None) -> float:
    """Seconds from the first submission to the end of the last task, on threads that sleep."""
    began_s = time.perf_counter()
    with Lane(make_config(concurrency)) as lane:
        for at_ms, duration_ms in zip(shape.at_ms, shape.durations_ms, strict=True):
            left_s = at_ms / 1000 - (time.perf_counter() - began_s)
            if left_s > 0:
                time.sleep(left_s)
            lane.submit(time.sleep, duration_ms / 1000)
    return time.perf_counter() - began_s


def compare(measure: Callable[[Shape, int | None], float], shape: Shape) -> dict[str, float]:
    """Measure a shape with every setting, by label."""
    settings: Sequence[int | None] = (*range(1, CONCURRENCY_MAX + 1), None)
    return {"dynamic" if setting is None else f"fixed {setting}": measure(shape, setting) for setting in settings}


def compute_excess(found: dict[str, float]) -> float:
    """Return by how much the dynamic lane was slower than the best fixed one, as a share of it."""
    return found["dynamic"] / min(value for label, value in found.items() if label != "dynamic") - 1


def compare_real(rounds: int) -> dict[str, dict[str, list[float]]]:
    """Seconds of real runs: least, median and most."""
    figures = {}
    for name, shape in make_shapes().items():
        found = [compare(run_real, shape) for _ in range(rounds)]
        figures[name] = {
            label: [pick([each[label] for each in found]) for pick in (min, statistics.median, max)]
            for label in found[0]
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
        ranges = compare_real(options.rounds)
        figures: dict[str, Any] = ranges
        medians = {name: {label: each[1] for label, each in found.items()} for name, found in ranges.items()}
    else:
        figures = medians = {name: compare(simulate, shape) for name, shape in make_shapes().items()}
    if options.json:
        print(json.dumps(figures))
        return
    for name, found in medians.items():
        spread = " ({:.2f} to {:.2f})".format(*figures[name]["dynamic"][::2]) if options.real else ""
        cells = " ".join(f"{label} {value:6.2f} s" for label, value in found.items())
        print(f"{name:12} {cells}{spread} {compute_excess(found):+6.1%}")


if __name__ == "__main__":
    main()
