"""What a report makes of the files that a run has left, written by hand here: no process is started."""

import datetime
import fcntl
import json
import os
import platform
import subprocess
from pathlib import Path
from typing import Any

import pytest

from inorder.journal.records import Checkpoint, Header, WindowRecord, encode_record
from inorder.report import build_report, render_html
from inorder.report.items import fill_buckets
from inorder.report.page.text import escape_text
from inorder.report.series import HeatMapBuilder, SeriesBuilder
from inorder.report.workers import WorkerTimelineBuilder

pytestmark = pytest.mark.req("VIS-1")
RUN = "a" * 16
START_MS = 1_700_000_000_000


def write_lines(path: Path, *lines: dict[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "a", encoding="utf-8") as file:
        file.writelines(json.dumps(line, separators=(",", ":")) + "\n" for line in lines)


def write_run(data: Path, run_id: str = RUN, *, started_ms: int = START_MS, resumed_at: int | None = None) -> None:
    """A run of two items that has not ended, as far as its telemetry says."""
    head = {"stage": "made", "run_id": run_id, "resumed_at": resumed_at, "staged_results": 0, "items_total": 3}
    write_lines(
        data / "telemetry" / f"{run_id}.jsonl",
        {"time": started_ms, "event": "run_started", **head},
        {"time": started_ms + 2000, "event": "worker_joined", "worker": 0},
    )
    if resumed_at is None:
        moment = datetime.datetime.fromtimestamp(started_ms / 1000, datetime.UTC).isoformat(timespec="seconds")
        config = {"stage": "made", "doc_id": "__config__", "status": "config", "run_id": run_id, "started_at": moment}
        write_lines(data / "manifests" / "made.jsonl", config)
    for seq in range(2):
        row = {"stage": "made", "doc_id": f"item {seq}", "status": "success", "seq": seq, "duration_s": 0.5}
        write_lines(data / "manifests" / "made.jsonl", row)


def lock(data: Path, pid: int, host: str | None = None, since_ms: int = START_MS) -> None:
    since = datetime.datetime.fromtimestamp(since_ms / 1000, datetime.UTC).isoformat(timespec="seconds")
    (data / "locks").mkdir(exist_ok=True)
    (data / "locks" / "made.lock").write_text(f"process {pid} on {host or platform.node()} since {since}\n")


def state_of(data: Path) -> str:
    [run] = build_report(data, dataset=False).runs
    return run.state


def test_a_run_that_says_no_end_and_has_no_process_was_killed(tmp_path: Path) -> None:
    write_run(tmp_path)
    [run] = build_report(tmp_path, dataset=False).runs
    assert (run.state, run.counts.succeeded, run.counts.total, run.active_ms) == ("killed", 2, 3, 2000)
    assert run.last_ms == START_MS + 2000


def test_a_lock_that_a_live_process_has_open_means_that_the_run_goes_on(tmp_path: Path) -> None:
    now_ms = int(datetime.datetime.now(datetime.UTC).timestamp() * 1000)
    write_run(tmp_path, started_ms=now_ms)
    lock(tmp_path, os.getpid(), since_ms=now_ms)
    assert state_of(tmp_path) == "killed"  # the process lives, and has left the lock
    with open(tmp_path / "locks" / "made.lock", encoding="utf-8"):
        assert state_of(tmp_path) == "running"


def test_a_report_takes_no_lock_and_changes_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_run(tmp_path)
    lock(tmp_path, os.getpid())
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")}
    taken: list[object] = []
    for name in ("flock", "lockf", "fcntl"):
        monkeypatch.setattr(fcntl, name, lambda *arguments: taken.append(arguments))
    build_report(tmp_path)
    assert taken == []
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")} == before


def test_a_process_that_has_the_number_of_the_dead_one_does_not_keep_its_run_alive(tmp_path: Path) -> None:
    write_run(tmp_path)
    lock(tmp_path, os.getpid())  # since long before this process was started
    with open(tmp_path / "locks" / "made.lock", encoding="utf-8"):
        assert state_of(tmp_path) == "killed"


def test_a_lock_of_another_machine_may_be_held(tmp_path: Path) -> None:
    write_run(tmp_path)
    lock(tmp_path, 1, host="elsewhere")
    assert state_of(tmp_path) == "running"


@pytest.mark.process
def test_a_process_that_is_dead_and_not_waited_for_is_dead(tmp_path: Path) -> None:
    now_ms = int(datetime.datetime.now(datetime.UTC).timestamp() * 1000)
    write_run(tmp_path, started_ms=now_ms)
    with subprocess.Popen(["true"], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.read()
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        lock(tmp_path, process.pid, since_ms=now_ms)
        assert state_of(tmp_path) == "killed"


def test_a_run_that_others_resumed_is_one_run_without_the_time_between(tmp_path: Path) -> None:
    write_run(tmp_path)
    write_run(tmp_path, "b" * 16, started_ms=START_MS + 86_400_000, resumed_at=2)
    [run] = build_report(tmp_path, dataset=False).runs
    assert [(part.run_id, part.at_ms, part.resumed_at) for part in run.parts] == [(RUN, 0, None), ("b" * 16, 2000, 2)]
    assert (run.active_ms, run.counts.succeeded) == (4000, 4)
    assert run.mark_counts == {"killed": 2, "resumed": 1}
    assert build_report(tmp_path, ["bbb"], dataset=False).runs[0].run_id == RUN


def test_a_run_without_telemetry_is_judged_by_its_journal(tmp_path: Path) -> None:
    write_run(tmp_path)
    (tmp_path / "telemetry" / f"{RUN}.jsonl").unlink()
    assert state_of(tmp_path) == "unknown"
    (tmp_path / "journal").mkdir()
    path = tmp_path / "journal" / "made.journal"
    path.write_bytes(encode_record(Header(RUN, "", "")) + encode_record(WindowRecord(0, 0, 1024)))
    assert state_of(tmp_path) == "killed"
    with open(path, "ab") as file:
        file.write(encode_record(Checkpoint(end=0, durable=0, is_end=True)))
    assert state_of(tmp_path) == "finished"


def test_damaged_lines_are_counted_and_left_out(tmp_path: Path) -> None:
    write_run(tmp_path)
    for path in (tmp_path / "telemetry" / f"{RUN}.jsonl", tmp_path / "manifests" / "made.jsonl"):
        with open(path, "a", encoding="utf-8") as file:
            file.write('{"time": "x"\n\x00\x00\n{"event":"sample","time":1700000000001}\n{"half a line')
    report = build_report(tmp_path)
    assert report.runs[0].counts.succeeded == 2
    assert report.runs[0].damaged_lines == 6
    assert "6 damaged lines left out" in render_html(report)


def test_a_series_keeps_its_ends_and_the_highest_values() -> None:
    builder = SeriesBuilder(points_max=10)
    for number in range(1000):
        builder.add(number, committed=number, computed=number, buffered_bytes=99 if number == 4 else 1)
    series = builder.build()
    assert 5 <= len(series.at_ms) <= 10
    assert (series.at_ms[-1], series.committed[-1]) == (999, 999)
    assert max(series.buffered_bytes) == 99
    assert series.seen == 1000


def test_a_heat_map_keeps_its_sum_while_its_cells_grow() -> None:
    builder = HeatMapBuilder()
    for number in range(5000):
        builder.add(number * 100, number * 7, 1)
    found = builder.build()
    assert sum(count for _, _, count in found.cells) == 5000
    assert (found.columns <= 160, found.rows <= 80) == (True, True)


def test_busy_time_is_filled_in_backwards_and_never_twice() -> None:
    builder = WorkerTimelineBuilder()
    builder.join(0, 0)
    builder.add_busy(0, 1000, 400.0, 3)
    timeline = builder.build(1000)
    [row] = timeline.rows
    busy = [percent for percent in row.busy_percent if percent]
    assert busy == [100] * (400 // timeline.column_ms)
    assert row.busy_percent[-1 - len(busy) : -1] == busy
    assert (row.busy_ms, row.items, timeline.utilisation_percent) == (400, 3, 40.0)


def test_buckets_have_no_gaps_and_keep_every_count() -> None:
    found = fill_buckets([(0.0013, 2), (1.0, 3), (100.0, 1)])
    assert [count for _, count in found if count] == [2, 3, 1]
    assert found[0][0] == 0.01
    assert found[-1][0] == 100.0


def test_text_that_would_hide_or_reorder_text_is_shown_as_escapes() -> None:
    assert escape_text("a\u202eb\x00\ud800<&>\"'\n") == ("a\\u202eb\\x00\\ud800&lt;&amp;&gt;&quot;&#x27; ")


def test_what_a_killed_run_has_committed_is_counted_by_its_journal(tmp_path: Path) -> None:

    head = {"stage": "run", "run_id": RUN, "resumed_at": None, "staged_results": 0, "items_total": 9}
    write_lines(tmp_path / "telemetry" / f"{RUN}.jsonl", {"time": START_MS, "event": "run_started", **head})
    (tmp_path / "journal").mkdir()
    records = Header(RUN, "", ""), WindowRecord(0, 0, 1024), Checkpoint(end=5, durable=5, is_end=False)
    (tmp_path / "journal" / "run.journal").write_bytes(b"".join(map(encode_record, records)))
    report = build_report(tmp_path, dataset=False)
    assert report.runs[0].counts.done == 5
    assert "5 of 9 files are done and safe." in report.verdict.sentence


def test_a_worker_is_there_until_its_process_has_ended() -> None:
    workers = WorkerTimelineBuilder()
    workers.join(0, 100)
    workers.add_busy(0, 300, 50.0, 2)
    workers.join(1, 120)
    workers.lose(1, 400, "crash")
    workers.close_part(900)
    rows = {row.worker: row for row in workers.build(900).rows}
    assert [(rows[number].first_ms, rows[number].last_ms) for number in (0, 1)] == [(100, 900), (120, 120)]
    assert (rows[1].lost_at_ms, rows[1].lost_cause) == (400, "crash")
