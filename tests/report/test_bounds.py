"""The size of a report does not grow with the number of items, and everything that was cut is said."""

import json
from pathlib import Path

import msgspec
import pytest

from inorder.report import build_report, render_html

pytestmark = pytest.mark.req("VIS-1")

_START_MS = 1_700_000_000_000
PAGE_BYTES_MAX = 2_000_000
COUNT = 50_000


def write_run(data: Path, count: int) -> None:
    """The files of a run of many items: every tenth failed, every seventh was skipped, and all of them retried."""
    for folder in ("manifests", "telemetry"):
        (data / folder).mkdir(parents=True)
    config = {"stage": "many", "doc_id": "__config__", "status": "config", "run_id": "a" * 16, "options": {}}
    with open(data / "manifests" / "many.jsonl", "w", encoding="utf-8") as manifest:
        manifest.write(json.dumps(config, separators=(",", ":")) + "\n")
        for first in range(0, count, 10_000):
            manifest.writelines(_make_row(seq) for seq in range(first, min(count, first + 10_000)))
    started = {"time": _START_MS, "event": "run_started", "stage": "many", "run_id": "a" * 16, "resumed_at": None}
    with open(data / "telemetry" / f"{'a' * 16}.jsonl", "w", encoding="utf-8") as telemetry:
        telemetry.write(json.dumps(started) + "\n")
        telemetry.writelines(_make_events(number) for number in range(count // 10))


def _make_row(seq: int) -> str:
    status = "failure" if seq % 10 == 0 else "skip" if seq % 7 == 0 else "success"
    error = f'{{"category":"input","message":"damaged at byte {seq}"}}' if seq % 10 == 0 else "null"
    return (
        f'{{"stage":"many","doc_id":"folder/item-{seq}","status":"{status}","duration_s":{seq % 1000 / 1000},'
        f'"seq":{seq},"attempts":2,"reason":"reason {seq % 9000}","error":{error},"traceback":"Traceback {seq}",'
        f'"warnings":["warning {seq}"]}}\n'
    )


def _make_events(number: int) -> str:
    time_ms, done = _START_MS + number * 50, number * 10
    worker = number % 3000
    return (
        f'{{"time":{time_ms},"event":"sample","committed":{done},"computed":{done + 5},"failed":0,"buffered_bytes":1,'
        f'"resident_bytes":2,"active_workers":3,"seqs_per_count":1,"seqs":[[{done},10]],"busy":[[{worker},40,10]],'
        f'"longest":[[{done},{worker},30.0,{time_ms - 30}]]}}\n'
        f'{{"time":{time_ms},"event":"retry_scheduled","seq":{done},"attempt":1,"due_ms":1,"failure":'
        f'{{"category":"io","message":"reset"}},"retries":1}}\n'
        f'{{"time":{time_ms},"event":"window_opened","id":{number},"start":{done},"target_entries":10,"sizing":null}}\n'
        f'{{"time":{time_ms},"event":"pressure_changed","state":"hard","reason":"commit lag 9 above budgets.x 5"}}\n'
        f'{{"time":{time_ms + 9},"event":"pressure_changed","state":"normal","reason":""}}\n'
    )


@pytest.mark.slow
def test_a_report_of_many_items_has_a_bounded_size(tmp_path: Path) -> None:
    write_run(tmp_path, COUNT)
    report = build_report(tmp_path)
    page = render_html(report)
    [run] = report.runs
    failed = len(range(0, COUNT, 10))
    assert (run.counts.failed, run.failures.total, len(run.failures.rows)) == (failed, failed, 200)
    assert run.counts.done == COUNT
    assert (len(run.slowest), len(run.skips.rows), len(run.warnings.rows)) == (200, 200, 200)
    assert 500 <= len(run.series.at_ms) <= 1000
    assert run.series.committed[-1] == COUNT - 10
    assert (len(run.worker_timeline.rows), run.worker_timeline.total) == (200, 3000)
    assert sum(count for _, _, count in run.heat_map.cells) == COUNT
    assert run.mark_counts["retry"] == run.spans_total == COUNT // 10
    assert max(len(run.marks), len(run.windows), len(run.spans)) <= 400
    assert len(page) < PAGE_BYTES_MAX
    assert len(msgspec.json.encode(report)) < PAGE_BYTES_MAX
    assert f"200 of {failed:,} shown" in page
    assert run.spans[0].reason == "commit lag 9 above budgets.x 5"
