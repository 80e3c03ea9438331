"""No-op tasks through a lane, compared with `concurrent.futures.ThreadPoolExecutor` in the same run.

    python bench/lanes.py [--tasks 50000] [--workers 4] [--rounds 7] [--json]

Three situations: *flood* submits everything and waits for the end, *bounded* does the same through a lane with a short
queue and a submitter that blocks (the executor has no bound, so it is the same flood), *round trip* waits for each
result before the next submission. Rounds alternate between the two, so that a busy machine disturbs both alike.
Figures are medians; a ratio above 1 means that the lane does more tasks per second.
"""

import argparse
import json
import statistics
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from inorder.lanes import Lane, LaneConfig

UNBOUNDED = 2**30
SHORT = 64


def nothing() -> None:
    """The task."""


def flood_executor(tasks: int, workers: int) -> float:
    """Tasks per second of the executor, from the first submission to the last end."""
    began_s = time.perf_counter()
    with ThreadPoolExecutor(workers) as executor:
        futures = [executor.submit(nothing) for _ in range(tasks)]
    seconds = time.perf_counter() - began_s
    if not all(future.done() for future in futures):
        raise SystemExit("the executor lost tasks")
    return tasks / seconds


def flood_lane(tasks: int, workers: int, capacity: int) -> float:
    """Tasks per second of a lane, from the first submission to the last end."""
    config = LaneConfig(name="bench", max_concurrency=workers, capacity=capacity)
    began_s = time.perf_counter()
    with Lane(config) as lane:
        tickets = [lane.submit(nothing) for _ in range(tasks)]
    seconds = time.perf_counter() - began_s
    if lane.statistics().completed != len(tickets):
        raise SystemExit("the lane lost tasks")
    return tasks / seconds


def round_trips_executor(tasks: int, workers: int) -> float:
    """Round trips per second of the executor."""
    with ThreadPoolExecutor(workers) as executor:
        executor.submit(nothing).result()
        began_s = time.perf_counter()
        for _ in range(tasks):
            executor.submit(nothing).result()
        return tasks / (time.perf_counter() - began_s)


def round_trips_lane(tasks: int, workers: int) -> float:
    """Round trips per second of a lane."""
    with Lane(LaneConfig(name="bench", max_concurrency=workers)) as lane:
        lane.submit(nothing).result()
        began_s = time.perf_counter()
        for _ in range(tasks):
            lane.submit(nothing).result()
        return tasks / (time.perf_counter() - began_s)


def compare(rounds: int, executor: Callable[[], float], lane: Callable[[], float]) -> dict[str, float]:
    """Medians of both, and of the ratio within each round."""
    pairs = [(executor(), lane()) for _ in range(rounds)]
    return {
        "executor_tasks_per_s": round(statistics.median(theirs for theirs, _ in pairs)),
        "lane_tasks_per_s": round(statistics.median(ours for _, ours in pairs)),
        "ratio": round(statistics.median(ours / theirs for theirs, ours in pairs), 2),
    }


def main() -> None:
    """Measure and print one line each, or one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tasks", type=int, default=50_000)
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    tasks, workers = options.tasks, options.workers
    trips = max(1, tasks // 10)
    figures = {
        "flood": compare(
            options.rounds, lambda: flood_executor(tasks, workers), lambda: flood_lane(tasks, workers, UNBOUNDED)
        ),
        "bounded": compare(
            options.rounds, lambda: flood_executor(tasks, workers), lambda: flood_lane(tasks, workers, SHORT)
        ),
        "round_trip": compare(
            options.rounds, lambda: round_trips_executor(trips, workers), lambda: round_trips_lane(trips, workers)
        ),
    }
    if options.json:
        print(json.dumps(figures))
        return
    print(f"{'situation':12} {'executor/s':>12} {'lane/s':>12} {'ratio':>7}   ({workers} workers)")
    for situation, found in figures.items():
        print(
            f"{situation:12} {found['executor_tasks_per_s']:>12,} {found['lane_tasks_per_s']:>12,} {found['ratio']:>7}"
        )


if __name__ == "__main__":
    main()
