"""A watch that runs for days: nothing that a run opens is left open."""

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

    files: int
    threads: int
    children: int


def count_held() -> Held:
    children = Path(f"/proc/self/task/{os.getpid()}/children")
    return Held(len(os.listdir("/proc/self/fd")), threading.active_count(), len(children.read_text().split()))


@pytest.mark.slow
def test_open_files_threads_and_processes_do_not_grow_with_the_number_of_runs(
    cli: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    held: list[Held] = []

    def change(watcher: Watcher) -> None:
        held.append(count_held())
        if len(held) > CYCLES:
            raise Interrupted(signal.SIGTERM)
        cli.source(f"{len(held)}.md", f"# Lamp {len(held)}\n\nA lamp.\n")
        (cli.source_folder / f"folder {len(held)}").mkdir()

    monkeypatch.setattr(Watcher, "_wait_until_due", change)
    cli.source("0.md", "# Lamp\n\nA lamp.\n")
    ended = cli.run_in_process("watch", "sources", "-q", "--keep-runs", "1", "--policy", "io", "--workers", "1")
    assert ended.code == 143, ended.err
    assert len(os.listdir(cli.data / "telemetry")) == FILES_PER_RUN
    assert held[1:] == [held[1]] * CYCLES
