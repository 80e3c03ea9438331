"""A program of its own for each measurement, ended with everything it started when its time is up.

The processes it leaves behind, in whatever session, become children of ours, so none of them is overlooked.
"""

import contextlib
import ctypes
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

import psutil

_PR_SET_CHILD_SUBREAPER = 36


class Ended(NamedTuple):
    """How a program ended."""

    has_hung: bool
    status: int
    seconds: float
    output: str
    errors: str
    orphans: int
    """Processes named in the watched file that outlived the program."""


def run_bounded(
    arguments: list[str],
    seconds_max: float,
    folder: str,
    environment: dict[str, str] | None = None,
    watch: Path | None = None,
) -> Ended:
    """Run this interpreter with `arguments`; its output is kept in files in `folder`, which no orphan can hold up."""
    _adopt_orphans()
    began_s = time.monotonic()
    output_path, errors_path = os.path.join(folder, "output"), os.path.join(folder, "errors")
    with open(output_path, "wb") as output, open(errors_path, "wb") as errors:
        process = subprocess.Popen(
            [sys.executable, *arguments],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=errors,
            env={**os.environ, **(environment or {})},
        )
        try:
            has_hung = _has_hung(process, seconds_max)
            seconds = time.monotonic() - began_s
            orphans = _count_running(watch)
        finally:
            status = _end_all(process)
    return Ended(has_hung, status, seconds, _text(output_path), _text(errors_path), orphans)


def _count_running(watch: Path | None) -> int:
    pids = watch.read_text(encoding="ascii").split() if watch is not None and watch.exists() else []
    return sum(_is_running(int(pid)) for pid in pids)


def _is_running(pid: int) -> bool:
    try:
        return bool(psutil.Process(pid).status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


def _has_hung(process: "subprocess.Popen[bytes]", seconds_max: float) -> bool:
    try:
        process.wait(seconds_max)
    except subprocess.TimeoutExpired:
        return True
    return False


def _adopt_orphans() -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def _end_all(process: "subprocess.Popen[bytes]") -> int:
    """Kill whatever runs under us, until nothing does; the exit status of the program."""
    deadline_s = time.monotonic() + 10
    while (found := psutil.Process().children(recursive=True)) and time.monotonic() < deadline_s:
        for child in found:
            with contextlib.suppress(psutil.NoSuchProcess):
                child.kill()
        psutil.wait_procs(found, timeout=1)
    return process.wait(10)


def _text(path: str) -> str:
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read()
