"""The monitor of a run: counts, durations, progress and telemetry. It observes, and decides nothing."""

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from inorder.core.commands import Command, OutageChanged, Stopping, Summary
from inorder.core.events import Event, Tick
from inorder.core.transitions import State
from inorder.engines.attempt import escape_surrogates
from inorder.engines.base import ResizableEngine
from inorder.errors import InvariantViolation
from inorder.host.filesystem import SystemFilesystem
from inorder.lanes import Lane
from inorder.runtime.loop import Runtime
from inorder.runtime.recovery import OpenedJournal
from inorder.runtime.result_log import ResultLog
from inorder.sinks.base import Entry
from inorder.stage.contracts import PassPlan, StageOutcome, get_whole
from inorder.stage.data_layout import DataLayout
from inorder.stage.options import StageOptions

from .attempt_log import AttemptLog
from .gpu import read_gpu_memory_bytes
from .histograms import ErrorTally, Histogram, SlowestItems
from .lane_metrics import describe_lanes
from .live import LiveState
from .measures import RETRIED_REQUESTS, MeasureSums
from .metrics import RunMetrics
from .otel import start_otel
from .periodic import Duty, run_periodically
from .progress import (
    Display,
    StageProgress,
    format_adopting,
    format_outage,
    format_stall_ended,
    format_stalled,
    format_stopping,
    open_display,
)
from .stall import ActivityReader, HeadReport, StallEnded, StallWatchdog, format_note, read_head
from .telemetry import Telemetry
from .timeline import TimelineRecorder

_GAUGES_S = 0.1
_FLUSH_S = 1.0
"""A run that is killed loses the telemetry of this time."""
_LIVE_S = 1.0
"""During a stall, what `inorder inspect` shows is at most this old."""
_KERNEL_HISTOGRAMS = ("item_queue_ms", "item_start_ms", "item_wait_ms", "commit_ms")
_FAIL = int(State.TERMINAL_FAIL)
_SUCCESS = int(State.TERMINAL_SUCCESS)
_SKIP = int(State.TERMINAL_SKIP)


class RunMonitor:
    """Observes every step of a run and every committed entry."""

    def __init__(self, plan: PassPlan, options: StageOptions, layout: DataLayout, run_id: str) -> None:
        self._plan = plan
        self._options = options
        self._run_id = run_id
        self._metrics = RunMetrics()
        self._exec_ms = Histogram()
        self._errors, self._slowest = ErrorTally(), SlowestItems()
        self._counts = [0] * 8
        """Committed items by outcome, without parts of others."""
        self._parts = [0] * 8
        """Committed parts by outcome."""
        self._count_parts: Callable[[], int] = lambda: 0
        self._sums = MeasureSums()
        self._violations = 0
        self._now_ms = 0
        self._resumed_end = 0
        self._gauges_read_s = self._started_s = time.monotonic()
        self._gauges: dict[str, Any] = {}
        self._display = Display()
        self._runtime: Runtime | None = None
        self._results: ResultLog | None = None
        self._count_workers: Callable[[], int] = lambda: 0
        self._lanes: Sequence[Lane] = ()
        self._lane_resources: Mapping[str, Any] = {}
        self._is_ending = threading.Event()
        self._ticker: threading.Thread | None = None
        filesystem = SystemFilesystem()
        telemetry_path = layout.telemetry_path(run_id, options.telemetry_dir)
        self._telemetry = Telemetry(filesystem, telemetry_path) if options.telemetry else None
        self._timeline = TimelineRecorder(self._telemetry, self._started_s)
        self._attempts = (
            AttemptLog(Telemetry(filesystem, layout.attempts_path(run_id)), self._find_own_id)
            if options.attempts_log
            else None
        )
        self._otel = start_otel(plan.stage_name, options)
        self._activity: ActivityReader | None = None
        self._watchdog = StallWatchdog(options.stall_warning_s, self._started_s)
        self._live = LiveState(filesystem, layout.live)
        self._live_written_s = 0.0

    def start(
        self,
        runtime: Runtime,
        opened: OpenedJournal,
        engine: ResizableEngine,
        count_workers: Callable[[], int],
        results: ResultLog,
        count_parts: Callable[[], int],
        lanes: Sequence[Lane],
        resources: Mapping[str, Any],
    ) -> None:
        """Observe a run that starts or resumes. Called again if the plan has changed and the run starts over.
        `count_parts` returns how many of the items that were read from the plan are parts of others. The metrics have
        these lanes, and those among the resources."""
        if self._ticker is not None:
            self._stop_ticker()
            self._display.stop()
        resume_point = opened.resume_point
        self._runtime = runtime
        self._activity = ActivityReader(engine)
        self._count_workers = count_workers
        self._results = results
        self._lanes, self._lane_resources = lanes, resources
        self._resumed_end = resume_point.end
        self._metrics = RunMetrics(resume_point.end, None if self._otel is None else self._otel.record_queued)
        self._count_parts = count_parts
        self._counts, self._parts = [0] * 8, [0] * 8
        self._counts[_SUCCESS : _FAIL + 1] = resume_point.succeeded, resume_point.skipped, resume_point.failed
        options, name, total = self._options, self._plan.stage_name, self._count_total()
        interval_s = options.diagnostics_interval_s
        self._display = open_display(
            options.progress, name, total, resume_point.end, interval_s, verbose=options.verbose
        )
        staged_results = results.found_count
        if staged_results:
            self._display.announce(format_adopting(self._plan.stage_name, staged_results))
        self._emit(
            "run_started",
            stage=self._plan.stage_name,
            run_id=self._run_id,
            resumed_at=_find_resumed_at(opened, staged_results),
            staged_results=staged_results,
            items_total=self._count_total(),
        )
        self._flush()
        self._is_ending.clear()
        self._ticker = threading.Thread(target=self._tick, name="inorder-monitor", daemon=True)
        self._ticker.start()

    def observe(self, now_ms: int, event: Event, commands: Sequence[Command] | None) -> None:
        """Take in one step of the kernel."""
        self._now_ms = now_ms
        self._metrics.observe(now_ms, event, commands or ())
        for command in commands or ():
            if type(command) is Stopping:
                grace_ms = command.deadline_ms - now_ms
                self._display.announce(format_stopping(self._plan.stage_name, command.reason, grace_ms))
            elif type(command) is OutageChanged and (command.is_over or not command.probes):
                self._display.announce(format_outage(self._plan.stage_name, command, self._options.outage_s_max))
        if self._telemetry is not None:
            self._telemetry.observe(event, commands or ())
            self._timeline.observe(event)
        if self._attempts is not None:
            self._attempts.observe(event, commands or ())
        if time.monotonic() - self._gauges_read_s >= _GAUGES_S:
            self._read_gauges()

    def record_committed(self, entries: Sequence[Entry], fields: Mapping[int, Mapping[str, Any]]) -> None:
        """Take in entries that are committed, and what `after_item` returned for them. Called on the commit thread."""
        if self._otel is not None:
            self._otel.record_committed(entries, fields)
        for entry in entries:
            if entry.seq in fields:
                self._emit_item(entry, fields[entry.seq])
            if entry.outcome == _SUCCESS:
                self._sums.record(entry)
            if get_whole(entry.item):
                self._parts[entry.outcome] += 1
                continue
            self._counts[entry.outcome] += 1
            if entry.outcome == _SKIP:
                continue
            item_id = escape_surrogates(entry.item.item_id)
            self._exec_ms.record(entry.exec_ms)
            self._slowest.record(item_id, entry.exec_ms)
            if entry.outcome == _FAIL and entry.failure is not None:
                self._errors.record(item_id, entry.failure.category.value, entry.failure.message)

    def _emit_item(self, entry: Entry, fields: Mapping[str, Any]) -> None:
        self._emit("item", seq=entry.seq, item_id=escape_surrogates(entry.item.item_id), fields=fields)

    def make_outcome(
        self, summary: Summary, opened: OpenedJournal, wall_ms: float, warnings: list[str]
    ) -> StageOutcome:
        """Return the outcome of the run."""
        self._stop_ticker()
        self._announce_stall(self._watchdog.check(time.monotonic(), self._count_committed(), None))
        warnings += self._watchdog.describe_longest()
        parts = self._parts
        succeeded, skipped = summary.succeeded - parts[_SUCCESS], summary.skipped - parts[_SKIP]
        failed = summary.failed - parts[_FAIL]
        cancelled = max(0, (summary.cancelled or 0) - (self._count_parts() - sum(parts)))
        done = succeeded + skipped + failed
        return StageOutcome(
            stage=self._plan.stage_name,
            run_id=self._run_id,
            scheduled=done + cancelled,
            skipped=skipped,
            succeeded=succeeded,
            failed=failed,
            cancelled=cancelled,
            was_cancelled=summary.was_cancelled,
            cancel_reason=summary.cancel_reason,
            stop_kind=summary.stop_kind,
            resumed_at=_find_resumed_at(opened, 0 if self._results is None else self._results.adopted_count),
            wall_ms=round(wall_ms, 3),
            queue_p50_ms=self._metrics.queue_ms.quantile(0.5),
            exec_p50_ms=self._exec_ms.quantile(0.5),
            exec_p95_ms=self._exec_ms.quantile(0.95),
            items_per_s=round((done - opened.resume_point.end) / wall_ms * 1000, 3) if wall_ms > 0 else 0.0,
            errors=self._errors.summarize(),
            warnings=warnings,
        )

    def finish(self, outcome: StageOutcome) -> None:
        """Write the last snapshot, and the outcome of the run."""
        self._write_last_snapshot()
        self._emit("run_ended", outcome=outcome)

    def fail(self, error: BaseException) -> None:
        """Write the exception that ended the run; before that of a violated invariant, a last snapshot."""
        if isinstance(error, InvariantViolation):
            self._violations += 1
            self._write_last_snapshot()
        self._emit(
            "run_failed",
            stage=self._plan.stage_name,
            run_id=self._run_id,
            error=type(error).__name__,
            message=escape_surrogates(str(error)),
            kernel=getattr(error, "snapshot", None),
            **self._make_progress().count_outcomes(self._count_planned()),
        )

    def close(self) -> None:
        """Show the final progress, and close every file. Called however the run ended."""
        if self._ticker is not None:
            self._stop_ticker()
            self._display.close(self._make_progress(), self._slowest, self._errors.categories)
        self._live.remove()
        for stream in (self._telemetry, self._attempts, self._otel):
            if stream is not None:
                stream.close()

    def _stop_ticker(self) -> None:
        self._is_ending.set()
        if self._ticker is not None:
            self._ticker.join()

    def _tick(self) -> None:
        """Watch, show and record, each at its interval, until the run ends."""
        options = self._options
        duties: list[Duty] = [
            (self._watchdog.interval_s, self._check_stall),
            (self._display.interval_s, self._show),
            (options.diagnostics_interval_s, self._record),
            (_FLUSH_S, self._flush),
        ]
        run_periodically(self._is_ending, duties, time.monotonic)

    def _show(self) -> None:
        self._request_gauges()
        self._display.show(self._make_progress(), self._slowest, self._errors.categories)

    def _record(self) -> None:
        self._write_snapshot(self._make_progress())
        self._write_live_state()

    def _request_gauges(self) -> None:
        """Have the thread of the run read the gauges, also while nothing happens."""
        if self._runtime is not None and time.monotonic() - self._gauges_read_s >= _GAUGES_S:
            self._runtime.post(Tick())

    def _write_last_snapshot(self) -> None:
        self._read_gauges(is_last=True)
        self._write_snapshot(self._make_progress(), is_last=True)

    def _write_snapshot(self, progress: StageProgress, *, is_last: bool = False) -> None:
        metrics, sums, elapsed_s = self._metrics, self._sums, progress.elapsed_s
        totals = dict(sorted(sums.totals.copy().items()))
        histograms = {name: getattr(metrics, name.removeprefix("item_")) for name in _KERNEL_HISTOGRAMS}
        histograms["item_exec_ms"] = self._exec_ms
        self._timeline.record_histograms(time.monotonic(), histograms, is_last=is_last)
        self._emit(
            "snapshot",
            items_total=progress.total,
            items_succeeded=progress.succeeded,
            items_skipped=progress.skipped,
            items_failed=progress.failed,
            items_adopted=0 if self._results is None else self._results.adopted_count,
            items_per_s=_compute_rate(progress.done - self._resumed_end, elapsed_s),
            bytes_per_s=_compute_rate(sums.input_bytes, elapsed_s),
            lines_per_s=_compute_rate(totals.get("lines", 0), elapsed_s),
            pages_per_s=_compute_rate(totals.get("pages", 0), elapsed_s),
            input_bytes=sums.input_bytes,
            output_bytes=sums.output_bytes,
            measures={**totals, **self._describe_plan()[1]},
            groups=sums.summarize(),
            invariant_violations=self._violations,
            **self._gauges,
            **{name: histogram.summarize() for name, histogram in histograms.items()},
            errors=dict(self._errors.categories),
            lanes=describe_lanes(self._lanes, self._lane_resources),
        )
        self._flush()

    def _flush(self) -> None:
        for stream in (self._telemetry, self._attempts):
            if stream is not None:
                stream.flush()

    def _check_stall(self) -> None:
        """Announce a stall when it begins and when it ends."""
        now_s = time.monotonic()
        is_outdated = now_s - self._gauges_read_s > self._watchdog.blocked_s
        self._request_gauges()
        read_s, head = self._gauges_read_s, self._gauges.get("head")
        if is_outdated:
            read_s, head = now_s, HeadReport(state="planning")
        found = self._watchdog.check(now_s, self._count_committed(), head, read_s)
        self._announce_stall(found)
        if found is not None or (self._watchdog.is_stalled and now_s - self._live_written_s >= _LIVE_S):
            self._write_live_state()

    def _announce_stall(self, found: HeadReport | StallEnded | None) -> None:
        stage = self._plan.stage_name
        if isinstance(found, HeadReport):
            waited_s = self._watchdog.measure_wait_s(time.monotonic())
            self._emit("stalled", **msgspec.structs.asdict(found), waited_s=round(waited_s, 3))
            self._display.announce(format_stalled(stage, found, waited_s))
        elif found is not None:
            self._emit("stall_ended", seq=found.head.seq, item_id=found.head.item_id, waited_s=found.waited_s)
            self._display.announce(format_stall_ended(stage, found))
        if found is not None and self._telemetry is not None:
            self._telemetry.flush()

    def _write_live_state(self) -> None:
        self._live_written_s = now_s = time.monotonic()
        self._live.write(
            run_id=self._run_id,
            items_total=self._count_total(),
            items_done=sum(self._counts),
            waited_s=round(self._watchdog.measure_wait_s(now_s), 3),
            is_stalled=self._watchdog.is_stalled,
            head=self._gauges.get("head"),
            running=self._gauges.get("running", []),
            doing=self._describe_plan()[0],
        )

    def _read_gauges(self, *, is_last: bool = False) -> None:
        """Read the state of the kernel, on the thread that runs it."""
        self._gauges_read_s = time.monotonic()
        if self._runtime is not None:
            self._gauges = {
                "workers": self._count_workers(),
                "gpu_memory_bytes": read_gpu_memory_bytes(),
                **self._metrics.read_gauges(self._runtime.kernel),
                **read_head(self._runtime.kernel, self._activity, self._now_ms, self._find_item_id),
            }
            self._timeline.sample(self._gauges_read_s, self._gauges, self._counts[_FAIL], is_last=is_last)
            if self._otel is not None:
                self._otel.record_gauges(self._gauges)

    def _find_item_id(self, seq: int) -> str:
        """Return the `item_id` of a seq that is not handed over for commit, or of the item that it is a part of; empty:
        it is unknown."""
        task = None if self._runtime is None else self._runtime.find_item(seq)
        return "" if task is None else escape_surrogates(get_whole(task.item) or task.item.item_id)

    def _find_own_id(self, seq: int) -> str:
        """Return the `item_id` of a seq, also of a part, for the log of attempts."""
        task = None if self._runtime is None else self._runtime.find_item(seq)
        return "" if task is None else escape_surrogates(task.item.item_id)

    def _count_committed(self) -> int:
        return sum(self._counts) + sum(self._parts)

    def _count_planned(self) -> int:
        """How many items were read from the plan, without parts."""
        return max(0, self._metrics.planned_count - self._count_parts())

    def _count_total(self) -> int | None:
        """How many items the run has. A number that the plan announced may be too low or too high: it counts neither
        stale items nor files that came or went since. Once the plan is read to its end, the number is exact."""
        planned_count = self._count_planned()
        if self._metrics.is_plan_complete:
            return planned_count
        announced = self._plan.total_items if self._plan.total_items is not None else self._count_expected()
        return None if announced is None else max(announced, planned_count)

    def _count_expected(self) -> int | None:
        """The latest estimate of the number of items; None: there is none."""
        count = self._plan.count_expected
        return self._plan.expected_items if count is None else count()

    def _make_progress(self) -> StageProgress:
        counts = self._counts
        return StageProgress(
            self._plan.stage_name,
            self._count_total(),
            counts[State.TERMINAL_SUCCESS],
            counts[State.TERMINAL_SKIP],
            counts[State.TERMINAL_FAIL],
            time.monotonic() - self._started_s,
            self._gauges.get("in_flight", 0),
            self._gauges.get("buffered_bytes", 0),
            self._gauges.get("commit_lag", 0),
            self._describe_plan()[0]
            or format_note(self._watchdog, self._gauges, time.monotonic(), names_all=bool(self._plan.unit)),
            self._plan.unit,
            int(self._sums.totals.get(RETRIED_REQUESTS, 0)),
        )

    def _describe_plan(self) -> tuple[str, Mapping[str, float]]:
        return ("", {}) if self._plan.describe is None else self._plan.describe()

    def _emit(self, event: str, **fields: Any) -> None:
        if self._telemetry is not None:
            self._telemetry.emit(event, **fields)


def _find_resumed_at(opened: OpenedJournal, results: int) -> int | None:
    """Return where an interrupted run goes on: also at 0, if it has left results; None: there was none."""
    end = opened.resume_point.end
    return end if end or (opened.is_resumed and results) else None


def _compute_rate(count: float, elapsed_s: float) -> float:
    return round(count / elapsed_s, 3) if elapsed_s > 0 else 0.0
