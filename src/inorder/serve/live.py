"""What a live page shows: cheap progress every second, and the whole report as often as it costs little.

Both are computed in the server, at most once for all pages of one DATA, and only while a page is open. A report reads
the telemetry and the manifests of the runs to their ends, so its interval grows with its cost: it takes at most
`_SHARE` of one processor. A run that starts, ends or dies is shown at once.
"""

import os
import time
from collections.abc import Sequence
from contextlib import suppress
from threading import Lock

import msgspec

from inorder.library.connection import library_path
from inorder.pipeline.names import PASSES
from inorder.report.build import build_report
from inorder.report.page.render import render_main
from inorder.stage.monitor.latest import LatestRun, read_latest_runs
from inorder.watch.status import WatchPlace, WatchStatus

_PROGRESS_S = 0.9
_REPORT_S_MIN = 2.0
_SHARE = 0.01


class StageProgressNow(msgspec.Struct, frozen=True, kw_only=True):
    """How far the latest run of a stage is."""

    stage: str
    unit: str
    """What its items are called: `file` or `item`."""
    run_id: str
    state: str
    done: int
    failed: int
    total: int | None
    items_per_s: float
    eta_s: float | None
    waiting_for: str


class LiveReport(msgspec.Struct, frozen=True, kw_only=True):
    """The report as markup, and the values that its plots need."""

    version: int
    html: str
    runs: list[dict[str, object]]


class LiveFeed:
    """The state of one DATA, computed once for all who ask. Thread-safe."""

    def __init__(self, data: str) -> None:
        self._data = data
        self._lock = Lock()
        self._progress: list[StageProgressNow] = []
        self._progress_s = float("-inf")
        self._report: LiveReport | None = None
        self._signature: object = None
        self._report_due_s = 0.0

    def read_progress(self) -> list[StageProgressNow]:
        """The latest run of every stage, at most a second old."""
        with self._lock:
            return self._refresh()

    def read_report(self) -> LiveReport:
        """The report of the latest run of every stage."""
        with self._lock:
            progress = self._refresh()
            now_s = time.monotonic()
            stages = [(stage.stage, stage.run_id, stage.state) for stage in progress]
            signature = stages, self._sign_library(), _sign_watch(WatchPlace(self._data).read())
            is_outdated = self._is_active() and now_s >= self._report_due_s
            if self._report is None or signature != self._signature or is_outdated:
                number = 1 if self._report is None else self._report.version + 1
                self._report = make_live_report(self._data, (), number, dataset=not self._is_active())
                cost_s = time.monotonic() - now_s
                self._signature = signature
                self._report_due_s = now_s + max(_REPORT_S_MIN, cost_s / _SHARE)
            return self._report

    def _refresh(self) -> list[StageProgressNow]:
        now_s = time.monotonic()
        if now_s - self._progress_s >= _PROGRESS_S:
            self._progress = [_describe(run) for run in read_latest_runs(self._data)]
            self._progress_s = now_s
        return self._progress

    def _sign_library(self) -> object:
        """When the library was changed last; None: a run is changing it now. A run that finds nothing to do writes no
        telemetry."""
        with suppress(OSError):
            return None if self._is_active() else os.stat(library_path(self._data)).st_mtime_ns
        return None

    def _is_active(self) -> bool:
        return any(stage.state == "running" for stage in self._progress)


def _sign_watch(watch: WatchStatus | None) -> object:
    """What of a watch is worth a new report."""
    if watch is None:
        return None
    return watch.since_ms, watch.state, watch.last_run, watch.last_error_ms, watch.is_polling, watch.pending_changes > 0


def make_live_report(data: str, runs: Sequence[str], version: int, *, dataset: bool) -> LiveReport:
    """Build a report and render it."""
    report = build_report(data, runs, dataset=dataset)
    series: list[dict[str, object]] = [{"run_id": run.run_id, "series": run.series} for run in report.runs]
    return LiveReport(version=version, html=render_main(report), runs=series)


def _describe(run: LatestRun) -> StageProgressNow:
    found = run.snapshot
    counts = [int(found.get(f"items_{status}") or 0) for status in ("succeeded", "skipped", "failed")]
    total, rate = found.get("items_total"), float(found.get("items_per_s") or 0.0)
    left = None if total is None else max(0, total - sum(counts))
    head = found.get("head") or {}
    return StageProgressNow(
        stage=run.stage,
        unit="file" if run.stage in PASSES else "item",
        run_id=run.run_id,
        state=run.state,
        done=sum(counts),
        failed=counts[2],
        total=total,
        items_per_s=rate,
        eta_s=left / rate if run.state == "running" and left is not None and rate > 0 else None,
        waiting_for=str(head.get("item_id") or "") if run.state == "running" else "",
    )
