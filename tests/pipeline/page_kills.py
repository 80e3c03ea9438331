"""Runs that are killed again and again while a model reads pages, and what the server has counted in the end.

`python -m tests.pipeline.page_kills --pages 2000 --kills 200` is the long version of the test.
"""

import argparse
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

import inorder
from inorder.testing import ModelServer

from .scans import answer, read_number, write_scans

IN_FLIGHT = 8
_ANSWERS_MAX_S = 120.0


class Survival(NamedTuple):
    """What came of killed runs."""

    pages: list[int]
    """The numbers of all pages."""
    read: list[int]
    """The numbers of the pages in the library, each as often as it is there."""
    answered: Counter[int]
    """How often each page was answered."""
    kills: Counter[str]
    runs: int

    @property
    def repeated(self) -> int:
        """Answers to pages that had one."""
        return sum(self.answered.values()) - len(self.answered)


class _Servers:
    """A server that is killed and started again at the same port."""

    def __init__(self, fault_rate: float, latency_s: float) -> None:
        self._options: dict[str, Any] = {"answer": answer, "fault_rate": fault_rate, "latency_s": latency_s}
        self.current = ModelServer(**self._options)
        self._port = int(self.current.url.rpartition(":")[2].partition("/")[0])
        self.answered: Counter[int] = Counter()

    def count_answers(self) -> int:
        return self.answered.total() + self.current.answered.total()

    def kill(self) -> None:
        self.current.close()
        self._add()
        self.current = ModelServer(port=self._port, seed=self.answered.total(), **self._options)

    def close(self) -> None:
        self.current.close()
        self._add()

    def _add(self) -> None:
        numbers = {request.key: read_number(request) for request in self.current.requests if request.images}
        for key, count in self.current.answered.items():
            if key in numbers:
                self.answered[numbers[key]] += count


def survive(folder: Path, *, pages: int, kills: int, fault_rate: float = 0.1, latency_s: float = 0.05) -> Survival:
    """Run over so many pages, and kill the run, one of its workers or the server so many times, in turn, each after
    some more pages were answered. Then let a run come to its end."""
    counts = [10] * (pages // 10)
    numbers = write_scans(folder / "docs", *counts)
    servers = _Servers(fault_rate, latency_s)
    chance = random.Random(pages)
    done: Counter[str] = Counter()
    runs, process = 0, None
    try:
        step = max(1, pages // (kills + 1))
        for number in range(kills):
            wanted = min(servers.count_answers() + chance.randint(1, 2 * step - 1), (number + 1) * step, pages - 1)
            what = ("driver", "worker", "server")[number % 3]
            until_s = time.monotonic() + _ANSWERS_MAX_S
            while True:
                if process is None or process.poll() is not None:
                    process, runs = _start(folder, servers.current.url), runs + 1
                if servers.count_answers() >= wanted or time.monotonic() > until_s:
                    break
                time.sleep(0.005)
            if what == "driver":
                process.kill()
                process.wait()
            elif what == "server":
                servers.kill()
            elif (worker := _find_worker(process.pid, chance)) is not None:
                os.kill(worker, signal.SIGKILL)
            else:
                continue
            done[what] += 1
        while True:
            if process is None:
                process, runs = _start(folder, servers.current.url), runs + 1
            code, process = process.wait(), None
            if code == 0:
                break
            if runs > 20 + 2 * kills:
                raise AssertionError((folder / "log").read_text()[-2000:])
    finally:
        if process is not None:
            process.kill()
        servers.close()
    with inorder.open(folder / "data") as dataset:
        read = [int(found) for chunk in dataset.chunks() for found in re.findall(r"number(\d+)", chunk.text)]
    return Survival(numbers, sorted(read), servers.answered, done, runs)


def _start(folder: Path, url: str) -> "subprocess.Popen[bytes]":
    command = [sys.executable, "-m", "inorder", "run", "docs", "--data", "data", "--reader", f"vision:{url}#m"]
    limits = {"model_in_flight": IN_FLIGHT, "model_deadline_s": 20, "model_attempts_max": 8}
    options = [word for name, value in limits.items() for word in ("--set", f"{name}={value}")]
    with (folder / "log").open("ab") as log:
        return subprocess.Popen([*command, "--dense", "none", *options], cwd=folder, stdout=log, stderr=log)


def _find_worker(pid: int, chance: random.Random) -> int | None:
    """One of the processes that a run has started."""
    found = []
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            found += [int(child) for child in task.read_text().split()]
        except OSError:
            continue
    return chance.choice(found) if found else None


def main() -> None:
    """Print what came of it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pages", type=int, default=2000)
    parser.add_argument("--kills", type=int, default=200)
    given = parser.parse_args()
    began_s = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        found = survive(Path(folder), pages=given.pages, kills=given.kills)
    killed = ", ".join(f"{count} x {what}" for what, count in sorted(found.kills.items()))
    print(f"{len(found.pages)} pages, {found.runs} runs, killed {killed}; {time.monotonic() - began_s:.0f} s")
    print(f"each page once in the library: {found.read == found.pages}")
    print(f"answers repeated: {found.repeated}, at most {IN_FLIGHT} for each kill: {IN_FLIGHT * found.kills.total()}")


if __name__ == "__main__":
    main()
