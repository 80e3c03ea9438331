"""`imap(journal=, spool="disk")`: results that were computed behind a slow item survive a crash."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import inorder
from inorder.runtime.result_log import ResultLog
from tests.support.command_line import GUARD_S
from tests.support.gates import Gate
from tests.support.python_path import prepend_path

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.req("JRN-8")


class Crashed(BaseException):
    """Stands in for the end of the process."""


def crash_behind_head(
    journal: Path,
    function: Callable[[int], Any],
    count: int,
    monkeypatch: pytest.MonkeyPatch,
    not_logged: int = 1,
    **options: Any,
) -> None:
    """Iterate until all results but the first are on disk, and none was delivered."""
    log = ResultLog.append
    logged = 0

    def append(self: ResultLog, frames: Any, last_seq: int) -> None:
        nonlocal logged
        log(self, frames, last_seq)
        logged += len(frames)
        if logged >= count - not_logged:
            raise Crashed

    with Gate() as gate, monkeypatch.context() as patch:
        patch.setattr(ResultLog, "append", append)
        held = named(lambda number: function(number) if number else gate.hold())
        with pytest.raises(Crashed), pytest.warns(RuntimeWarning, match="seq 0"):
            next(
                inorder.imap(
                    held,
                    range(count),
                    journal=journal,
                    version="1",
                    spool="disk",
                    where="threads",
                    options=inorder.RunOptions(cancel_grace_s=0),
                    **options,
                )
            )


def named(function: Callable[[int], Any]) -> Callable[[int], Any]:
    """A journal belongs to a function of one name."""
    function.__qualname__ = "spooled"
    return function


@pytest.mark.process
@pytest.mark.parametrize("where", ["threads", "processes"])
def test_after_a_kill_behind_a_slow_item_only_that_item_is_computed_again(tmp_path: Path, where: str) -> None:
    calls = tmp_path / "calls"
    program = [sys.executable, "-m", "tests.iteration.spooled", str(tmp_path), "100", where]

    def live(**more: str) -> subprocess.CompletedProcess[str]:
        environment = {**os.environ, "CALLS": str(calls), "PYTHONPATH": prepend_path(ROOT), **more}
        return subprocess.run(
            program, env=environment, cwd=ROOT, timeout=GUARD_S, capture_output=True, text=True, check=False
        )

    assert live(HOLD="1").returncode == -signal.SIGKILL
    assert set(range(1, 100)) <= set(map(int, calls.read_text().split()))
    calls.unlink()
    ended = live()
    assert ended.returncode == 0, ended.stderr
    assert json.loads(ended.stdout) == [2 * number for number in range(100)]
    assert calls.read_text().split() == ["0"]
    assert list((tmp_path / "journal.results").iterdir()) == []


def test_what_was_adopted_and_not_delivered_survives_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    journal = tmp_path / "journal"
    crash_behind_head(journal, str, 20, monkeypatch)
    calls: list[int] = []

    def note(number: int) -> str:
        calls.append(number)
        return str(number)

    with inorder.imap(named(note), range(20), journal=journal, version="1", spool="disk", where="threads") as results:
        assert [next(results) for _ in range(8)] == [str(number) for number in range(8)]
    with inorder.imap(named(note), range(20), journal=journal, version="1", spool="disk", where="threads") as results:
        assert results.position == 7
        assert list(results) == [str(number) for number in range(7, 20)]
    assert calls == [0]


def test_without_spool_everything_behind_the_head_is_computed_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal = tmp_path / "journal"
    crash_behind_head(journal, str, 20, monkeypatch)
    calls: list[int] = []
    results = inorder.imap(
        named(lambda number: calls.append(number)), range(20), journal=journal, version="1", workers=1, where="threads"
    )
    assert len(list(results)) == len(calls) == 20


@pytest.mark.parametrize("odd", [(1, 2), {1, 2}, {1: 2}, 2**70, "\udc80", object()])
def test_a_result_that_is_not_plain_data_is_computed_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, odd: Any
) -> None:
    journal = tmp_path / "journal"
    crash_behind_head(journal, lambda number: odd if number == 3 else [number], 6, monkeypatch, not_logged=2)
    calls: list[int] = []

    def note(number: int) -> Any:
        calls.append(number)
        return odd

    found = list(
        inorder.imap(named(note), range(6), journal=journal, version="1", spool="disk", workers=1, where="threads")
    )
    assert found == [odd, [1], [2], odd, [4], [5]]
    assert calls == [0, 3]


def test_an_item_that_is_another_one_now_is_computed_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    journal = tmp_path / "journal"
    crash_behind_head(journal, str, 5, monkeypatch)
    items = [0, 1, 2, 33, 4]
    assert list(inorder.imap(named(str_of), items, journal=journal, version="1", spool="disk", where="threads")) == [
        "0",
        "1",
        "2",
        "33",
        "4",
    ]


def str_of(number: int) -> str:
    return str(number)


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"spool": "disk"}, "fsync, version and spool need journal=PATH"),
        ({"spool": "tape"}, "spool must be one of memory"),
    ],
)
def test_a_spool_that_cannot_be_is_refused(options: dict[str, Any], complaint: str) -> None:
    with pytest.raises(inorder.OperatorError, match=complaint):
        inorder.imap(str, [1], **options)
