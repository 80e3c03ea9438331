"""The power is lost at any moment of a whole stage: commit thread, staging, removals, replaced outputs, cache."""

import os
import shutil
import threading
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

import inorder
from inorder.journal.writer import FsyncPolicy
from inorder.runtime.result_log import ResultLog
from inorder.stage.context import StageContext
from tests.stage.jobs import STAGE, Place
from tests.support.recorded_disk import HOLE, STALE, RecordedDisk
from tests.support.sqlite_calls import SqliteCalls
from tests.support.system_calls import SystemCalls

DAMAGE = (0.0, 0.5, 1.0, 1.0, HOLE, STALE)
STEP = 3
"""Of the states that are found, every third is tried: a run takes a while."""
NAMES = tuple("abcdefgh")


class Worker:
    """Writes what it reads, in capitals, through the calls that are recorded. Counts its calls."""

    def __init__(self, held: str = "") -> None:
        self.called: list[str] = []
        self.opened = threading.Event()
        self._held = held

    def __call__(self, item: inorder.WorkItem, ctx: StageContext) -> dict[str, int]:
        self.called.append(item.item_id)
        if item.item_id == self._held:
            assert self.opened.wait(60)
        text = Path(item.inputs["text"]).read_bytes().upper()
        for name in item.outputs:
            descriptor = os.open(ctx.output(name), os.O_WRONLY | os.O_CREAT)
            os.write(descriptor, text)
            os.close(descriptor)
        return {"letters": len(text)}


def run(
    place: Place, data: Path, worker: Worker, fsync: FsyncPolicy, hooks: inorder.StageHooks | None = None
) -> inorder.StageOutcome:
    items = [
        place.item(path.name, outputs={"loud": f"loud/{path.name}", "again": f"again/{path.name}"})
        for path in sorted(place.sources.iterdir())
    ]
    options = place.options(data=data, fsync=fsync, telemetry=False)
    return inorder.run_stage(inorder.StagePlan(STAGE, items, retires=lambda *_: True), worker, options, hooks)


def outputs(data: Path) -> dict[str, bytes]:
    found = {}
    for folder in ("loud", "again"):
        for path in sorted((data / folder).iterdir()):
            if not path.name.endswith(".fp.json"):
                found[f"{folder}/{path.name}"] = path.read_bytes()
    return found


def record(
    place: Place, fsync: FsyncPolicy, monkeypatch: pytest.MonkeyPatch, *, is_first: bool
) -> tuple[list[Any], dict[str, bytes], dict[str, int]]:
    """Run with a first item that ends when all others are staged: in a new DATA, or after a run and some changes.
    Returns the events, the files before them, and for each item the number of events at its commit."""
    if not is_first:
        for name in NAMES:
            place.source(name, f"text of {name}\n" * 60)
        run(place, place.data, Worker(), fsync)
        (place.sources / "b").unlink()
    for name in ("a", "c", "d", "e", "f"):
        place.source(name, f"other text of {name}\n" * 60)
    place.source("i", "new\n" * 200)
    before = {str(path.relative_to(place.data)): path.read_bytes() for path in place.data.rglob("*") if path.is_file()}
    committed: dict[str, int] = {}
    worker, log, left = Worker(held="a"), ResultLog.append, 5

    def append(self: ResultLog, frames: Any, last_seq: int) -> None:
        nonlocal left
        log(self, frames, last_seq)
        left -= len(frames)
        if left <= 0:
            worker.opened.set()

    with monkeypatch.context() as patch:
        patch.setattr(ResultLog, "append", append)
        calls = SystemCalls(patch, place.data)
        SqliteCalls(calls, patch)
        hooks = inorder.StageHooks(
            after_item=lambda item, result, ctx: committed.update({item.item_id: len(calls.events)})
        )
        outcome = run(place, place.data, worker, fsync, hooks)
    assert (outcome.succeeded, outcome.failed, sorted(worker.called)) == (6, 0, ["a", "c", "d", "e", "f", "i"])
    return calls.events, before, committed


@pytest.mark.slow
@pytest.mark.req("JRN-7", "JRN-8")
@pytest.mark.parametrize(
    ("fsync", "sync_each_max", "is_first"),
    [
        ("always", 0, False),
        ("always", 32, True),
        ("batch", 0, True),
        ("batch", 32, False),
        ("interval", 0, False),
        ("off", 32, True),
        ("off", 0, False),
    ],
)
def test_after_a_power_loss_at_any_moment_the_next_run_ends_with_the_same_files(
    place: Place, monkeypatch: pytest.MonkeyPatch, fsync: FsyncPolicy, sync_each_max: int, is_first: bool
) -> None:
    monkeypatch.setattr("inorder.sinks.outputs.SYNC_EACH_MAX", sync_each_max)
    events, before, committed = record(place, fsync, monkeypatch, is_first=is_first)
    assert any(event[0] == "sync_all" for event in events) == (sync_each_max == 0)
    wanted, found = outputs(place.data), place.folder / "found"
    tried, adopted = 0, set()
    states: Iterator[Any] = RecordedDisk(events, before).lose_power(samples=1, shares=DAMAGE)
    for lost in islice(states, 0, None, STEP):
        tried += 1
        shutil.rmtree(found, ignore_errors=True)
        lost.restore(found)
        worker = Worker()
        outcome = run(place, found, worker, "off")
        assert (outcome.stop_kind, outcome.failed) == (None, 0), lost.description
        assert outputs(found) == wanted, lost.description
        assert not list((found / ".staging").rglob("*.*")), lost.description
        adopted.add(outcome.adopted)
        if fsync == "always":
            kept = {name for name, moment in committed.items() if moment <= lost.moment}
            assert kept.isdisjoint(worker.called), lost.description
        again = run(place, found, worker, "off")
        assert (again.skipped, again.succeeded) == (len(wanted) // 2, 0), lost.description
    assert tried >= 20
    assert max(adopted) >= 3, "results that were staged are adopted"


@pytest.mark.req("JRN-2")
@pytest.mark.parametrize("fsync", ["always", "batch", "interval"])
def test_new_folders_are_durable_before_the_first_commit(
    place: Place, monkeypatch: pytest.MonkeyPatch, fsync: FsyncPolicy
) -> None:
    """Also if no item has outputs, whose sync would make them durable."""
    with monkeypatch.context() as patch:
        calls = SystemCalls(patch, place.data)
        place.run([inorder.WorkItem(item_id="a")], lambda item: None, fsync=fsync)
    names = [event[:2] for event in calls.events]
    created = max(names.index(("make_directory", folder)) for folder in ("journal", "manifests"))
    first_write = next(n for n, (name, path) in enumerate(names) if name == "append" and path.startswith("journal/"))
    assert created < names.index(("sync_directory", ".")) < first_write
