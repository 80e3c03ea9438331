"""How much memory the whole pipeline takes for few and for many small documents.

    python bench/memory.py [--documents N] [--times M] [--folder DIR] [--json]

Runs commands over N and over N x M documents, those of `pipeline.py`, and prints the peak of each in megabytes:

* `first`: `inorder run` from files to the index (target for 1,000,000 documents: 1.3 times the peak with 10,000)
* `again`: the same when nothing has changed
* `changed`: the same with 1 % of the documents changed
* `verify`, `search`, `export`: what reads the results

`driver` is the process that was started, `largest` the largest of all processes, both as the operating system keeps
their peak of resident memory. `sum` is the highest sum of all processes at one time, with memory that they share
counted once (PSS); it is sampled. A million documents (`--documents 10000 --times 100`) take about an hour of one core,
and 8 GB of disk.
"""

import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from commands import make_environment
from notes import change_notes, make_notes, make_words
from pipeline import RACY_S

SAMPLE_S = 0.1
SUM_SAMPLE_S = 1.0
"""How often the sum is taken. It costs the kernel a walk over all pages."""


class Peak(NamedTuple):
    """What the processes of one command took at most, in megabytes."""

    driver: float
    largest: float
    sum: float


def measure_command(arguments: list[str], environment: dict[str, str]) -> Peak:
    """Run a command of inorder, and watch its processes."""
    command = [sys.executable, "-m", "inorder", *arguments]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, env=environment)
    peaks: dict[int, float] = {}
    total = sampled_s = 0.0
    while process.poll() is None:
        pids = list(list_tree(process.pid))
        for pid in pids:
            peaks[pid] = max(peaks.get(pid, 0.0), read_field(pid, "status", "VmHWM"))
        if time.monotonic() - sampled_s > SUM_SAMPLE_S:
            sampled_s = time.monotonic()
            total = max(total, sum(read_field(pid, "smaps_rollup", "Pss") for pid in pids))
        time.sleep(SAMPLE_S)
    if process.returncode:
        raise SystemExit(f"inorder {' '.join(arguments)} ended with {process.returncode}")
    return Peak(peaks.get(process.pid, 0.0), max(peaks.values()), total)


def list_tree(pid: int) -> Iterator[int]:
    """A process and all below it."""
    yield pid
    try:
        for thread in os.listdir(f"/proc/{pid}/task"):
            for child in Path(f"/proc/{pid}/task/{thread}/children").read_text().split():
                yield from list_tree(int(child))
    except OSError:
        return


def read_field(pid: int, file: str, name: str) -> float:
    """A field of a file in `/proc`, in megabytes; 0 if the process has ended."""
    try:
        lines = Path(f"/proc/{pid}/{file}").read_text().splitlines()
    except OSError:
        return 0.0
    return next((int(line.split()[1]) / 1000 for line in lines if line.startswith(f"{name}:")), 0.0)


def measure(count: int, folder: Path) -> dict[str, Peak]:
    """The peaks of all commands with this many documents."""
    sources, data, environment = folder / "documents", folder / "data", make_environment(folder)
    make_notes(sources, count)
    time.sleep(RACY_S)
    run = ["run", str(sources), "--data", str(data), "--quiet", "--dense", "hash"]
    found = {name: measure_command(run, environment) for name in ("first", "again")}
    change_notes(sources, count)
    found["changed"] = measure_command(run, environment)
    word = make_words(random.Random(0))[1]  # the most frequent one
    found["verify"] = measure_command(["verify", "--data", str(data)], environment)
    found["search"] = measure_command(["search", word, "--data", str(data), "--mode", "hybrid"], environment)
    target = str(folder / "exported")
    found["export"] = measure_command(["export", "all", "--data", str(data), "--to", target], environment)
    return found


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--documents", type=int, default=10_000)
    parser.add_argument("--times", type=int, default=10, help="how many times as many documents to compare with")
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()), help="a folder with enough space")
    parser.add_argument("--json", action="store_true")
    chosen = parser.parse_args()
    counts = (chosen.documents, chosen.documents * chosen.times)
    found: dict[int, dict[str, Peak]] = {}
    for count in counts:
        folder = Path(tempfile.mkdtemp(prefix="inorder-bench-", dir=chosen.folder))
        try:
            found[count] = measure(count, folder)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
    rows = [compare(name, *(found[count][name] for count in counts)) for name in found[counts[0]]]
    if chosen.json:
        print(json.dumps({"documents": counts, "rows": rows}))
        return
    print(f"{'MB':10} " + "".join(f"{name:>30}" for name in Peak._fields))
    for row in rows:
        cells = (f"{row[each][0]:10.0f} {row[each][1]:8.0f} {row[each][2]:7.2f} x" for each in Peak._fields)
        print(f"{row['command']:10} " + "".join(f"{cell:>30}" for cell in cells))


def compare(name: str, few: Peak, many: Peak) -> dict[str, Any]:
    """Both peaks of a command, and how many times the second one is the first."""
    pairs = zip(Peak._fields, few, many, strict=True)
    return {"command": name} | {each: (low, high, high / low) for each, low, high in pairs}


if __name__ == "__main__":
    main()
