"""Everything that is only looked at: counts, times, progress, telemetry. Nothing of it decides anything."""

import threading
import time
from collections.abc import Sequence
from typing import Any

from inorder.core.commands import Command, Dispatch, Summary
from inorder.core.events import Event, Planned
from inorder.core.states import State
from inorder.host.filesystem import SystemFilesystem
from inorder.recovery import Opened
from inorder.runtime import Runtime
from inorder.sinks.base import Entry

from .adaptive import Steering
from .attempts import Attempts
from .contracts import StageOptions, StageOutcome, StagePlan
from .measures import ErrorTally, Histogram, Slowest
from .otel import open_telemetry
from .places import Places
from .progress import Silence, Standing, display
from .telemetry import Telemetry

_GAUGES_S = 0.1
_FAIL = int(State.TERMINAL_FAIL)
_SKIP = int(State.TERMINAL_SKIP)


class Watch:
    """Sees every step of a run, and every entry that is committed."""

    def __init__(self, plan: StagePlan, options: StageOptions, places: Places, run_id: str) -> None:
        self._plan = plan
        self._options = options
        self._run_id = run_id
        self._queue_ms, self._exec_ms = Histogram(), Histogram()
        self._errors, self._slowest = ErrorTally(), Slowest()
        self._counts = [0] * 8
        self._planned_ms: dict[int, int] = {}
        self._next_seq = 0
        self._gauged_s = self._began_s = time.monotonic()
        self._gauges: dict[str, int] = {}
        self._display: Any = Silence()
        self._runtime: Runtime | None = None
        self._restored_end = 0
        self._ending = threading.Event()
        self._ticker: threading.Thread | None = None
        filesystem = SystemFilesystem()
        self._telemetry = Telemetry(filesystem, places.telemetry(run_id)) if options.telemetry else None
        self._attempts = Attempts(Telemetry(filesystem, places.attempts(run_id))) if options.attempts_log else None
        self._otel = open_telemetry(plan.stage_name, options)
        self._steering: Steering | None = None

    def started(self, runtime: Runtime, opened: Opened, steering: Steering | None) -> None:
        """The run begins, perhaps not at its first item."""
        self._steering = steering
        restored = opened.restored
        self._runtime = runtime
        self._restored_end = restored.end
        self._counts = [0] * 8
        for state, count in (
            (State.TERMINAL_SUCCESS, restored.succeeded),
            (State.TERMINAL_SKIP, restored.skipped),
            (State.TERMINAL_FAIL, restored.failed),
        ):
            self._counts[state] = count
        options = self._options
        self._display = display(
            options.progress,
            self._plan.stage_name,
            self._plan.total_items,
            restored.end,
            options.diagnostics_interval_s,
            verbose=options.verbose,
        )
        self._emit("run_started", stage=self._plan.stage_name, run_id=self._run_id, resumed_at=restored.end or None)
        self._ticker = threading.Thread(target=self._tick, name="inorder-watch", daemon=True)
        self._ticker.start()

    def observe(self, now_ms: int, event: Event, commands: Sequence[Command] | None) -> None:
        """One step of the kernel."""
        if type(event) is Planned:
            for seq in range(self._next_seq, self._next_seq + len(event.items)):
                if seq >= self._restored_end:
                    self._planned_ms[seq] = now_ms
            self._next_seq += len(event.items)
        for command in commands or ():
            if type(command) is Dispatch:
                for seq in command.seqs:
                    planned_ms = self._planned_ms.pop(seq, None)
                    if planned_ms is not None:
                        self._queue_ms.record(now_ms - planned_ms)
        if self._telemetry is not None:
            self._telemetry.observe(event, commands or ())
        if self._attempts is not None:
            self._attempts.observe(event, commands or ())
        if time.monotonic() - self._gauged_s >= _GAUGES_S:
            self._gauge()

    def committed(self, entries: Sequence[Entry]) -> None:
        """A run of items is safe."""
        if self._otel is not None:
            self._otel.committed(entries)
        for entry in entries:
            self._counts[entry.outcome] += 1
            item_id = entry.item.item.item_id
            if entry.outcome != _SKIP:
                self._exec_ms.record(entry.exec_ms)
                self._slowest.record(item_id, entry.exec_ms)
                if self._steering is not None:
                    self._steering.record(entry.exec_ms, is_failure=entry.outcome == _FAIL)
            if entry.outcome == _FAIL and entry.failure is not None:
                self._errors.record(item_id, entry.failure.category.value, entry.failure.message)

    def outcome(self, summary: Summary, opened: Opened, wall_ms: float, warnings: list[str]) -> StageOutcome:
        """How it went."""
        done = summary.succeeded + summary.skipped + summary.failed
        cancelled = summary.cancelled or 0
        return StageOutcome(
            stage=self._plan.stage_name,
            run_id=self._run_id,
            scheduled=done + cancelled,
            skipped=summary.skipped,
            succeeded=summary.succeeded,
            failed=summary.failed,
            cancelled=cancelled,
            was_cancelled=summary.was_cancelled,
            cancel_reason=summary.cancel_reason,
            stop_kind=summary.stop_kind,
            resumed_at=opened.restored.end or None,
            wall_ms=round(wall_ms, 3),
            queue_p50_ms=self._queue_ms.quantile(0.5),
            exec_p50_ms=self._exec_ms.quantile(0.5),
            exec_p95_ms=self._exec_ms.quantile(0.95),
            items_per_s=round((done - opened.restored.end) / wall_ms * 1000, 3) if wall_ms > 0 else 0.0,
            errors=self._errors.summaries(),
            warnings=warnings,
        )

    def ended(self, outcome: StageOutcome) -> None:
        """The run is over."""
        self._emit("run_ended", outcome=outcome)

    def close(self) -> None:
        """The last word, whatever happened."""
        self._ending.set()
        if self._ticker is not None:
            self._ticker.join()
            self._display.close(self._standing(), self._slowest, self._errors.categories)
        for stream in (self._telemetry, self._attempts, self._otel):
            if stream is not None:
                stream.close()

    def _tick(self) -> None:
        snapshot_s = 0.0
        while not self._ending.wait(min(self._display.interval_s, self._options.diagnostics_interval_s)):
            standing = self._standing()
            self._display.show(standing, self._slowest, self._errors.categories)
            if standing.elapsed_s - snapshot_s >= self._options.diagnostics_interval_s:
                snapshot_s = standing.elapsed_s
                self._snapshot(standing)

    def _snapshot(self, standing: Standing) -> None:
        self._emit(
            "snapshot",
            items_total=standing.total,
            items_succeeded=standing.succeeded,
            items_skipped=standing.skipped,
            items_failed=standing.failed,
            **self._gauges,
            item_exec_ms=_quantiles(self._exec_ms),
            item_queue_ms=_quantiles(self._queue_ms),
            errors=dict(self._errors.categories),
        )
        for stream in (self._telemetry, self._attempts):
            if stream is not None:
                stream.flush()

    def _gauge(self) -> None:
        """Look at the kernel, on the thread that it runs on."""
        self._gauged_s = time.monotonic()
        if self._runtime is not None:
            found = self._runtime.kernel.snapshot()
            self._gauges = {
                "in_flight": found.in_flight_count,
                "queue_depth": found.planned_count - found.terminal_count - found.in_flight_count,
                "buffered_bytes": found.buffered_bytes,
                "commit_lag": found.commit_lag,
                "next_commit_seq": found.next_commit_seq,
                "max_seen_seq": found.max_seen_seq,
            }
            if self._otel is not None:
                self._otel.gauge(self._gauges)
            if self._steering is not None:
                self._gauges["workers"] = self._steering.steer()

    def _standing(self) -> Standing:
        counts = self._counts
        return Standing(
            self._plan.stage_name,
            self._plan.total_items,
            counts[State.TERMINAL_SUCCESS],
            counts[State.TERMINAL_SKIP],
            counts[State.TERMINAL_FAIL],
            time.monotonic() - self._began_s,
            self._gauges.get("in_flight", 0),
            self._gauges.get("buffered_bytes", 0),
            self._gauges.get("commit_lag", 0),
        )

    def _emit(self, event: str, **fields: Any) -> None:
        if self._telemetry is not None:
            self._telemetry.emit(event, **fields)


def _quantiles(found: Histogram) -> dict[str, float]:
    return {
        "count": found.count,
        "p50": found.quantile(0.5),
        "p95": found.quantile(0.95),
        "p99": found.quantile(0.99),
        "max": round(found.largest, 3),
    }
