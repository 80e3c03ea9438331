"""What a setting changes: the examples of `docs/guides/tuning.md`, each with two or more values side by side.

    python bench/tuning.py [PART...]

Items wait in place of computing where that answers the question, so the figures depend little on other work of the
machine. Every figure is that of one run; the values of a part are taken in turn.
"""

import contextlib
import http.server
import itertools
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from notes import change_notes, make_notes

import inorder

ROUNDS = 3


def wait(seconds: float) -> float:
    """Wait, and return when that ended."""
    time.sleep(seconds)
    return time.monotonic()


def compute(number: int) -> int:
    """Use a processor for 20 ms."""
    until_s = time.thread_time() + 0.02
    while time.thread_time() < until_s:
        pass
    return number


def make_bytes(number: int) -> bytes:
    """Return 200 kB, the first time after 3 s."""
    if number == 0:
        time.sleep(3)
    return os.urandom(200_000)


def stop_once(item: tuple[str, int]) -> int:
    """Stop the process of the worker, the first time that it gets item 5."""
    mark, number = item
    if number == 5 and not os.path.exists(mark):
        Path(mark).touch()
        os.kill(os.getpid(), signal.SIGSTOP)
    return number


def identity(number: float) -> float:
    """Return the number."""
    return number


def time_wall(act: Callable[[], Any]) -> float:
    """Return seconds."""
    began_s = time.monotonic()
    act()
    return time.monotonic() - began_s


def exhaust(*arguments: Any, **options: Any) -> list[Any]:
    """Return all results of `imap`, on threads unless `where` says otherwise."""
    names = inorder.RunOptions.__struct_fields__
    chosen = inorder.RunOptions(**{name: options.pop(name) for name in names if name in options})
    return list(inorder.imap(*arguments, **{"where": "threads"} | options, options=chosen))


def compare(name: str, values: dict[str, Callable[[], str]], rounds: int = ROUNDS) -> None:
    """Print what each value gives, in turn."""
    found: dict[str, list[str]] = {value: [] for value in values}
    for _ in range(rounds):
        for value, act in values.items():
            found[value].append(act())
    for value, figures in found.items():
        print(f"{name} {value}: {'; '.join(figures)}", flush=True)


def measure_workers() -> None:
    """1,000 items that wait 20 ms, on threads; 200 items that compute 20 ms, in processes."""
    waiting = {
        f"{n} threads": lambda n=n: (
            f"{time_wall(lambda: exhaust(wait, [0.02] * 1000, workers=n, where='threads')):.1f} s"
        )
        for n in (4, 16, 64)
    }
    compare("workers, items that wait,", waiting)
    computing = {
        f"{n} processes": lambda n=n: (
            f"{time_wall(lambda: exhaust(compute, range(200), workers=n, where='processes')):.1f} s"
        )
        for n in (1, 2, 8)
    }
    compare("workers, items that compute,", computing)


def measure_schedule() -> None:
    """90 items of 10 ms behind 10 of 500 ms, on 4 threads: when half of them were computed, and when all."""
    items = [0.5] * 10 + [0.01] * 90

    def run(schedule: Any, cost: Any) -> str:
        began_s = time.monotonic()
        ended = sorted(at - began_s for at in exhaust(wait, items, workers=4, schedule=schedule, cost=cost))
        return f"half after {ended[len(ended) // 2]:.2f} s, all after {ended[-1]:.2f} s"

    values = {
        "fifo": lambda: run("fifo", None),
        "sjf with cost hints": lambda: run("sjf", identity),
        "sjf without": lambda: run("sjf", None),
    }
    compare("schedule", values)


def measure_adaptive() -> None:
    """400 and 8,000 items that wait 50 ms, on up to 64 threads."""

    def run(folder: Path, count: int, adaptive: bool) -> str:
        items = [inorder.WorkItem(item_id=f"{n}", inputs={}, outputs={}, cfg_hash="1") for n in range(count)]
        options = inorder.StageOptions(
            data=folder / f"{time.monotonic_ns()}", workers=64, adaptive=adaptive, progress="none", telemetry=True
        )
        seconds = time_wall(lambda: inorder.run_stage(inorder.StagePlan("wait", items), wait_item, options))
        return f"{seconds:.1f} s"

    with tempfile.TemporaryDirectory() as name:
        values = {
            f"{word}, {count} items": lambda count=count, adaptive=adaptive: run(Path(name), count, adaptive)
            for count in (400, 8000)
            for word, adaptive in (("off", False), ("on", True))
        }
        compare("adaptive", values)


def wait_item(item: inorder.WorkItem, context: Any) -> dict[str, int]:
    """Wait 50 ms."""
    time.sleep(0.05)
    return {}


def measure_windows() -> None:
    """2,000 items of 10 ms on 4 threads; the tenth takes 3 s."""
    items = [0.01] * 9 + [3.0] + [0.01] * 1990
    values = {
        f"of {n} items": lambda n=n: (
            f"{time_wall(lambda: exhaust(wait, items, workers=4, windows=inorder.Windows(entries=n))):.1f} s"
        )
        for n in (64, 1024, 8192)
    }
    compare("windows", values)


def measure_budgets() -> None:
    """2,000 results of 200 kB on 2 processes, of which the first comes after 3 s: how far memory grows."""

    def run(size: int) -> str:
        code = (
            "import resource, sys, time; sys.path.insert(0, 'bench'); import inorder, tuning\n"
            "if __name__ == '__main__':\n"
            "    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss; began = time.monotonic()\n"
            f"    results = inorder.imap(tuning.make_bytes, range(2000), workers=2,"
            f" options=inorder.RunOptions(buffered_bytes_max={size}))\n"
            "    total = sum(map(len, results)); after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
            "    print(f'{(after - before) // 1024} MB, {time.monotonic() - began:.1f} s')\n"
        )
        with tempfile.TemporaryDirectory() as name:
            script = Path(name) / "results.py"
            script.write_text(code)
            environment = {
                **os.environ,
                "PYTHONPATH": f"{Path(__file__).parent}{os.pathsep}{os.environ.get('PYTHONPATH', '')}",
            }
            return subprocess.run(
                [sys.executable, str(script)], capture_output=True, text=True, check=True, env=environment
            ).stdout.strip()

    compare("buffered_bytes_max", {f"{n} MiB": lambda n=n: run(n * 2**20) for n in (16, 64, 256)})


def measure_leases() -> None:
    """20 items on 2 processes, of which one is stopped (SIGSTOP)."""

    def run(lease_s: float) -> str:
        with tempfile.TemporaryDirectory() as name:
            items = [(f"{name}/mark", number) for number in range(20)]
            return (
                f"{time_wall(lambda: exhaust(stop_once, items, workers=2, where='processes', lease_s=lease_s)):.1f} s"
            )

    compare("lease_s", {f"{n}": lambda n=n: run(n) for n in (2, 20)})


def measure_fsync() -> None:
    """5,000 items that do nothing, with a journal."""

    def run(fsync: Any) -> str:
        with tempfile.TemporaryDirectory(dir=".") as name:
            options = {"where": "inline", "journal": f"{name}/items.journal", "fsync": fsync}
            return f"{time_wall(lambda: exhaust(identity, range(5000), **options)) / 5000 * 1e6:.0f} µs per item"

    compare("fsync", {policy: lambda policy=policy: run(policy) for policy in ("always", "batch", "interval", "off")})


def call_inorder(*arguments: object, **environment: str) -> str:
    """Run a command and return its standard output."""
    command = [sys.executable, "-m", "inorder", *map(str, arguments)]
    finished = subprocess.run(command, env={**os.environ, **environment}, capture_output=True, text=True, check=True)
    return finished.stdout


def measure_shards() -> None:
    """Export the chunks of 10,000 notes, change 100 of them, and export again: what is written."""
    with tempfile.TemporaryDirectory() as name:
        notes, data = Path(name) / "notes", Path(name) / "data"
        make_notes(notes, 10_000)
        call_inorder("run", notes, "--data", data, "--quiet")
        sizes = ("64K", "1M", "128M")
        exports = {size: Path(name) / size for size in sizes}
        for size, folder in exports.items():
            call_inorder("export", "chunks", "--data", data, "--to", folder, "--shard-bytes", size)
        change_notes(notes, 100)  # the first note alone
        call_inorder("run", notes, "--data", data, "--quiet")
        for size, folder in exports.items():
            before = {path.name: path.stat().st_mtime_ns for path in folder.rglob("*.parquet")}
            call_inorder("export", "chunks", "--data", data, "--to", folder, "--shard-bytes", size)
            paths = list(folder.rglob("*.parquet"))
            written = [path.stat().st_size for path in paths if before.get(path.name) != path.stat().st_mtime_ns]
            total = sum(path.stat().st_size for path in paths)
            print(
                f"shard_bytes {size}: {len(paths)} files, {total} bytes; after one change {sum(written)} bytes written"
            )


class _Handler(http.server.BaseHTTPRequestHandler):
    """A server of embeddings that answers after 50 ms."""

    protocol_version = "HTTP/1.1"
    requests = itertools.count()

    def do_POST(self) -> None:
        texts = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["input"]
        next(_Handler.requests)
        time.sleep(0.05)
        rows = [{"index": n, "embedding": [1.0, 0.5, 0.25, 0.125]} for n in range(len(texts))]
        body = json.dumps({"data": rows, "model": "m", "object": "list"}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments: object) -> None:
        pass


@contextlib.contextmanager
def serve_vectors() -> Iterator[str]:
    """Serve vectors, and yield the address."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()


def measure_batches() -> None:
    """Embed 2,000 notes through a server that answers each request after 50 ms."""
    with tempfile.TemporaryDirectory() as name, serve_vectors() as address:
        notes = Path(name) / "notes"
        make_notes(notes, 2000)
        ready = Path(name) / "ready"
        call_inorder("run", notes, "--data", ready, "--dense", "none", "--quiet")

        def run(texts_max: int) -> str:
            data = Path(name) / f"{time.monotonic_ns()}"
            subprocess.run(["cp", "-r", ready, data], check=True)
            before = next(_Handler.requests)
            seconds = time_wall(
                lambda: call_inorder(
                    "run", notes, "--data", data, "--dense", f"openai:{address}#m", "--quiet",
                    INORDER_SERVER_TEXTS_MAX=str(texts_max),
                )
            )  # fmt: skip
            return f"{next(_Handler.requests) - before - 1} requests, {seconds:.1f} s"

        compare("server_texts_max", {f"{n}": lambda n=n: run(n) for n in (8, 32, 128)}, rounds=2)


PARTS = {
    "workers": measure_workers,
    "schedule": measure_schedule,
    "adaptive": measure_adaptive,
    "windows": measure_windows,
    "budgets": measure_budgets,
    "leases": measure_leases,
    "fsync": measure_fsync,
    "shards": measure_shards,
    "batches": measure_batches,
}

if __name__ == "__main__":
    for part in sys.argv[1:] or PARTS:
        PARTS[part]()
