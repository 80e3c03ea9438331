"""Worker processes that are copies of a process with one thread."""

import json
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from inorder.engines.process.idle import IdleProcesses
from inorder.engines.process.worker_process import ProcessLimits
from tests.support.misbehaviour import GUARD_S, is_running, wait_until

pytestmark = [pytest.mark.process, pytest.mark.skipif(sys.platform != "linux", reason="processes are copied on Linux")]
ROOT = Path(__file__).parents[3]


def start(kind: str) -> "subprocess.Popen[str]":
    command = [sys.executable, "-m", "tests.engines.process.copying", kind]
    return subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def run(kind: str) -> dict[str, Any]:
    program = start(kind)
    out, _ = program.communicate(timeout=GUARD_S)
    assert program.returncode == 0
    found: dict[str, Any] = json.loads(out)
    return found


def test_items_run_in_a_copy_that_is_like_a_process_that_was_started() -> None:
    found = run("run")
    first, second = found["copies"]
    assert [item["pid"] for item in found["items"]] == [first, first]
    assert not any(item["handles_signals"] for item in found["items"])
    assert not is_running(first)
    assert not is_running(second)


def test_a_copy_has_its_own_ends_of_pipes_only() -> None:
    """That of its parent would keep it from noticing the end of the parent."""
    found = run("run")
    ends = set(found["items"][0]["ends"]) - {*found["before"]}
    assert [end.partition(":")[0] for end in ends].count("socket") == 1


def test_copies_end_with_their_parent() -> None:
    program = start("wait")
    assert program.stdout is not None
    copies = json.loads(program.stdout.readline())["copies"]
    assert len(copies) == 2
    assert all(map(is_running, copies))
    program.kill()
    program.communicate(timeout=GUARD_S)
    assert wait_until(lambda: not any(map(is_running, copies)))


def test_without_information_about_threads_nothing_is_copied(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: str) -> list[str]:
        raise FileNotFoundError(path)

    monkeypatch.setattr("inorder.engines.process.spawner.os.listdir", refuse)
    with closing(IdleProcesses()) as idle:
        idle.copy(ProcessLimits())
        assert idle._processes == []


def test_a_process_with_another_thread_is_not_copied() -> None:
    assert run("with another thread")["copies"] == []
