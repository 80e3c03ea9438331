"""A watch that runs for days: nothing that a run opens is left open."""

import contextlib
import os
from pathlib import Path

import pytest

from inorder.watch.retention import FILES_PER_RUN
from tests.support.command_line import CommandLine
from tests.support.misbehaviour import wait_until
from tests.watch.processes import Watch

CYCLES = 5
FIRST = 2
"""The first run loads code and the first change starts threads that live as long as the watch."""


def list_held(pid: int) -> dict[str, list[str]]:
    """What a process has open, and its threads and children."""
    held: dict[str, list[str]] = {"fd": [], "task": [], "children": []}
    for kind in ("fd", "task"):
        for entry in Path(f"/proc/{pid}/{kind}").iterdir():
            with contextlib.suppress(FileNotFoundError):  # it has just ended
                held[kind].append(str(entry.readlink()) if kind == "fd" else entry.name)
                held["children"] += (entry / "children").read_text().split() if kind == "task" else []
    return held


@pytest.mark.slow
@pytest.mark.process
def test_open_files_threads_and_processes_do_not_grow_with_the_number_of_runs(cli: CommandLine) -> None:
    cli.source("0.md", "# Lamp\n\nA lamp.\n")
    watch = Watch(cli, "--keep-runs", "1")
    held: list[dict[str, list[str]]] = []

    def holds_no_more_than_at_first() -> bool:
        # A thread may have a file open for a moment after the run; what is left open stays open.
        held.append(list_held(watch.program.pid))
        return all(len(now) <= len(held[0][kind]) for kind, now in held[-1].items())

    for cycle in range(1, FIRST + CYCLES):
        watch.next("run_ended")
        if cycle == FIRST:
            held.append(list_held(watch.program.pid))
        prepared = cli.folder / f"folder {cycle}"
        prepared.mkdir()
        (prepared / "a.md").write_text(f"# Lamp {cycle}\n\nA lamp.\n")
        prepared.rename(cli.source_folder / prepared.name)  # one change, so one run
    watch.next("run_ended")
    assert wait_until(holds_no_more_than_at_first), (held[0], held[-1])
    assert len(os.listdir(cli.data / "telemetry")) == FILES_PER_RUN
    assert watch.end().code == 143
