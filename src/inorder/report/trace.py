"""A report in the trace event format of Chrome, which Perfetto and `chrome://tracing` open.

Every run is a process and every worker a thread of it. With `attempts_log` every attempt is there, otherwise the items
that took longest. Times are those of the time axis of each run, from its start.
"""

import os
from collections.abc import Iterator
from typing import Any

import msgspec

from inorder.host.regular_file import open_regular
from inorder.host.spelling import encode_spelled
from inorder.stage.data_layout import DataLayout

from .model import PipelineReport, RunReport

EVENTS_MAX = 100_000
"""Attempts of one run: the first of them."""
_ENCODER = msgspec.json.Encoder()
_COUNTERS = ("committed", "computed", "buffered_bytes", "resident_bytes", "active_workers")


def encode_trace(report: PipelineReport) -> bytes:
    """Return the trace of all runs of a report, as JSON."""
    events: list[dict[str, Any]] = []
    notes: list[str] = []
    start_ms = min((run.started_ms for run in report.runs), default=0)
    for pid, run in enumerate(report.runs, 1):
        offset_ms = run.started_ms - start_ms
        events += _list_names(pid, run)
        attempts = list(_read_attempts(pid, run, DataLayout(report.data, run.stage), offset_ms))
        if len(attempts) >= EVENTS_MAX:
            notes.append(f"{run.stage}: the first {EVENTS_MAX:,} attempts")
        events += attempts or _list_longest(pid, run, offset_ms)
        events += _list_counters(pid, run, offset_ms)
        events += _list_marks(pid, run, offset_ms)
    other = {"data": report.data, "version": report.inorder_version, "limits": notes}
    return encode_spelled(_ENCODER, {"traceEvents": events, "displayTimeUnit": "ms", "otherData": other})


def _list_names(pid: int, run: RunReport) -> Iterator[dict[str, Any]]:
    yield _make("M", pid, 0, "process_name", 0, args={"name": f"{run.stage} {run.run_id}"})
    yield _make("M", pid, 0, "process_sort_index", 0, args={"sort_index": pid})
    for row in run.worker_timeline.rows:
        yield _make("M", pid, row.worker + 1, "thread_name", 0, args={"name": f"worker {row.worker}"})


def _list_longest(pid: int, run: RunReport, offset_ms: int) -> Iterator[dict[str, Any]]:
    for item in run.longest:
        name = item.item_id or f"seq {item.seq}"
        at_ms = item.from_ms + offset_ms
        yield _make("X", pid, item.worker + 1, name, at_ms, dur=item.duration_ms * 1000, args={"seq": item.seq})


def _list_counters(pid: int, run: RunReport, offset_ms: int) -> Iterator[dict[str, Any]]:
    for name in _COUNTERS:
        for at_ms, value in zip(run.series.at_ms, getattr(run.series, name), strict=True):
            yield _make("C", pid, 0, name, at_ms + offset_ms, args={name: value})


def _list_marks(pid: int, run: RunReport, offset_ms: int) -> Iterator[dict[str, Any]]:
    for mark in run.marks:
        yield _make("i", pid, 0, mark.kind, mark.at_ms + offset_ms, s="p", args={"text": mark.text})
    for span in run.spans:
        duration = (span.to_ms - span.from_ms) * 1000
        yield _make("X", pid, 0, span.kind, span.from_ms + offset_ms, dur=duration, args={"reason": span.reason})


def _read_attempts(pid: int, run: RunReport, layout: DataLayout, offset_ms: int) -> Iterator[dict[str, Any]]:
    """Read the attempts of a run from its attempt logs."""
    count = 0
    for part in run.parts:
        path = layout.attempts_path(part.run_id)
        if not os.path.exists(path):
            continue
        with open_regular(path) as file:
            for raw in file:
                try:
                    line = msgspec.json.decode(raw)
                    if line["event"] != "finished" or not line["began"]:
                        continue
                    at_ms = part.at_ms + max(0, line["began"] - part.started_ms) + offset_ms
                    args = {name: line[name] for name in ("seq", "attempt", "status")}
                    name, thread = line["item_id"] or f"seq {line['seq']}", line["worker"] + 1
                    event = _make("X", pid, thread, name, at_ms, dur=line["exec_ms"] * 1000, args=args)
                except (msgspec.DecodeError, UnicodeDecodeError, KeyError, TypeError):
                    continue
                yield event
                count += 1
                if count >= EVENTS_MAX:
                    return


def _make(phase: str, pid: int, tid: int, name: str, at_ms: float, **fields: Any) -> dict[str, Any]:
    return {"ph": phase, "pid": pid, "tid": tid, "name": name, "ts": at_ms * 1000, **fields}
