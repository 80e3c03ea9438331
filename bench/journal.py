"""What a journal costs.

    python bench/journal.py [--quick] [--json]

* `policies`: commits a second at each fsync policy, and microseconds an item, for items that do nothing, with a
  manifest of one row an item; beside the same run without a journal
* `noop`: microseconds an item that `journal=` with policy `batch` adds to `imap` over no-ops (target: at most 10)
* `millisecond`: the same over items of 1 ms in two processes, as a ratio (target: at most 1.05)
* `replay`: records that a start can read in a second of the processor (target: at least 300,000), for a journal of
  single commits, the worst case
* `bytes`: bytes of journal an item, of an iteration and of a run with a manifest (target: at most 40)

The figures of one pair are taken in turns, and the median of the rounds counts: the machine has other work too.
"""

import argparse
import json
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import inorder
from inorder.core.options import KernelOptions
from inorder.core.transitions import State
from inorder.core.windows.plan import PlanItem
from inorder.engines.inline import InlineEngine
from inorder.host.clock import SystemClock
from inorder.host.filesystem import SystemFilesystem
from inorder.journal.records import Commit, Header, Terminal, encode_record
from inorder.journal.replay import replay
from inorder.journal.scan import scan
from inorder.journal.writer import FSYNC_POLICIES, JournalOptions
from inorder.runtime.durable_run import DurableJob, DurableRun
from inorder.runtime.loop import Runtime
from inorder.sinks.base import Entry
from inorder.sinks.manifest import ManifestSink


def noop(number: int) -> int:
    """Nothing."""
    return number


def compute(number: int) -> int:
    """A millisecond of the processor."""
    until_s = time.thread_time() + 0.001
    while time.thread_time() < until_s:
        pass
    return number


def row(entry: Entry) -> dict[str, Any]:
    """Of the manifest."""
    return {"seq": entry.seq, "outcome": entry.outcome, "value": entry.payload}


def timed(act: Callable[[], Any]) -> float:
    """Seconds."""
    began_s = time.perf_counter()
    act()
    return time.perf_counter() - began_s


def run_with(folder: Path, policy: Any, count: int) -> tuple[float, int, int]:
    """Seconds, commit runs and journal bytes of a run with a manifest."""
    filesystem = SystemFilesystem()
    sink = ManifestSink(filesystem, str(folder / f"{policy}.jsonl"), row)
    path = folder / f"{policy}.journal"
    job = DurableJob(
        filesystem=filesystem,
        path=str(path),
        header=Header("bench", "", "", [sink.name]),
        sinks=[sink],
        options=JournalOptions(fsync=policy),
    )
    plan = ((PlanItem(), number) for number in range(count))
    seconds = timed(lambda: DurableRun(job, job.open(), plan, InlineEngine(noop), SystemClock(), KernelOptions()).run())
    runs = sum(isinstance(found.record, Terminal) for found in scan(path.read_bytes()).records)
    return seconds, runs, path.stat().st_size


def run_without(count: int) -> float:
    """Seconds of the same run with nothing kept."""
    plan = ((PlanItem(), number) for number in range(count))

    def commit(run: Any, items: Any) -> int:
        return run.end

    return timed(lambda: Runtime(plan, InlineEngine(noop), commit, SystemClock(), options=KernelOptions()).run())


def measure_policies(folder: Path, count: int) -> dict[str, Any]:
    """Each policy beside no journal at all."""
    found: dict[str, Any] = {"none": {"us": run_without(count) / count * 1e6}}
    for policy in FSYNC_POLICIES:
        seconds, runs, size = run_with(folder, policy, count)
        found[policy] = {
            "us": seconds / count * 1e6,
            "commits_per_s": runs / seconds,
            "items_per_commit": count / runs,
            "journal_bytes": size / count,
        }
    return found


def iterate(function: Any, count: int, path: Path | None, where: Any) -> float:
    """Seconds from the first result to the last."""
    settings = {} if path is None else {"journal": path}
    if path is not None:
        path.unlink(missing_ok=True)
    results = inorder.imap(function, range(count), where=where, **settings)  # type: ignore[arg-type]
    next(results)
    return timed(lambda: sum(1 for _ in results))


def measure_pair(function: Any, folder: Path, count: int, where: Any, rounds: int) -> tuple[float, float]:
    """Median seconds without and with a journal, taken in turns."""
    without, with_ = [], []
    for _ in range(rounds):
        without.append(iterate(function, count, None, where))
        with_.append(iterate(function, count, folder / "imap.journal", where))
    return statistics.median(without), statistics.median(with_)


def measure_replay(count: int) -> float:
    """Records a second, one commit an item."""
    data = bytearray(encode_record(Header("bench", "", "")))
    for start in range(0, count, 100):
        data += encode_record(Terminal(start, bytes([State.TERMINAL_SUCCESS]) * 100))
        for seq in range(start, start + 100):
            data += encode_record(Commit(seq + 1, len(data), [], b"12345678"))
    found = bytes(data)
    began_s = time.process_time()
    replay(scan(found).records)
    return (count + count // 100) / (time.process_time() - began_s)


def measure(*, quick: bool) -> dict[str, Any]:
    """Everything."""
    scale = 10 if quick else 1
    rounds = 1 if quick else 5
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        noops, items = 50_000 // scale, 2_000 // scale
        plain, journaled = measure_pair(noop, folder, noops, "inline", rounds)
        size = (folder / "imap.journal").stat().st_size
        plain_ms, journaled_ms = measure_pair(compute, folder, items, "processes", rounds)
        policies = measure_policies(folder, 50_000 // scale)
    return {
        "policies": policies,
        "noop_us_added": (journaled - plain) / noops * 1e6,
        "millisecond_ratio": journaled_ms / plain_ms,
        "replay_per_s": measure_replay(200_000 // scale),
        "bytes_per_item": {"iteration": size / noops, "run with a manifest": policies["batch"]["journal_bytes"]},
    }


def words(found: dict[str, Any]) -> list[str]:
    """For people."""
    lines = ["| fsync | µs an item | commits/s | items a commit |", "|---|---|---|---|"]
    for policy, figures in found["policies"].items():
        commits = f"{figures['commits_per_s']:.0f}" if "commits_per_s" in figures else ""
        together = f"{figures['items_per_commit']:.0f}" if "items_per_commit" in figures else ""
        lines.append(f"| {policy} | {figures['us']:.1f} | {commits} | {together} |")
    sizes = ", ".join(f"{name} {size:.1f}" for name, size in found["bytes_per_item"].items())
    return [
        *lines,
        "",
        f"imap(journal=), batch, no-op items: {found['noop_us_added']:.1f} µs an item more (target: at most 10)",
        f"imap(journal=), batch, items of 1 ms: {found['millisecond_ratio']:.3f} times as long (target: at most 1.05)",
        f"replay: {found['replay_per_s']:,.0f} records a second (target: at least 300,000)",
        f"journal bytes an item: {sizes} (target: at most 40)",
    ]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a tenth of everything, one round")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    found = measure(quick=options.quick)
    print(json.dumps(found) if options.json else "\n".join(words(found)))


if __name__ == "__main__":
    main()
