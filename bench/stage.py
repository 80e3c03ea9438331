"""What a stage costs beside bare `imap`.

    python bench/stage.py [--quick] [--json]

* `noop` and `millisecond`: microseconds an item of `run_stage` with manifest, journal, fingerprints and an output of
  1 kB, beside `imap` over the same function in as many processes, which writes the same kilobyte to a file of its own
  (target: items of 1 ms at most 1.10 times `imap`)
* `rerun`: seconds for 10,000 satisfied items, fingerprints on (target: at most 1 s)
* `memory`: the parent's peak over its start for 10,000 and for 1,000,000 no-op items (target: flat, but for a byte an
  item and 12 to 24 more for its id)

Pairs are taken in turns, and the median of the rounds counts: the machine has other work too.
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from inorder import StageOptions, StagePlan, WorkItem, imap, run_stage

WORKERS = 2
OUTPUT = b"x" * 1000


def compute(seconds: float) -> None:
    """Use the processor for this long."""
    until_s = time.thread_time() + seconds
    while time.thread_time() < until_s:
        pass


def staged_noop(item: WorkItem, context: Any) -> None:
    """A kilobyte."""
    context.output("out").write_bytes(OUTPUT)


def staged_millisecond(item: WorkItem, context: Any) -> None:
    """A millisecond and a kilobyte."""
    compute(0.001)
    context.output("out").write_bytes(OUTPUT)


def bare_noop(path: str) -> None:
    """A kilobyte."""
    Path(path).write_bytes(OUTPUT)


def bare_millisecond(path: str) -> None:
    """A millisecond and a kilobyte."""
    compute(0.001)
    Path(path).write_bytes(OUTPUT)


def nothing(item: WorkItem) -> None:
    """Nothing."""


def items(count: int) -> list[WorkItem]:
    """Of a plan."""
    return [
        WorkItem(item_id=f"{number:07}", outputs={"out": f"out/{number % 100:02}/{number:07}.bin"}, cfg_hash="1")
        for number in range(count)
    ]


def run(worker: Callable[..., Any], count: int, data: Path) -> float:
    """Seconds of a stage."""
    options = StageOptions(data=data, policy="cpu", workers=WORKERS, progress="none")
    began_s = time.perf_counter()
    outcome = run_stage(StagePlan("bench", items(count), count), worker, options)
    if outcome.failed or outcome.succeeded + outcome.skipped != count:
        raise SystemExit(f"the stage went wrong: {outcome}")
    return time.perf_counter() - began_s


def run_bare(worker: Callable[[str], None], count: int, folder: Path) -> float:
    """Seconds of `imap`."""
    for number in range(100):
        (folder / f"{number:02}").mkdir(parents=True, exist_ok=True)
    paths = [f"{folder}/{number % 100:02}/{number:07}.bin" for number in range(count)]
    began_s = time.perf_counter()
    for _ in imap(worker, paths, workers=WORKERS):
        pass
    return time.perf_counter() - began_s


def measure_pair(staged: Any, bare: Any, count: int, rounds: int) -> dict[str, float]:
    """Microseconds an item of each, and the ratio."""
    with_stage, with_imap = [], []
    for _ in range(rounds):
        with tempfile.TemporaryDirectory() as name:
            with_imap.append(run_bare(bare, count, Path(name) / "bare"))
            with_stage.append(run(staged, count, Path(name) / "data"))
    stage_us, imap_us = (statistics.median(taken) / count * 1e6 for taken in (with_stage, with_imap))
    best = min(with_stage) / min(with_imap)
    return {"stage_us": stage_us, "imap_us": imap_us, "ratio": stage_us / imap_us, "best_ratio": best}


def measure_rerun(count: int) -> float:
    """Seconds for items that are all satisfied; the second rerun, when no file is fresh any more."""
    with tempfile.TemporaryDirectory() as name:
        data = Path(name) / "data"
        run(staged_noop, count, data)
        run(staged_noop, count, data)
        return run(staged_noop, count, data)


def peak_mb(count: int) -> float:
    """The parent's peak over its start, in a program of its own."""
    ended = subprocess.run(
        [sys.executable, os.path.abspath(__file__), "--peak", str(count)], capture_output=True, text=True, check=True
    )
    return float(ended.stdout)


def print_peak(count: int) -> None:
    """In that program."""

    def plan() -> Iterator[WorkItem]:
        for number in range(count):
            yield WorkItem(item_id=f"{number:07}")

    before = _peak_kb()
    data = tempfile.mkdtemp()
    try:
        run_stage(StagePlan("peak", plan(), count), nothing, StageOptions(data=data, policy="io", progress="none"))
    finally:
        shutil.rmtree(data)
    print((_peak_kb() - before) / 1000)


def _peak_kb() -> int:
    with open("/proc/self/status", encoding="ascii") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmHWM:"))


def measure(*, quick: bool) -> dict[str, Any]:
    """Everything."""
    scale, rounds = (10, 1) if quick else (1, 3)
    return {
        "noop": measure_pair(staged_noop, bare_noop, 10_000 // scale, rounds),
        "millisecond": measure_pair(staged_millisecond, bare_millisecond, 4_000 // scale, rounds),
        "rerun_s": measure_rerun(10_000 // scale),
        "peak_mb": {count: peak_mb(count) for count in (10_000 // scale, 1_000_000 // scale)},
    }


def words(found: dict[str, Any]) -> list[str]:
    """For people."""
    lines = ["| items | run_stage, µs | imap, µs | ratio | best rounds |", "|---|---|---|---|---|"]
    for name in ("noop", "millisecond"):
        figures = found[name]
        lines.append(
            f"| {name} | {figures['stage_us']:.0f} | {figures['imap_us']:.0f} | {figures['ratio']:.2f} | "
            f"{figures['best_ratio']:.2f} |"
        )
    peaks = ", ".join(f"{count:,} items {peak:.1f} MB" for count, peak in found["peak_mb"].items())
    return [*lines, "", f"rerun of satisfied items: {found['rerun_s']:.2f} s", f"peak over the start: {peaks}"]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a tenth of everything, one round")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--peak", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.peak is not None:
        print_peak(options.peak)
        return
    found = measure(quick=options.quick)
    print(json.dumps(found) if options.json else "\n".join(words(found)))


if __name__ == "__main__":
    main()
