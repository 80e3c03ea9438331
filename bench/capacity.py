"""What one driver sustains: the commit lane behind a cluster that is never the bottleneck.

    python bench/capacity.py [--quick] [--json] [--folder DIR]

No-op items from simulated remote workers: an engine in this process that answers every batch at once with ready-made
envelopes. Everything else is real: kernel, runtime, commit thread, journal with policy `batch` on the disk of the
folder, and the sinks of a stage. Each row adds something to the one above it:

* `kernel and runtime`: results are acknowledged at once, nothing is written
* `journal`: outcomes and commits are journaled and synced, no sink
* `manifest`: one row an item, with the fields of a stage
* `one file an item`: 1 kB, renamed into its place; workers have written it before, and that is not in the time
* `with its fingerprint`: two files an item, as a stage publishes them by default
* `whole stage`: the same through `run_stage`, with hashing of the plan, resume checks, progress and telemetry

Columns are workers x items in a batch; with `--json` it also says how large the batches really were. The shapes of a
row are taken in turns, and the best of the rounds counts: other work on the machine only ever adds. The peak of the
process is told in the end.
"""

import argparse
import json
import os
import tempfile
import threading
import time
import zlib
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

from inorder import StageOptions, StagePlan, WorkItem, run_stage
from inorder.core.events import Envelope, Event, Finished, Pulled
from inorder.core.options import KernelOptions, WindowOptions
from inorder.core.transitions import State
from inorder.core.windows.plan import PlanItem
from inorder.engines.base import Batch, Task
from inorder.host.clock import SystemClock
from inorder.host.filesystem import SystemFilesystem
from inorder.journal.records import Header
from inorder.runtime.durable_run import DurableJob, DurableRun
from inorder.runtime.loop import Runtime
from inorder.sinks.manifest import ManifestSink
from inorder.sinks.outputs import OutputsSink
from inorder.stage.manifest.entries import describe_entry
from inorder.stage.manifest.rows import make_row
from inorder.stage.plan_identity import identify_item
from inorder.stage.worker import StageResult, StageTask

CONTENTS = b"x" * 1000
SUCCESS = int(State.TERMINAL_SUCCESS)
ROWS = ("kernel and runtime", "journal", "manifest", "one file an item", "with its fingerprint", "whole stage")
FILES = {"one file an item": 1, "with its fingerprint": 2, "whole stage": 2}
"""Files that each item publishes."""


class Shape(NamedTuple):
    """Of the cluster."""

    workers: int
    batch: int

    def options(self) -> KernelOptions:
        """Windows large enough that every worker's fair share is a whole batch."""
        entries = min(65_536, self.workers * self.batch)
        return KernelOptions(windows=WindowOptions(entries=entries, entries_max=entries, plan_ahead=entries))


class InstantEngine:
    """Workers that have every answer ready. `made(number)` is what an item has come to."""

    def __init__(self, shape: Shape, made: Callable[[int], Any], prepare: Callable[[], None] = lambda: None) -> None:
        self._shape = shape
        self._made = made
        self._prepare = prepare
        self._events: list[Event] = []
        self._woken = threading.Event()
        self.batches = 0
        self.began_s = 0.0

    def start(self) -> None:
        """Everybody asks; from now on the time counts."""
        self._prepare()
        self._events.extend(Pulled(worker, self._shape.batch) for worker in range(self._shape.workers))
        self.began_s = time.perf_counter()

    def dispatch(self, batch: Batch) -> None:
        """Answer."""
        envelopes = [Envelope(seq, attempt, SUCCESS, self._made(seq), 100) for seq, attempt, _ in batch.tasks]
        self._events += (Finished(batch.worker, envelopes), Pulled(batch.worker, self._shape.batch))
        self.batches += 1

    def stop_worker(self, worker: int, reason: str) -> None:
        """Never asked for."""

    def poll(self, timeout_s: float | None) -> list[Event]:
        """What was answered; if that is nothing, the commit thread is busy and will wake us."""
        if not self._events and self._woken.wait(timeout_s):
            self._woken.clear()
        events, self._events = self._events, []
        return events

    def wake(self) -> None:
        """From the commit thread."""
        self._woken.set()

    def drain(self) -> None:
        """Nothing waits to be started."""

    def close(self, grace_s: float = 0.0) -> list[Task]:
        """Nothing to end."""
        return []


def item_of(number: int, files: int) -> WorkItem:
    """One item of a stage."""
    outputs = {"out": path_of(number)} if files else {}
    return WorkItem(item_id=f"item-{number:09}", outputs=outputs, cfg_hash="1")


def path_of(number: int) -> str:
    """Where its output goes: a thousand in a folder."""
    return f"out/{number // 1000:04}/{number:09}.bin"


def plan_of(count: int, files: int) -> Iterator[tuple[PlanItem, StageTask]]:
    """As the stage runner makes it."""
    for number in range(count):
        item = item_of(number, files)
        yield PlanItem(item_id=item.item_id), StageTask(item)


def stage_files(staging: Path, count: int) -> None:
    """What workers would have written."""
    staging.mkdir(parents=True, exist_ok=True)
    for number in range(count):
        descriptor = os.open(staging / str(number), os.O_WRONLY | os.O_CREAT)
        os.write(descriptor, CONTENTS)
        os.close(descriptor)


def result_with(staging: Path, files: int) -> Callable[[int], StageResult]:
    """What an item has come to, with this many files that wait in `staging`."""
    size, checksum = len(CONTENTS), zlib.crc32(CONTENTS)

    def made(seq: int) -> StageResult:
        paths = (path_of(seq), f"{path_of(seq)}.fp.json")[:files]
        staged = [f"{staging}/{seq * files + number}" for number in range(files)]
        return StageResult({}, [(path, size, checksum) for path in paths], staged, "", [], [])

    return made


def acknowledge(run: Any, items: Sequence[Any]) -> int:
    """Acknowledge at once."""
    return run.end


def run_bare(engine: InstantEngine, count: int, shape: Shape, folder: Path) -> None:
    """Nothing is kept."""
    Runtime(plan_of(count, 0), engine, acknowledge, SystemClock(), options=shape.options(), total=count).run()


def run_kept(engine: InstantEngine, count: int, shape: Shape, folder: Path, *, row: str) -> None:
    """With a journal, and sinks as the row says."""
    filesystem, files = SystemFilesystem(), FILES.get(row, 0)
    sinks: list[Any] = []
    if files:
        sinks.append(OutputsSink(filesystem, str(folder / "data"), staging=str(folder / "staging")))
    if row != "journal":
        sinks.append(ManifestSink(filesystem, str(folder / "manifest.jsonl"), partial(make_row, "bench")))
    job = DurableJob(
        filesystem=filesystem,
        path=str(folder / "run.journal"),
        header=Header("bench", "", "", [sink.name for sink in sinks]),
        sinks=sinks,
        identify=lambda task: identify_item(task.item),
        describe=partial(describe_entry, "", StagePlan("capacity", [])),
        commit_thread=True,
    )
    plan, clock = plan_of(count, files), SystemClock()
    DurableRun(job, job.open(), plan, engine, clock, shape.options(), total=count).run()


def run_whole(engine: InstantEngine, count: int, shape: Shape, folder: Path) -> None:
    """The stage runner itself, with our engine in the place of its own, and our windows."""
    plan = StagePlan("bench", (item_of(number, 1) for number in range(count)), count)
    options = StageOptions(data=folder / "data", policy="io", progress="none")
    with (
        mock.patch("inorder.stage.run.create_stage_engine", return_value=engine),
        mock.patch("inorder.stage.run.make_kernel_options", return_value=shape.options()),
    ):
        outcome = run_stage(plan, print, options)
    if outcome.succeeded != count:
        raise SystemExit(f"the stage went wrong: {outcome}")


def measure_row(row: str, count: int, shape: Shape, within: Path) -> dict[str, float]:
    """One run of one row, in a folder of its own."""
    files = FILES.get(row, 0)
    with tempfile.TemporaryDirectory(dir=within) as name:
        folder = Path(name)
        staging = folder / ("data/.staging/bench" if row == "whole stage" else "staging")
        made = result_with(staging, files)
        prepare = partial(stage_files, staging, count * files) if files else lambda: None
        engine = InstantEngine(shape, made, prepare)
        run = {"kernel and runtime": run_bare, "whole stage": run_whole}.get(row, partial(run_kept, row=row))
        run(engine, count, shape, folder)
        seconds = time.perf_counter() - engine.began_s
    return {"us": seconds / count * 1e6, "items_per_s": count / seconds, "items_per_batch": count / engine.batches}


def measure(*, quick: bool, folder: Path) -> dict[str, Any]:
    """Everything: each row in each shape."""
    scale, rounds = (10, 1) if quick else (1, 3)
    shapes = (Shape(100, 64), Shape(100, 512), Shape(1000, 64))
    found: dict[str, Any] = {"rows": {}}
    measure_row("manifest", 2000, shapes[0], folder)  # warm-up
    for row in ROWS:
        count = (20_000 if row in FILES else 100_000) // scale
        best: dict[str, Any] = {}
        for _ in range(rounds):
            for shape in shapes:
                name = f"{shape.workers} x {shape.batch}"
                taken = measure_row(row, count, shape, folder)
                if name not in best or taken["us"] < best[name]["us"]:
                    best[name] = taken
        found["rows"][row] = best
    found["peak_mb"] = _peak_mb()
    return found


def _peak_mb() -> float:
    with open("/proc/self/status", encoding="ascii") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmHWM:")) / 1000


def words(found: dict[str, Any]) -> list[str]:
    """For people."""
    shapes = list(next(iter(found["rows"].values())))
    head = " | ".join(f"{shape}: items/s | µs" for shape in shapes)
    lines = [f"| | {head} |", "|---|" + "---|---|" * len(shapes)]
    for row, by_shape in found["rows"].items():
        cells = " | ".join(f"{figures['items_per_s']:,.0f} | {figures['us']:.1f}" for figures in by_shape.values())
        lines.append(f"| {row} | {cells} |")
    return [*lines, "", f"peak of the process: {found['peak_mb']:.0f} MB"]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a tenth of everything, one round")
    parser.add_argument("--json", action="store_true")
    parser.add_argument(
        "--folder", type=Path, default=Path(tempfile.gettempdir()), help="a folder on the disk in question"
    )
    options = parser.parse_args()
    found = measure(quick=options.quick, folder=options.folder)
    print(json.dumps(found) if options.json else "\n".join(words(found)))


if __name__ == "__main__":
    main()
