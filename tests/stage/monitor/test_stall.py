"""A run that waits for one item says which."""

import json
import re
import threading
from typing import Any

import pytest

import inorder
from inorder.core.invariants import Head
from inorder.engines.progress import ItemProgress, WorkerActivity
from inorder.stage.monitor.progress import (
    LineDisplay,
    StageProgress,
    fit_details,
    format_stall_ended,
    format_stalled,
)
from inorder.stage.monitor.stall import (
    ActivityReader,
    HeadReport,
    StallEnded,
    StallWatchdog,
    format_note,
    report_head,
    report_running,
)
from tests.stage.jobs import Place
from tests.stage.workers import obey
from tests.support.gates import GUARD_S

pytestmark = pytest.mark.req("STL-1")

NAMES = {17: "report.pdf", 18: "b.pdf"}


def name_of(seq: int) -> str:
    return NAMES.get(seq, "")


HEAD = HeadReport(state="queued", seq=17, item_id="report.pdf")


def test_a_stall_begins_once_and_ends_once() -> None:
    watchdog = StallWatchdog(30.0, now_s=0.0)
    assert watchdog.check(0.0, 17, HEAD) is None
    assert watchdog.check(29.9, 17, HEAD) is None
    assert not watchdog.is_stalled
    assert watchdog.check(30.0, 17, HEAD) is HEAD
    assert watchdog.is_stalled
    assert watchdog.check(60.0, 17, HEAD) is None
    assert watchdog.check(95.0, 18, HEAD) == StallEnded(95.0, HEAD)
    assert not watchdog.is_stalled
    assert watchdog.check(120.0, 18, HEAD) is None
    assert watchdog.check(125.0, 18, HEAD) is HEAD
    assert watchdog.check(126.0, 18, None) == StallEnded(31.0, HEAD)
    assert watchdog.describe_longest() == ["nothing was committed for 95 s: report.pdf, waiting for a worker"]


def test_what_was_read_before_the_limit_is_not_what_a_stall_waits_for() -> None:
    """The last commit was read as under way a moment before it ended; since then a worker does not answer."""
    watchdog = StallWatchdog(0.2, now_s=0.0)
    committing = HeadReport(state="committing", seq=3)
    assert watchdog.check(0.01, 3, committing, read_s=0.01) is None
    assert watchdog.check(0.3, 3, committing, read_s=0.02) is None
    assert not watchdog.is_stalled
    assert watchdog.check(0.4, 3, HEAD, read_s=0.31) is HEAD


def test_a_stall_that_lasts_until_the_end_is_reported() -> None:
    watchdog = StallWatchdog(1.0, now_s=0.0)
    assert watchdog.describe_longest() == []
    watchdog.check(0.0, 17, HEAD)
    watchdog.check(3.0, 17, HEAD)
    assert watchdog.check(8.0, 17, None) == StallEnded(8.0, HEAD)
    assert watchdog.describe_longest()[0].startswith("nothing was committed for 8 s: report.pdf")


def test_without_a_limit_nothing_is_a_stall() -> None:
    watchdog = StallWatchdog(0.0, now_s=0.0)
    assert [watchdog.check(now_s, 0, HEAD) for now_s in (0.0, 1e6)] == [None, None]


@pytest.mark.parametrize(
    ("head", "described"),
    [
        (Head(state="planning"), "the plan"),
        (Head(state="undecided"), "the plan"),
        (Head(state="committing", seq=17), "the commit of report.pdf"),
        (Head(state="queued", seq=17), "report.pdf, waiting for a worker"),
        (
            Head(state="queued", seq=17, is_paused=True),
            "report.pdf, waiting for a worker (dispatch is paused)",
        ),
        (Head(state="dispatched", seq=18, worker=2), "b.pdf, given to worker 2"),
        (Head(state="retry-waiting", seq=17, due_ms=15_000), "report.pdf, waiting 5 s for its retry"),
        (Head(state="queued", seq=99), "item 99, waiting for a worker"),
        (
            Head(state="dispatched", seq=17, worker=3),
            "report.pdf, running on worker 3 for 42 s: page 31 of 900 (40 s ago)",
        ),
    ],
)
def test_the_head_is_described_with_its_state(head: Head, described: str) -> None:
    activities = [WorkerActivity(3, 17, 1, 42.0, ItemProgress(31, 900, "page", 40.0))]
    assert report_head(head, 10_000, activities, name_of).describe() == described


def test_items_that_run_longest_come_first() -> None:
    activities = [WorkerActivity(number, number, 1, float(number)) for number in range(40)]
    running = report_running(activities, name_of)
    assert [one["seq"] for one in running] == list(range(39, 23, -1))
    assert running[-8 + 1]["progress"] is None


class Engine:
    """Counts how often it is asked."""

    def __init__(self, workers: int) -> None:
        self.asked = 0
        self._workers = workers

    def list_activity(self) -> list[WorkerActivity]:
        self.asked += 1
        return [WorkerActivity(number, number, 1, 0.0) for number in range(self._workers)]


@pytest.mark.parametrize(("workers", "asked"), [(10, 20), (1000, 2)])
def test_many_workers_are_asked_less_often(workers: int, asked: int) -> None:
    engine: Any = Engine(workers)
    reader = ActivityReader(engine)
    for now_ms in range(0, 2000, 100):
        assert len(reader.read(now_ms)) == workers
    assert engine.asked == asked


def test_lines_that_announce_a_stall_and_its_end() -> None:
    assert format_stalled("doctags", HEAD, 30.2) == (
        "[doctags] no commit for 30 s; waiting for report.pdf, waiting for a worker"
    )
    assert format_stall_ended("doctags", StallEnded(95.0, HEAD)) == (
        "[doctags] committing again after 95 s of waiting for report.pdf"
    )


def telemetry(place: Place, event: str) -> list[dict[str, Any]]:
    [path] = (place.data / "telemetry").iterdir()
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    return [line for line in lines if line["event"] == event]


def test_a_run_names_the_item_it_waits_for(
    place: Place, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    shown = threading.Event()
    show = LineDisplay.show

    def showing(self: LineDisplay, progress: StageProgress, *arguments: Any) -> None:
        show(self, progress, *arguments)
        if progress.note.startswith("waiting ") and "page" in progress.note:
            shown.set()

    monkeypatch.setattr(LineDisplay, "show", showing)

    def worker(item: inorder.WorkItem, ctx: inorder.StageContext) -> Any:
        if item.item_id == "item-0001":
            ctx.progress(31, 900, "page")
            assert shown.wait(GUARD_S)
        return obey(item, ctx)

    outcome = place.run(
        place.items(4), worker, progress="lines", stall_warning_s=0.3, diagnostics_interval_s=0.1, workers=2
    )
    assert outcome.succeeded == 4
    err = capsys.readouterr().err
    assert re.search(r"^\[shout\] no commit for \d+ s; waiting for item-0001, ", err, re.MULTILINE)
    assert re.search(r" \| waiting \d+ s for item-0001, running on worker [01] for \d+ s: page 31 of 900", err)
    [stalled, *_] = [event for event in telemetry(place, "stalled") if event["item_id"] == "item-0001"]
    assert stalled["seq"] == 1
    assert stalled["state"] in ("running", "dispatched")
    assert stalled["worker"] in (0, 1)
    assert stalled["waited_s"] >= 0.3
    assert len(telemetry(place, "stall_ended")) == len(telemetry(place, "stalled"))
    [warning] = [one for one in outcome.warnings if "nothing was committed" in one]
    assert "item-0001, running on worker" in warning
    assert not (place.data / "locks" / "shout.live.json").exists()


def test_progress_of_an_item_is_in_the_lines_and_in_the_snapshots(
    place: Place, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    shown = threading.Semaphore(0)
    show = LineDisplay.show

    def showing(self: LineDisplay, *arguments: Any) -> None:
        show(self, *arguments)
        shown.release()

    monkeypatch.setattr(LineDisplay, "show", showing)
    monkeypatch.setattr("inorder.stage.monitor.stall.SHOWN_S_MIN", 0.0)

    def worker(item: inorder.WorkItem, ctx: inorder.StageContext) -> Any:
        ctx.progress(31, 900, "page")
        for _ in range(3):
            assert shown.acquire(timeout=GUARD_S)
        return obey(item, ctx)

    place.run([place.item("a.pdf")], worker, progress="lines", diagnostics_interval_s=0.15)
    assert any(line.endswith(" | a.pdf: page 31 of 900") for line in capsys.readouterr().err.splitlines())
    running = [one for snapshot in telemetry(place, "snapshot") for one in snapshot.get("running", ())]
    assert running[0]["item_id"] == "a.pdf"
    assert running[0]["progress"]["done"] == 31


def test_a_retry_that_is_far_away_is_named(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """An item that waits for its retry blocks all others as much as one that runs."""
    announced: list[str] = []
    monkeypatch.setattr(LineDisplay, "announce", lambda self, message: announced.append(message))
    tries: list[str] = []

    def worker(item: inorder.WorkItem, ctx: inorder.StageContext) -> Any:
        tries.append(item.item_id)
        if tries.count(item.item_id) == 1:
            raise ConnectionError("not yet")
        return obey(item, ctx)

    place.run([place.item("a")], worker, progress="lines", stall_warning_s=0.2, retries=1, retry_backoff_s=3)
    expected = r"\[shout\] no commit for [0-3] s; waiting for a, waiting [0-3] s for its retry"
    assert re.match(expected, announced[0])


def test_a_plan_that_does_not_go_on_is_named(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    announced = threading.Event()
    messages: list[str] = []

    def announcing(self: LineDisplay, message: str) -> None:
        messages.append(message)
        announced.set()

    monkeypatch.setattr(LineDisplay, "announce", announcing)

    def items() -> Any:
        yield place.item("a")
        assert announced.wait(GUARD_S)
        yield place.item("b")

    place.run(items(), progress="lines", stall_warning_s=0.2, max_queue=1, workers=1)
    assert messages[0].endswith("waiting for the plan")


def test_progress_outside_of_an_item_is_ignored(place: Place) -> None:
    hooks = inorder.StageHooks(before_stage=lambda ctx: ctx.progress(1, 2, "warming up"))
    outcome = place.run([place.item("a")], hooks=hooks)
    assert (outcome.succeeded, outcome.warnings) == (1, [])


@pytest.mark.parametrize(
    ("done", "total", "note", "described"),
    [
        (31, 900, "page", "page 31 of 900"),
        (0.5, None, "", "0.5"),
        (3, None, "row", "row 3"),
        (1e6, 2e6, "", "1000000 of 2000000"),
    ],
)
def test_progress_in_words(done: float, total: float | None, note: str, described: str) -> None:
    assert ItemProgress(done, total, note).describe() == described


@pytest.mark.req("HBT-1")
def test_only_an_item_that_has_been_running_for_a_while_is_shown_with_its_progress() -> None:
    def running(seq: int, running_s: float) -> dict[str, Any]:
        page = {"done": 3.0, "total": 900.0, "note": "page", "age_s": 0.0}
        return {"seq": seq, "item_id": f"{seq}.pdf", "running_s": running_s, "progress": page}

    watchdog = StallWatchdog(30.0, 0.0)
    assert format_note(watchdog, {"running": [running(1, 0.2)]}, 1.0) == ""
    assert format_note(watchdog, {"running": [running(1, 0.2), running(2, 4.0)]}, 5.0) == "2.pdf: page 3 of 900"
    both = {"running": [running(2, 4.0), running(1, 0.2)]}
    assert format_note(watchdog, both, 5.0, names_all=True).startswith("1.pdf")


@pytest.mark.req("HBT-1")
@pytest.mark.parametrize(
    ("width", "shown"),
    [
        (100, "succ 1 fail 0 | report.pdf: page 31 of 900 | 2.0 it/s | ETA 00:00:09"),
        (60, "succ 1 fail 0 | report.pdf: page 31 of 900 | 2.0 it/s"),
        (45, "succ 1 fail 0 | report.pdf: page 31 of 900"),
        (40, "succ 1 fail 0 | page 31 of 900"),
        (20, "succ 1 fail 0"),
        (5, ""),
    ],
)
def test_the_page_that_is_read_is_shown_on_narrow_terminals_too(width: int, shown: str) -> None:
    details = "succ 1 fail 0 | 2.0 it/s | ETA 00:00:09"
    assert fit_details(details, width, "report.pdf: page 31 of 900") == shown
    assert len(shown) <= width
