"""Everything that is only looked at: counts, times, progress, telemetry. Nothing of it decides anything."""

import threading
import time
from collections.abc import Sequence
from typing import Any

from inorder.core.commands import Command, Stopping, Summary
from inorder.core.events import Event
from inorder.core.transitions import State
from inorder.host.filesystem import SystemFilesystem
from inorder.runtime.loop import Runtime
from inorder.runtime.recovery import Opened
from inorder.sinks.base import Entry
from inorder.stage.autoscale import Steering
from inorder.stage.contracts import StageOptions, StageOutcome, StagePlan
from inorder.stage.data_layout import DataLayout
from inorder.stage.engine import engine_spec
from inorder.stage.manifest.rows import to_printable

from .attempt_log import Attempts
from .histograms import ErrorTally, Histogram, Slowest
from .metrics import Figures, quantiles
from .otel import open_telemetry
from .progress import Silence, Standing, display, stopping
from .telemetry import Telemetry

_GAUGES_S = 0.1
_FAIL = int(State.TERMINAL_FAIL)
_SKIP = int(State.TERMINAL_SKIP)


class Watch:
    """Sees every step of a run, and every entry that is committed."""

    def __init__(self, plan: StagePlan, options: StageOptions, layout: DataLayout, run_id: str) -> None:
        self._plan = plan
        self._total = plan.total_items if plan.total_items is not None else plan.expected_items
        self._options = options
        self._run_id = run_id
        self._figures = Figures()
        self._exec_ms = Histogram()
        self._errors, self._slowest = ErrorTally(), Slowest()
        self._counts = [0] * 8
        self._output_bytes = 0
        self._resumed_end = 0
        self._gauged_s = self._began_s = time.monotonic()
        self._gauges: dict[str, Any] = {}
        self._display: Any = Silence()
        self._runtime: Runtime | None = None
        self._ending = threading.Event()
        self._ticker: threading.Thread | None = None
        filesystem = SystemFilesystem()
        self._telemetry = Telemetry(filesystem, layout.telemetry_path(run_id)) if options.telemetry else None
        self._attempts = Attempts(Telemetry(filesystem, layout.attempts_path(run_id))) if options.attempts_log else None
        self._otel = open_telemetry(plan.stage_name, options)
        self._steering: Steering | None = None

    def started(self, runtime: Runtime, opened: Opened, steering: Steering | None) -> None:
        """The run begins, perhaps not at its first item; and perhaps anew, where the plan turned out to be another."""
        if self._ticker is not None:
            self._stop_ticking()
            self._display.stop()
        resume_point = opened.resume_point
        self._steering = steering
        self._runtime = runtime
        self._resumed_end = resume_point.end
        self._figures = Figures(resume_point.end, None if self._otel is None else self._otel.queued)
        self._counts = [0] * 8
        for state, count in (
            (State.TERMINAL_SUCCESS, resume_point.succeeded),
            (State.TERMINAL_SKIP, resume_point.skipped),
            (State.TERMINAL_FAIL, resume_point.failed),
        ):
            self._counts[state] = count
        options = self._options
        self._display = display(
            options.progress,
            self._plan.stage_name,
            self._total,
            resume_point.end,
            options.diagnostics_interval_s,
            verbose=options.verbose,
        )
        self._emit("run_started", stage=self._plan.stage_name, run_id=self._run_id, resumed_at=resume_point.end or None)
        self._ending.clear()
        self._ticker = threading.Thread(target=self._tick, name="inorder-watch", daemon=True)
        self._ticker.start()

    def observe(self, now_ms: int, event: Event, commands: Sequence[Command] | None) -> None:
        """One step of the kernel."""
        self._figures.observe(now_ms, event, commands or ())
        for command in commands or ():
            if type(command) is Stopping:
                self._display.say(stopping(self._plan.stage_name, command.reason, command.deadline_ms - now_ms))
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
            for output in entry.outputs:
                self._output_bytes += output.size
            if entry.outcome == _SKIP:
                continue
            item_id = to_printable(entry.item.item.item_id)
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
            resumed_at=opened.resume_point.end or None,
            wall_ms=round(wall_ms, 3),
            queue_p50_ms=self._figures.queue_ms.quantile(0.5),
            exec_p50_ms=self._exec_ms.quantile(0.5),
            exec_p95_ms=self._exec_ms.quantile(0.95),
            items_per_s=round((done - opened.resume_point.end) / wall_ms * 1000, 3) if wall_ms > 0 else 0.0,
            errors=self._errors.summaries(),
            warnings=warnings,
        )

    def ended(self, outcome: StageOutcome) -> None:
        """The run is over."""
        self._gauge()
        self._snapshot(self._standing())
        self._emit("run_ended", outcome=outcome)

    def failed(self, error: BaseException) -> None:
        """The run broke off: of a violated invariant the message has the whole story."""
        self._emit("run_failed", error=type(error).__name__, message=to_printable(str(error)))

    def close(self) -> None:
        """The last word, whatever happened."""
        if self._ticker is not None:
            self._stop_ticking()
            self._display.close(self._standing(), self._slowest, self._errors.categories)
        for stream in (self._telemetry, self._attempts, self._otel):
            if stream is not None:
                stream.close()

    def _stop_ticking(self) -> None:
        self._ending.set()
        if self._ticker is not None:
            self._ticker.join()

    def _tick(self) -> None:
        snapshot_s = 0.0
        while not self._ending.wait(min(self._display.interval_s, self._options.diagnostics_interval_s)):
            standing = self._standing()
            self._display.show(standing, self._slowest, self._errors.categories)
            if standing.elapsed_s - snapshot_s >= self._options.diagnostics_interval_s:
                snapshot_s = standing.elapsed_s
                self._snapshot(standing)

    def _snapshot(self, standing: Standing) -> None:
        figures, elapsed_s = self._figures, standing.elapsed_s
        self._emit(
            "snapshot",
            items_total=standing.total,
            items_succeeded=standing.succeeded,
            items_skipped=standing.skipped,
            items_failed=standing.failed,
            items_per_s=round((standing.done - self._resumed_end) / elapsed_s, 3) if elapsed_s > 0 else 0.0,
            output_bytes=self._output_bytes,
            **self._gauges,
            item_queue_ms=quantiles(figures.queue_ms),
            item_exec_ms=quantiles(self._exec_ms),
            item_wait_ms=quantiles(figures.wait_ms),
            commit_ms=quantiles(figures.commit_ms),
            errors=dict(self._errors.categories),
        )
        for stream in (self._telemetry, self._attempts):
            if stream is not None:
                stream.flush()

    def _gauge(self) -> None:
        """Look at the kernel, on the thread that it runs on."""
        self._gauged_s = time.monotonic()
        if self._runtime is not None:
            workers = self._steering.steer() if self._steering is not None else engine_spec(self._options).worker_count
            self._gauges = {"workers": workers, **self._figures.gauges(self._runtime.kernel)}
            if self._otel is not None:
                self._otel.gauge(self._gauges)

    def _standing(self) -> Standing:
        counts = self._counts
        return Standing(
            self._plan.stage_name,
            self._total,
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
