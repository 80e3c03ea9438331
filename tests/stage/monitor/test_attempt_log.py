"""The stream of attempts: one line when each begins, one when it ends, whatever becomes of it."""

import os
import re
import signal
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import inorder
from inorder.core.commands import Dispatch, Reclaimed, StopWorker
from inorder.core.events import Envelope, Finished, Loss, Overran, Tick, WorkerLost
from inorder.core.transitions import State
from inorder.host.filesystem import SystemFilesystem
from inorder.stage.monitor.attempt_log import ATTEMPT_STATUSES, AttemptLog
from inorder.stage.monitor.telemetry import Telemetry
from tests.stage.jobs import Place, read_lines

Attempt = tuple[int, int]


def paired(lines: list[dict[str, Any]]) -> dict[Attempt, str]:
    """How every attempt ended. Each begins once, ends once, and in this order."""
    begun: Counter[Attempt] = Counter()
    ended: dict[Attempt, str] = {}
    for line in lines:
        attempt = (line["seq"], line["attempt"])
        if line["event"] == "started":
            begun[attempt] += 1
            assert attempt not in ended
        else:
            assert line["event"] == "finished"
            assert attempt in begun
            assert attempt not in ended
            ended[attempt] = line["status"]
    assert set(begun.values()) <= {1}
    assert begun.keys() == ended.keys()
    assert set(ended.values()) <= ATTEMPT_STATUSES.keys()
    return ended


@pytest.mark.process
@pytest.mark.parametrize("policy", ["io", "cpu"])
@pytest.mark.req("RUN-12")
def test_every_attempt_begins_once_and_ends_once(place: Place, policy: str) -> None:
    items = [
        place.item("a"),
        place.item("b", "flaky", meta={"failures": 2}),
        place.item("c", "fail"),
        place.item("d", "skip"),
        place.item("e", "hang"),
        *place.items(30),
    ]
    outcome = place.run(items, policy=policy, retries=2, timeout_s=4.0, attempts_log=True)
    ended = paired(place.attempts(outcome))
    names = [item.item_id for item in items]
    assert all(line["item_id"] == names[line["seq"]] for line in place.attempts(outcome))
    by_seq = {
        seq: [ended[key] for key in sorted(ended) if key[0] == seq and ended[key] != "reclaimed"] for seq in range(5)
    }
    assert by_seq == {0: ["success"], 1: ["failure", "failure", "success"], 2: ["failure"], 3: ["skip"], 4: ["timeout"]}
    assert {seq for seq, _ in ended} == set(range(35))


@pytest.mark.process
@pytest.mark.req("RUN-12")
def test_attempts_of_workers_that_died_end_too(place: Place) -> None:
    items = [*place.items(5), place.item("killer", "kill"), place.item("z")]
    outcome = place.run(items, policy="cpu", attempts_log=True)
    lines = place.attempts(outcome)
    ended = paired(lines)
    killer = [ended[key] for key in sorted(ended) if key[0] == 5]
    assert killer[-2:] == ["reclaimed", "lost"]
    details = [line["detail"] for line in lines if line["event"] == "finished" and line["seq"] == 5]
    assert [re.fullmatch(r"process \d+", detail) is not None for detail in details[-2:]] == [True, True]
    reasons = [line["reason"] for line in lines if line["event"] == "finished" and line["status"] == "lost"]
    assert len(reasons) == 1
    assert "SIGKILL" in reasons[0]
    assert "abandoned" not in ended.values()


@pytest.mark.req("RUN-12")
def test_attempts_that_a_cancelled_run_gives_up_end_with_it(place: Place) -> None:
    def stop(item: inorder.WorkItem, result: object, ctx: object) -> None:
        os.kill(os.getpid(), signal.SIGTERM)

    items = [place.item("a"), place.item("b", "hang")]
    hooks = inorder.StageHooks(after_item=stop)
    outcome = place.run(items, hooks=hooks, cancel_grace_s=0, attempts_log=True, workers=1)
    ended = paired(place.attempts(outcome))
    assert ended[0, 1] == "success"
    assert [status for (seq, _), status in sorted(ended.items()) if seq == 1][-1:] in ([], ["abandoned"], ["reclaimed"])


def test_no_stream_is_written_unless_it_is_wanted(place: Place) -> None:
    place.run(place.items(2))
    assert not (place.data / "attempts").exists()


SUCCESS = int(State.TERMINAL_SUCCESS)


@pytest.mark.req("RUN-12")
def test_a_late_result_of_an_attempt_that_has_ended_is_no_second_end(tmp_path: Path) -> None:
    attempts = AttemptLog(Telemetry(SystemFilesystem(), str(tmp_path / "attempts.jsonl")), "item-{}".format)
    for event, commands in (
        (Tick(), [Dispatch(1, [0, 1], [1, 1], "", False, 0)]),
        (
            WorkerLost(1, Loss.DIED, 0, "killed"),
            [Reclaimed(0, 1, 1, True, "killed"), Reclaimed(1, 1, 1, False, "killed")],
        ),
        (Finished(1, [Envelope(0, 1, SUCCESS)]), []),
        (Tick(), [Dispatch(2, [0], [2], "", True, 0)]),
        (Overran(2, 0, 2, 500), []),
        (Finished(2, [Envelope(0, 2, SUCCESS)]), []),
        (Tick(), [Dispatch(3, [1], [2], "", False, 0)]),
    ):
        attempts.observe(event, commands)  # type: ignore[arg-type]
    attempts.close()
    assert paired(read_lines(tmp_path / "attempts.jsonl")) == {
        (0, 1): "reclaimed",
        (1, 1): "reclaimed",
        (0, 2): "timeout",
        (1, 2): "abandoned",
    }


@pytest.mark.req("RUN-12")
def test_what_a_worker_held_that_the_run_itself_stopped_was_abandoned_and_not_lost(tmp_path: Path) -> None:
    attempts = AttemptLog(Telemetry(SystemFilesystem(), str(tmp_path / "attempts.jsonl")), "item-{}".format)
    for event, commands in (
        (Tick(), [Dispatch(1, [0], [1], "", False, 0), Dispatch(2, [1], [1], "", False, 0)]),
        (Tick(), [StopWorker(1, "cancelled")]),
        (WorkerLost(1, Loss.DIED, 0, "killed"), []),
        (WorkerLost(2, Loss.DIED, 1, "killed"), []),
    ):
        attempts.observe(event, commands)  # type: ignore[arg-type]
    attempts.close()
    assert paired(read_lines(tmp_path / "attempts.jsonl")) == {(0, 1): "abandoned", (1, 1): "lost"}
