"""What `inorder serve` costs: page loads, searches of many users at once, and the cost to a run that is followed.

    python bench/serve.py [--chunks 100000] [--users 50] [--seconds 20] [--data DIR] [--json]

Pages: the time to load a page with everything that it needs, one request after the other, as a browser without a cache
does on its first visit. Median of 20.

Search: every user asks a question, reads for a second, and asks the next one, over a connection that stays open. The
questions are words that occur in the documents; 50 others were asked before. Time is from the first byte sent to the
last byte received. Processor time is that of the server per request, which other programs on the machine do not change.

Cost to a run: a stage of 50,000 items that do nothing, alone and with a live page open, in turn. Compared are the
processor time of the run, which other programs do not change, and the share of one processor that the server takes.
`--data DIR` uses DATA that is there, with its questions in `questions.json` beside it.
"""

import argparse
import http.client
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote

from search import TOKENS_MAX, make_documents, run_inorder

THINK_S = 1.0
LOADS = 20
WARM_UP = 50
ITEMS = 50_000
ROUNDS = 3
_TICKS_PER_S = os.sysconf("SC_CLK_TCK")
STAGE = """
import inorder

def plan(sources, data):
    return inorder.StagePlan("nothing", (inorder.WorkItem(item_id=str(n)) for n in range({items})), {items})

def work(item):
    return None

stage = inorder.Stage(name="nothing", plan=plan, worker=work)
"""


class Server:
    """A server in a process of its own."""

    def __init__(self, data: Path) -> None:
        command = [sys.executable, "-m", "inorder", "serve", "--data", str(data), "--port", "0", "--no-token"]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        assert self.process.stdout is not None
        self.host = self.process.stdout.readline().split("/")[2]

    def connect(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection(self.host, timeout=120)

    def cpu_s(self) -> float:
        """The processor time of the server so far."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / _TICKS_PER_S

    def resident_mb_max(self) -> float:
        """The largest resident memory of the server so far."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return round(int(status.partition("VmHWM:")[2].split()[0]) / 1024, 1)


@contextmanager
def serve(data: Path) -> Iterator[Server]:
    server = Server(data)
    try:
        yield server
    finally:
        server.process.terminate()
        server.process.wait()


def get(connection: http.client.HTTPConnection, path: str) -> bytes:
    connection.request("GET", path)
    response = connection.getresponse()
    body = response.read()
    if response.status != 200:
        raise SystemExit(f"{path}: {response.status} {body[:200]!r}")
    return body


FRAME = "style.css bar.css pages.css theme.js icon.svg app.js dom.js frame.js api.js"
PAGES = {
    "search": ("/search", f"{FRAME} search.js", ("/api/data", "/api/facets")),
    "files": ("/files", f"{FRAME} files.js", ("/api/data", "/api/file-facets", "/api/files?k=100")),
}
"""The page, its files, and the calls of its script."""


def measure_pages(server: Server) -> dict[str, float]:
    """Milliseconds to load each page."""
    found = {}
    for name, (page, files, calls) in PAGES.items():
        took = []
        for _ in range(LOADS):
            connection = server.connect()
            began_s = time.perf_counter()
            for path in (page, *(f"/static/{file}" for file in files.split()), *calls):
                get(connection, path)
            took.append((time.perf_counter() - began_s) * 1000)
            connection.close()
        found[name] = round(statistics.median(took), 1)
    return found


def measure_search(server: Server, questions: Sequence[str], users: int, seconds: float) -> dict[str, Any]:
    """Latency of searches that many users ask at once."""
    took: list[float] = []
    refused: list[str] = []
    end_s = time.monotonic() + seconds

    def use(number: int) -> None:
        connection = server.connect()
        time.sleep(THINK_S * number / users)
        at = number
        while time.monotonic() < end_s:
            began_s = time.perf_counter()
            try:
                get(connection, f"/api/search?q={quote(questions[at % len(questions)])}")
                took.append((time.perf_counter() - began_s) * 1000)
            except (SystemExit, OSError, http.client.HTTPException) as error:
                refused.append(f"{type(error).__name__}: {error}"[:200])
                connection.close()
            time.sleep(THINK_S)
            at += users
        connection.close()

    for question in questions[-WARM_UP:]:  # the index is opened, and its files are read
        get(server.connect(), f"/api/search?q={quote(question)}")
    began_s = server.cpu_s()
    threads = [threading.Thread(target=use, args=(number,)) for number in range(users)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    took.sort()
    return {
        "users": users,
        "requests": len(took),
        "refused": len(refused),
        "first_refusal": next(iter(refused), ""),
        "per_s": round(len(took) / seconds, 1),
        "median_ms": round(statistics.median(took), 1),
        "p95_ms": round(took[int(len(took) * 0.95)], 1),
        "p99_ms": round(took[int(len(took) * 0.99)], 1),
        "server_cpu_ms_per_request": round(1000 * (server.cpu_s() - began_s) / len(took), 2),
        "server_resident_mb_max": server.resident_mb_max(),
    }


def read_stream(response: http.client.HTTPResponse) -> None:
    """Read until the server ends."""
    with suppress(http.client.HTTPException, OSError):
        while response.read1():
            pass


def measure_cost(scratch: Path) -> dict[str, Any]:
    """Processor time of a run, alone and with a page that follows it."""
    (scratch / "jobs.py").write_text(STAGE.format(items=ITEMS))
    data = scratch / "run"
    command = [sys.executable, "-m", "inorder", "stage", "jobs:stage", "--policy", "io", "--data", str(data)]
    command += ["--force", "--quiet", "--set", "fsync=off"]

    def run() -> float:
        began = os.times()
        subprocess.run(command, cwd=scratch, check=True, stdout=subprocess.DEVNULL)
        ended = os.times()
        return ended.children_user + ended.children_system - began.children_user - began.children_system

    run()
    alone, followed, shares = [], [], []
    for _ in range(ROUNDS):
        alone.append(run())
        with serve(data) as server:
            connection = server.connect()
            connection.request("GET", "/api/live")
            response = connection.getresponse()
            threading.Thread(target=read_stream, args=(response,), daemon=True).start()
            cpu_s, began_s = server.cpu_s(), time.monotonic()
            followed.append(run())
            shares.append((server.cpu_s() - cpu_s) / (time.monotonic() - began_s))
    return {
        "items": ITEMS,
        "cpu_s_alone": round(statistics.median(alone), 2),
        "cpu_s_followed": round(statistics.median(followed), 2),
        "spread_percent": round(100 * (max(alone) - min(alone)) / statistics.median(alone), 1),
        "difference_percent": round(100 * (statistics.median(followed) / statistics.median(alone) - 1), 1),
        "server_share_of_a_processor_percent": round(100 * statistics.median(shares), 2),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--chunks", type=int, default=100_000, help="generated chunks")
    parser.add_argument("--users", type=int, default=50, help="users that search at the same time")
    parser.add_argument("--seconds", type=float, default=20.0, help="how long they search")
    parser.add_argument("--data", type=Path, help="DATA that is there already")
    parser.add_argument("--only", choices=["pages", "search", "cost"], nargs="*", default=["pages", "search", "cost"])
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    options = parser.parse_args()
    found: dict[str, Any] = {"load_of_the_machine": round(os.getloadavg()[0], 1)}
    with tempfile.TemporaryDirectory() as name:
        scratch = Path(name)
        data = options.data
        if data is None and {"pages", "search"} & set(options.only):
            data = scratch / "data"
            questions = make_documents(scratch / "src", options.chunks)
            (scratch / "questions.json").write_text(json.dumps(questions))
            run_inorder("run", str(scratch / "src"), "--data", str(data), "--tokens-max", str(TOKENS_MAX))
        if {"pages", "search"} & set(options.only):
            questions = json.loads((data.parent / "questions.json").read_text())
            with serve(data) as server:
                found["chunks"] = json.loads(get(server.connect(), "/api/facets"))["chunks"]
                if "pages" in options.only:
                    found["page_load_ms"] = measure_pages(server)
                if "search" in options.only:
                    found["search"] = measure_search(server, questions, options.users, options.seconds)
        if "cost" in options.only:
            found["cost"] = measure_cost(scratch)
    print(json.dumps(found, indent=None if options.json else 2))


if __name__ == "__main__":
    main()
