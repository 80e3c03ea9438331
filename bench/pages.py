"""Pages that a model reads: how much of what the server allows is used, and what it costs in processor time.

    python bench/pages.py [--pages 1000] [--latency 2.0] [--in-flight 50] [--json]

The server is `inorder.testing.ModelServer` in a process of its own: it answers every page after the same time. The
limit is the time that so many pages take if so many requests are always in flight. The clock starts with the first
request: the first reading of the documents, by the rules, comes before it.
"""

import argparse
import json
import multiprocessing
import os
import resource
import sys
import tempfile
import time
from itertools import count
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from inorder.documents.convert.settings import ConvertSettings
from inorder.models.limits import ServerLimits
from inorder.pipeline.run import RunRequest, run_pipeline
from inorder.pipeline.steps import PipelineSettings
from inorder.stage.options import StageOptions
from inorder.testing import ModelServer

sys.path.insert(0, os.fspath(Path(__file__).resolve().parents[1]))

from tests.pipeline.scans import write_scans

PAGES_PER_FILE = 20
TEXT = " ".join(f"On day {day} the keeper lights lamp {day * day} at dusk, and trims its wick." for day in range(15))


def serve(connection: Connection, latency_s: float) -> None:
    """Answer until the other end says so; then send what was counted."""
    numbers = count()
    began_s: list[float] = []

    def answer(request: Any) -> str:
        began_s.append(time.time() - latency_s)
        return f"## Page {next(numbers)}\n\n{TEXT}"

    with ModelServer(answer=answer, latency_s=latency_s) as server:
        connection.send(server.url)
        connection.recv()
        used = os.times()
        connection.send((server.answered.total(), server.in_flight_max, min(began_s), used.user + used.system))


def measure(folder: Path, pages: int, latency_s: float, in_flight: int) -> dict[str, float]:
    """Read so many pages, and return what it took."""
    write_scans(folder / "docs", *[PAGES_PER_FILE] * (pages // PAGES_PER_FILE))
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    server = context.Process(target=serve, args=(there, latency_s))
    server.start()
    settings = PipelineSettings(
        convert=ConvertSettings(reader=f"vision:{here.recv()}#m"), model=ServerLimits(in_flight=in_flight)
    )
    options = StageOptions(data=folder / "data", policy="cpu", progress="none")
    before = os.times()
    run_pipeline(RunRequest(sources=(os.fspath(folder / "docs"),), settings=settings, options=options))
    ended_s, after = time.time(), os.times()
    here.send("end")
    answered, in_flight_max, began_s, server_s = here.recv()
    server.join()
    limit_s, took_s = pages * latency_s / in_flight, ended_s - began_s
    return {
        "pages": pages,
        "answered": answered,
        "in_flight_max": in_flight_max,
        "limit_s": limit_s,
        "took_s": round(took_s, 2),
        "share": round(limit_s / took_s, 3),
        "driver_ms_per_page": round(1000 * (after.user + after.system - before.user - before.system) / pages, 2),
        "workers_ms_per_page": round(
            1000
            * (after.children_user + after.children_system - before.children_user - before.children_system)
            / pages,
            2,
        ),
        "server_ms_per_page": round(1000 * server_s / pages, 2),
        "driver_mb_max": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024),
        "load": os.getloadavg()[0],
    }


def main() -> None:
    """Measure once, and print it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pages", type=int, default=1000)
    parser.add_argument("--latency", type=float, default=2.0)
    parser.add_argument("--in-flight", type=int, default=50)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        found = measure(Path(folder), given.pages, given.latency, given.in_flight)
    print(json.dumps(found) if given.json else "\n".join(f"{name:20} {value}" for name, value in found.items()))


if __name__ == "__main__":
    main()
