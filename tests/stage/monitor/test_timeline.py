"""The timeline that reports draw: of bounded size, and true."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import inorder
from inorder.core.events import Envelope, Finished, Loss, Pulled, WorkerLost
from inorder.core.transitions import State
from inorder.host.filesystem import SystemFilesystem
from inorder.stage.monitor.histograms import Histogram
from inorder.stage.monitor.telemetry import Telemetry
from inorder.stage.monitor.timeline import LONGEST_MAX, PLACES_MAX, WORKERS_MAX, TimelineRecorder

pytestmark = [pytest.mark.req("VIS-1"), pytest.mark.req("RUN-12")]

GAUGES = {"next_commit_seq": 5, "max_seen_seq": 8, "buffered_bytes": 7, "resident_bytes": 6, "active_workers": 2}


class Recorded:
    """A recorder, and what it wrote."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "telemetry" / "run.jsonl"
        self.telemetry = Telemetry(SystemFilesystem(), str(self.path))
        self.recorder = TimelineRecorder(self.telemetry, 0.0)

    def finish(self, worker: int, *items: tuple[int, float]) -> None:
        envelopes = [
            Envelope(seq, 1, int(State.TERMINAL_SUCCESS), exec_ms=exec_ms, began_ms=9.0) for seq, exec_ms in items
        ]
        self.recorder.observe(Finished(worker, envelopes))

    def sample(self, now_s: float, **options: Any) -> None:
        self.recorder.sample(now_s, GAUGES, 1, **options)

    def events(self, name: str) -> list[dict[str, Any]]:
        self.telemetry.flush()
        lines = map(json.loads, self.path.read_text().splitlines())
        return [line for line in lines if line["event"] == name]


def test_a_sample_says_which_seqs_were_computed_by_whom_and_which_took_long(tmp_path: Path) -> None:
    recorded = Recorded(tmp_path)
    recorded.finish(0, (3, 10.0), (4, 250.0))
    recorded.finish(1, (5, 0.4))
    recorded.sample(0.2)
    [sample] = recorded.events("sample")
    assert (sample["committed"], sample["computed"], sample["failed"]) == (5, 9, 1)
    assert (sample["seqs_per_count"], sample["seqs"]) == (1, [[3, 1], [4, 1], [5, 1]])
    assert sample["busy"] == [[0, 260.0, 2], [1, 0.4, 1]]
    assert sample["longest"] == [[4, 0, 250.0, 9], [3, 0, 10.0, 9]]
    recorded.sample(0.4)
    assert recorded.events("sample")[1]["busy"] == []


@pytest.mark.slow
def test_samples_become_rarer_with_the_age_of_a_run_and_the_last_one_is_always_written(tmp_path: Path) -> None:
    recorded = Recorded(tmp_path)
    for tick in range(1, 100_001):
        recorded.sample(tick * 0.1)
    day = len(recorded.events("sample"))
    assert 2000 < day < 4000
    recorded.sample(10_000.05)
    recorded.sample(10_000.05, is_last=True)
    assert len(recorded.events("sample")) == day + 1


def test_a_sample_has_a_bounded_size_whatever_happened_since_the_last(tmp_path: Path) -> None:
    recorded = Recorded(tmp_path)
    for seq in range(0, 1_000_000, 97):
        recorded.finish(seq % 1000, (seq, 5.0 + seq % 13))
    recorded.sample(1.0)
    [sample] = recorded.events("sample")
    assert len(sample["seqs"]) <= PLACES_MAX
    assert sum(count for _, count in sample["seqs"]) == len(range(0, 1_000_000, 97))
    assert (len(sample["busy"]), len(sample["longest"])) == (WORKERS_MAX, LONGEST_MAX)
    assert {exec_ms for _, _, exec_ms, _ in sample["longest"]} == {17.0}


def test_a_worker_joins_once_and_again_after_it_was_lost(tmp_path: Path) -> None:
    recorded = Recorded(tmp_path)
    for event in (Pulled(3), Pulled(3), Pulled(4), WorkerLost(3, Loss.DIED), Pulled(3)):
        recorded.recorder.observe(event)
    assert [line["worker"] for line in recorded.events("worker_joined")] == [3, 4, 3]


def test_the_buckets_of_a_histogram_hold_every_value() -> None:
    histogram = Histogram()
    values = [0.0, 0.5, 1.0, 9.99, 10.0, 123.0, 4567.0]
    for value in values:
        histogram.record(value)
    buckets = histogram.list_buckets()
    assert sum(count for _, count in buckets) == len(values)
    assert [bound for bound, _ in buckets] == sorted(bound for bound, _ in buckets)
    for value in values:
        assert any(value <= bound for bound, _ in buckets)


def test_the_samples_of_a_run_add_up_to_its_items(tmp_path: Path) -> None:
    items = [inorder.WorkItem(item_id=str(number)) for number in range(50)]
    options = inorder.StageOptions(data=tmp_path, workers=2, progress="none")
    outcome = inorder.run_stage(inorder.StagePlan("many", items, 50), lambda item: None, options)
    lines = (tmp_path / "telemetry" / f"{outcome.run_id}.jsonl").read_text().splitlines()
    samples = [line for line in map(json.loads, lines) if line["event"] == "sample"]
    seqs: Counter[int] = Counter()
    for sample in samples:
        assert sample["seqs_per_count"] == 1
        seqs.update(dict(sample["seqs"]))
    assert seqs == dict.fromkeys(range(50), 1)
    assert sum(items for sample in samples for _, _, items in sample["busy"]) == 50
    assert (samples[-1]["committed"], samples[-1]["computed"]) == (50, 50)


def test_durations_are_written_when_the_run_is_much_older_and_at_its_end(tmp_path: Path) -> None:
    recorded = Recorded(tmp_path)
    histograms = {"exec_ms": Histogram()}
    written = []
    for now_s, is_last in ((10.0, False), (10.1, False), (40.0, False), (40.1, True)):
        recorded.recorder.record_histograms(now_s, histograms, is_last=is_last)
        written.append(len(recorded.events("histograms")))
    assert written == [1, 1, 2, 3]
