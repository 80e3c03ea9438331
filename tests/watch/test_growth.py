"""A watch that runs for days: nothing that a run opens is left open."""

import contextlib
import os
import signal
import threading
from pathlib import Path
from typing import NamedTuple

import pytest

from inorder.cli.exit_codes import Interrupted
from inorder.watch.loop import Watcher
from inorder.watch.retention import FILES_PER_RUN
from tests.support.command_line import CommandLine

CYCLES = 5


class Held(NamedTuple):
    """What a process holds."""

    files: set[str]
    """Each open descriptor, and its inode: the name of a file that another test has left may change."""
    threads: set[threading.Thread]
    children: set[str]

    def count_new(self, before: "Held") -> tuple[int, int, int]:
        """How much of it was not there before. What other tests have left may end at any time."""
        return tuple(len(now - then) for now, then in zip(self, before, strict=True))  # type: ignore[return-value]


def list_held() -> Held:
    files = set()
    for name in os.listdir("/proc/self/fd"):
        with contextlib.suppress(FileNotFoundError):  # the one that lists the folder
            found = os.stat(f"/proc/self/fd/{name}")
            files.add(f"{name} {found.st_dev} {found.st_ino}")
    children = Path(f"/proc/self/task/{os.getpid()}/children").read_text()
    return Held(files, set(threading.enumerate()), set(children.split()))


@pytest.mark.slow
def test_open_files_threads_and_processes_do_not_grow_with_the_number_of_runs(
    cli: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    held: list[tuple[int, int, int]] = []
    before = list_held()

    def change(watcher: Watcher) -> None:
        held.append(list_held().count_new(before))
        if len(held) > CYCLES:
            raise Interrupted(signal.SIGTERM)
        cli.source(f"{len(held)}.md", f"# Lamp {len(held)}\n\nA lamp.\n")
        (cli.source_folder / f"folder {len(held)}").mkdir()

    monkeypatch.setattr(Watcher, "_wait_until_due", change)
    cli.source("0.md", "# Lamp\n\nA lamp.\n")
    ended = cli.run_in_process("watch", "sources", "-q", "--keep-runs", "1", "--policy", "io", "--workers", "1")
    assert ended.code == 143, ended.err
    assert len(os.listdir(cli.data / "telemetry")) == FILES_PER_RUN
    assert held[CYCLES] == held[1], held  # a thread may have a file open for a moment in between
