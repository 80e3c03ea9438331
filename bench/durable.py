"""What a durable step that does nothing costs: `imap(journal=)` beside DBOS, an embedded engine for durable workflows.

    python bench/durable.py [--quick] [--json]

Both run in this process and keep their state in a file: inorder a journal, DBOS an SQLite database. The figure is the
processor time per step, in microseconds, of all threads and of the worker processes with their start, for each of the
rounds, taken in turn. DBOS is left out if it is not installed; `make bench-durable` installs it.
"""

import argparse
import functools
import json
import logging
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import inorder

WORKERS = {"inline": 1, "threads": 2, "processes": 2}


def noop(number: int) -> int:
    """Return the number."""
    return number


def measure_step_us(act: Callable[[int], object], count: int) -> float:
    """Return the processor time per step, in microseconds."""
    act(1)
    began_s = sum(os.times()[:4])
    act(count)
    return (sum(os.times()[:4]) - began_s) / count * 1e6


def iterate(folder: Path, where: str, count: int) -> int:
    """Run that many steps with a journal."""
    path = folder / f"{where}-{time.monotonic_ns()}.journal"
    results = inorder.imap(noop, range(count), where=where, workers=WORKERS[where], journal=path)  # type: ignore[call-overload]
    return sum(1 for _ in results)


def open_dbos(folder: Path) -> Callable[[int], object] | None:
    """Return a workflow of that many steps, or None if DBOS is not installed."""
    try:
        from dbos import DBOS
    except ImportError:
        return None
    logging.disable(logging.WARNING)
    address = f"sqlite:///{folder}/steps.sqlite"
    DBOS(config={"name": "bench", "system_database_url": address, "log_level": "ERROR"})
    step = DBOS.step()(noop)

    @DBOS.workflow()
    def run_steps(count: int) -> int:
        return sum(step(number) for number in range(count))

    DBOS.launch()
    return run_steps


def measure(rounds: int, items: int, steps: int) -> dict[str, list[float]]:
    """Return the figure of each round, by tool."""
    found: dict[str, list[float]] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        workflow = open_dbos(folder)
        for _ in range(rounds):
            for where in WORKERS:
                figure = measure_step_us(functools.partial(iterate, folder, where), items)
                found.setdefault(f"inorder, {where}", []).append(round(figure, 1))
            if workflow is not None:
                found.setdefault("DBOS on SQLite", []).append(round(measure_step_us(workflow, steps), 0))
    return found


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    figures = measure(1, 5_000, 200) if arguments.quick else measure(5, 50_000, 2_000)
    if arguments.json:
        print(json.dumps(figures))
    else:
        for tool, values in figures.items():
            print(f"{tool}: {', '.join(str(value) for value in values)} µs of processor time per step")
