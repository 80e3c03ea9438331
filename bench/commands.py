"""Runs a command in a process of its own, and measures what it took."""

import os
import resource
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple


class Cost(NamedTuple):
    """What one command took. Processor time is that of all its processes."""

    wall_s: float
    processor_s: float


def make_environment(folder: Path) -> dict[str, str]:
    """An environment in which compiled modules are kept in a folder."""
    inherited = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return inherited | {"PYTHONPYCACHEPREFIX": str(folder / "compiled")}


def measure_python(arguments: Sequence[str], environment: Mapping[str, str]) -> Cost:
    """Run the interpreter with these arguments, from its start to its end."""
    before, started_s = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL, env=environment)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    processor_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Cost(time.monotonic() - started_s, processor_s)
