"""A stage with a store is killed, or loses power, at any moment: the repeat ends with the same rows."""

import shutil
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

import inorder
from inorder.journal.writer import FsyncPolicy
from inorder.runtime.result_log import ResultLog
from tests.stage.jobs import STAGE, Place, read_lines, steady
from tests.stage.store.jobs import StoreWorker, hash_store, run_stored
from tests.support.recorded_disk import HOLE, STALE, LostPower, RecordedDisk
from tests.support.sqlite_calls import SqliteCalls
from tests.support.system_calls import SystemCalls

DAMAGE = (0.0, 0.5, 1.0, 1.0, HOLE, STALE)
STEP = 4
"""Of the states that are found, every fourth is tried: a run takes a while."""
NAMES = tuple("abcdefgh")


class Recording:
    """A run whose first item ends when all others are logged: in a new DATA, or after a run and some changes."""

    def __init__(self, place: Place, fsync: FsyncPolicy, monkeypatch: pytest.MonkeyPatch, *, is_first: bool) -> None:
        self.place = place
        if not is_first:
            self._run_before()
        for name in ("a", "c", "d", "e", "f"):
            place.source(name, f"other text of {name}\n" * 20)
        place.source("g", "bad")
        place.source("h", "none")
        place.source("i", "new\n" * 80)
        paths = [path for path in place.data.rglob("*") if path.is_file()]
        self.before = {str(path.relative_to(place.data)): path.read_bytes() for path in paths}
        self.committed: dict[str, int] = {}
        """For each item, the number of events at its commit."""
        with monkeypatch.context() as patch:
            self.events = self._record(fsync, patch)
        self.wanted = hash_store(place.data)
        self.rows = self.read_manifest(place.data)

    def _run_before(self) -> None:
        for name in NAMES:
            self.place.source(name, f"text of {name}\n" * 20)
        run_stored(self.place, self.place.data, StoreWorker())
        (self.place.sources / "b").unlink()

    def _record(self, fsync: FsyncPolicy, patch: pytest.MonkeyPatch) -> list[tuple[Any, ...]]:
        worker, log, left = StoreWorker(held="a"), ResultLog.append, 6

        def append(this: ResultLog, frames: Any, last_seq: int) -> None:
            nonlocal left
            log(this, frames, last_seq)
            left -= len(frames)
            if left <= 0:
                worker.opened.set()

        patch.setattr(ResultLog, "append", append)
        calls = SystemCalls(patch, self.place.data)
        SqliteCalls(calls, patch)
        hooks = inorder.StageHooks(
            after_item=lambda item, result, ctx: self.committed.update({item.item_id: len(_filter(calls.events))})
        )
        outcome = run_stored(self.place, self.place.data, worker, fsync, hooks)
        assert (outcome.succeeded, outcome.failed) == (6, 1)
        assert sorted(worker.called) == [*"acdefghi"]
        return calls.events

    def read_manifest(self, data: Path) -> list[Any]:
        """The rows of the last run, without what may differ."""
        rows = read_lines(data / "manifests" / f"{STAGE}.jsonl")
        start = max(number for number, row in enumerate(rows) if row["doc_id"] == "__config__")
        return steady(rows[start + 1 :])

    def repeat(self, lost: LostPower, found: Path) -> tuple[StoreWorker, inorder.StageOutcome]:
        """Run again on what was left, and compare what is there then."""
        shutil.rmtree(found, ignore_errors=True)
        lost.restore(found)
        worker = StoreWorker()
        outcome = run_stored(self.place, found, worker)
        assert (outcome.stop_kind, hash_store(found)) == (None, self.wanted), lost.description
        assert not list((found / ".staging").rglob("*.*")), lost.description
        rows = self.read_manifest(found)
        if outcome.resumed_at is not None:
            assert rows == self.rows, lost.description
        assert len(rows) == len({row["doc_id"] for row in rows}), lost.description
        again = run_stored(self.place, found, StoreWorker())
        assert (again.succeeded, again.failed) == (0, 1), lost.description
        return worker, outcome

    def replay(self) -> RecordedDisk:
        """The disk during the run. What happens to caches and locks is a matter of other tests."""
        return RecordedDisk(
            _filter(self.events), {path: self.before[path] for path in self.before if _is_replayed(path)}
        )


def _filter(events: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    return [event for event in events if _is_replayed(event[1])]


def _is_replayed(path: str) -> bool:
    return path.partition("/")[0] not in ("cache", "locks")


@pytest.mark.slow
@pytest.mark.req("JRN-3", "JRN-7")
@pytest.mark.parametrize(("fsync", "is_first"), [("batch", False), ("always", True)])
def test_killed_at_any_operation_the_next_run_ends_with_the_same_rows(
    place: Place, monkeypatch: pytest.MonkeyPatch, fsync: FsyncPolicy, is_first: bool
) -> None:
    recording = Recording(place, fsync, monkeypatch, is_first=is_first)
    adopted = set()
    for lost in recording.replay().lose_power(samples=0):
        if not lost.description.endswith("all kept"):
            continue
        worker, outcome = recording.repeat(lost, place.folder / "found")
        adopted.add(outcome.adopted)
        again = set() if outcome.resumed_at is not None else {"g", "h"}
        kept = {name for name, moment in recording.committed.items() if moment <= lost.moment}
        assert kept.isdisjoint({*worker.called} - again), lost.description
    assert max(adopted) >= 5, "results that were logged are adopted"


@pytest.mark.slow
@pytest.mark.req("JRN-7", "JRN-8")
@pytest.mark.parametrize(
    ("fsync", "is_first"), [("always", False), ("batch", True), ("interval", False), ("off", False)]
)
def test_after_a_power_loss_at_any_moment_the_next_run_ends_with_the_same_rows(
    place: Place, monkeypatch: pytest.MonkeyPatch, fsync: FsyncPolicy, is_first: bool
) -> None:
    recording = Recording(place, fsync, monkeypatch, is_first=is_first)
    tried = 0
    for lost in islice(recording.replay().lose_power(samples=1, shares=DAMAGE), 0, None, STEP):
        tried += 1
        worker, outcome = recording.repeat(lost, place.folder / "found")
        if fsync == "always" and outcome.resumed_at is not None:
            kept = {name for name, moment in recording.committed.items() if moment <= lost.moment}
            assert kept.isdisjoint(worker.called), lost.description
    assert tried >= 20
