"""Reads the telemetry of a run into values of bounded size, line by line, while a run may be writing it."""

from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from inorder.host.regular_file import open_regular
from inorder.stage.monitor.latest import TelemetryFile

from .model import MARKS_MAX, LongItem, RunPart, TimeMark, TimeSpan, WindowSpan
from .series import HeatMapBuilder, SeriesBuilder
from .workers import WorkerTimelineBuilder

_ITEM = b'"event":"item"'
_ITEM_AT = 60
"""The name of an event stands in the first bytes of its line. Events `item` are not needed, and there may be one per
item: they are not decoded."""
_TEXT_MAX = 300
_RETURNED = "returned before it was started"
_PRESSURE_KINDS = {"soft": "slowed", "hard": "paused"}
_HISTOGRAMS = ("item_queue_ms", "item_start_ms", "item_exec_ms", "item_wait_ms", "commit_ms")


class _Thinned:
    """A list of bounded length that keeps every first, second, fourth... member, spread over the whole."""

    def __init__(self, length_max: int = MARKS_MAX) -> None:
        self._length_max = length_max
        self._every = 1
        self.total = 0
        self.members: list[Any] = []

    def add(self, member: Any) -> bool:
        """Add a member. Returns whether it was kept."""
        self.total += 1
        if (self.total - 1) % self._every:
            return False
        self.members.append(member)
        if len(self.members) > self._length_max:
            self.members = self.members[::2]
            self._every *= 2
        return True


class TelemetryDigest:
    """What the telemetry of all parts of a run says."""

    def __init__(self) -> None:
        self.series = SeriesBuilder()
        self.heat_map = HeatMapBuilder()
        self.workers = WorkerTimelineBuilder()
        self.parts: list[RunPart] = []
        self.snapshot: dict[str, Any] = {}
        """The latest metrics."""
        self.announced_total: int | None = None
        """The number of items at the start of the latest part; None: not known."""
        self.histograms: dict[str, dict[str, Any]] = {}
        self.outcome: dict[str, Any] | None = None
        """How the last part ended; None: it did not say."""
        self.failure: dict[str, Any] | None = None
        self._longest = _Thinned(4 * MARKS_MAX)
        self.damaged_lines = 0
        self._marks: dict[str, _Thinned] = {}
        self._windows = _Thinned()
        self._open_windows: dict[int, dict[str, int]] = {}
        self._spans: list[TimeSpan] = []
        self.spans_total = 0
        self._pressure: tuple[int, str, str] | None = None
        self._outage: tuple[int, str, str] | None = None
        self._stall: tuple[int, str] | None = None
        self._part: TelemetryFile | None = None
        self._base_ms = 0
        self._last_ms = 0
        self._at_ms = 0

    @property
    def active_ms(self) -> int:
        """The active time so far."""
        return self._at_ms

    def add_part(self, file: TelemetryFile, last_sign_ms: int | None = None) -> None:
        """Read the telemetry of the next process. `last_sign_ms`: when it was last seen, if its telemetry does not have
        it."""
        if self._part is not None:
            if not self.parts[-1].end:
                self.add_mark("killed", f"the process of run {self._part.run_id} was killed")
            self.add_mark("resumed", f"resumed by run {file.run_id} at seq {file.resumed_at or 0}")
        self._part, self._base_ms, self._last_ms = file, self._at_ms, file.started_ms
        start_ms = self._at_ms
        self.outcome = self.failure = None
        for line in _read_lines(file.path):
            self._take(line)
        if self.outcome is None and self.failure is None:
            self.advance(last_sign_ms or 0)
        self._close_spans()
        end = "ended" if self.outcome is not None else "failed" if self.failure is not None else ""
        self.workers.close_part(self._at_ms)
        self.parts.append(
            RunPart(
                run_id=file.run_id,
                started_ms=file.started_ms,
                last_ms=self._last_ms,
                at_ms=start_ms,
                resumed_at=file.resumed_at,
                end=end,
            )
        )

    def advance(self, time_ms: int) -> None:
        """Move to a later moment."""
        self._last_ms = max(self._last_ms, time_ms)
        started_ms = self._part.started_ms if self._part is not None else time_ms
        self._at_ms = max(self._at_ms, self._base_ms + max(0, time_ms - started_ms))

    def add_mark(self, kind: str, text: str) -> None:
        """Add a mark at the present moment."""
        mark = TimeMark(at_ms=self._at_ms, kind=kind, text=text[:_TEXT_MAX])
        self._marks.setdefault(kind, _Thinned()).add(mark)

    def list_marks(self) -> list[TimeMark]:
        """The marks that were kept, by time."""
        found = (mark for marks in self._marks.values() for mark in marks.members)
        return sorted(found, key=lambda mark: (mark.at_ms, mark.kind))

    def count_marks(self) -> dict[str, int]:
        """All marks by kind."""
        return {kind: marks.total for kind, marks in sorted(self._marks.items())}

    def list_spans(self) -> list[TimeSpan]:
        """The longest states, by time."""
        return sorted(self._longest_spans(), key=lambda span: (span.from_ms, span.kind))

    def list_windows(self) -> list[WindowSpan]:
        """The windows that were kept."""
        return [WindowSpan(**fields) for fields in self._windows.members]

    def list_longest(self) -> list[LongItem]:
        """Items that took long, by time."""
        return sorted(self._longest.members, key=lambda item: (item.from_ms, item.seq))

    def _take(self, line: bytes) -> None:
        if line.find(_ITEM, 0, _ITEM_AT) >= 0:
            return
        try:
            fields = msgspec.json.decode(line)
            time_ms, event = int(fields["time"]), fields["event"]
            self.advance(time_ms)
            handle: Callable[[dict[str, Any]], None] | None = getattr(self, f"_on_{event}", None)
            if handle is not None:
                handle(fields)
        except (msgspec.DecodeError, UnicodeDecodeError, KeyError, TypeError, ValueError):
            self.damaged_lines += 1

    def _on_run_started(self, fields: dict[str, Any]) -> None:
        self.announced_total = fields.get("items_total")

    def _on_snapshot(self, fields: dict[str, Any]) -> None:
        self.snapshot = fields
        for name in _HISTOGRAMS:
            if name in fields:
                self.histograms[name] = {"buckets": self.histograms.get(name, {}).get("buckets", [])} | fields[name]
        committed = fields["next_commit_seq"]
        self._add_point(fields, committed, max(fields["max_seen_seq"] + 1, committed))

    def _add_point(self, fields: dict[str, Any], committed: int, computed: int) -> None:
        measured = {name: fields[name] for name in ("buffered_bytes", "resident_bytes", "active_workers")}
        self.series.add(self._at_ms, committed=committed, computed=computed, **measured)

    def _on_sample(self, fields: dict[str, Any]) -> None:
        self._add_point(fields, fields["committed"], fields["computed"])
        per = fields["seqs_per_count"]
        for place, count in fields["seqs"]:
            self.heat_map.add(self._at_ms, place * per + per // 2, count)
        for worker, busy_ms, items in fields["busy"]:
            self.workers.add_busy(worker, self._at_ms, busy_ms, items)
        for seq, worker, exec_ms, began_ms in fields["longest"]:
            from_ms = self._base_ms + began_ms - self._part.started_ms if self._part is not None and began_ms else 0
            self._longest.add(LongItem(seq=seq, worker=worker, from_ms=max(0, from_ms), duration_ms=exec_ms))

    def _on_histograms(self, fields: dict[str, Any]) -> None:
        for name in _HISTOGRAMS:
            if name in fields:
                self.histograms[name] = self.histograms.get(name, {}) | {"buckets": fields[name]}

    def _on_window_opened(self, fields: dict[str, Any]) -> None:
        window = {"id": fields["id"], "start": fields["start"], "end": fields["start"], "opened_ms": self._at_ms}
        if self._windows.add(window):
            self._open_windows[fields["id"]] = window

    def _on_window_sealed(self, fields: dict[str, Any]) -> None:
        window = self._open_windows.get(fields["record"]["id"])
        if window is not None:
            window["end"] = fields["record"]["end"] + 1

    def _on_window_closed(self, fields: dict[str, Any]) -> None:
        window = self._open_windows.pop(fields["id"], None)
        if window is not None:
            window["end"], window["closed_ms"] = fields["end"] + 1, self._at_ms

    def _on_pressure_changed(self, fields: dict[str, Any]) -> None:
        self._close_pressure()
        kind = _PRESSURE_KINDS.get(str(fields["state"]).lower())
        if kind is not None:
            self._pressure = self._at_ms, kind, fields["reason"]

    def _on_outage_changed(self, fields: dict[str, Any]) -> None:
        if fields["is_over"] and self._outage is not None:
            self._add_span(*self._outage)
            self._outage = None
        elif self._outage is None:
            self._outage = self._at_ms, "paused", f"{fields['server']} is down: {fields['reason']}"

    def _on_stalled(self, fields: dict[str, Any]) -> None:
        name = fields.get("item_id") or (f"seq {fields['seq']}" if fields.get("seq") is not None else "the plan")
        began_ms = max(0, self._at_ms - int(float(fields.get("waited_s") or 0) * 1000))
        self._stall = began_ms, f"waited for {name} ({fields.get('state', '')})"

    def _on_stall_ended(self, fields: dict[str, Any]) -> None:
        if self._stall is not None:
            self._add_span(self._stall[0], "stalled", self._stall[1])
        self._stall = None

    def _close_pressure(self) -> None:
        if self._pressure is not None:
            self._add_span(*self._pressure)
        self._pressure = None

    def _close_spans(self) -> None:
        self._close_pressure()
        if self._outage is not None:
            self._add_span(*self._outage)
            self._outage = None
        self._on_stall_ended({})

    def _add_span(self, from_ms: int, kind: str, reason: str) -> None:
        self.spans_total += 1
        self._spans.append(TimeSpan(from_ms=from_ms, to_ms=self._at_ms, kind=kind, reason=reason[:_TEXT_MAX]))
        if len(self._spans) > 2 * MARKS_MAX:
            self._spans = self._longest_spans()

    def _longest_spans(self) -> list[TimeSpan]:
        return sorted(self._spans, key=lambda span: span.from_ms - span.to_ms)[:MARKS_MAX]

    def _on_retry_scheduled(self, fields: dict[str, Any]) -> None:
        message = fields["failure"]["message"] if isinstance(fields["failure"], dict) else ""
        self.add_mark("retry", f"seq {fields['seq']}, attempt {fields['attempt']} failed: {message}")

    def _on_worker_lost(self, fields: dict[str, Any]) -> None:
        self.workers.lose(fields["worker"], self._at_ms, fields["cause"])
        if fields["cause"] != "retired":
            reason = fields["reason"] or fields["cause"]
            item = "" if fields["running_seq"] is None else f" while running seq {fields['running_seq']}"
            self.add_mark("lost", f"worker {fields['worker']}{item}: {reason}")

    def _on_reclaimed(self, fields: dict[str, Any]) -> None:
        if fields["reason"] != _RETURNED:
            self.add_mark("reclaim", f"seq {fields['seq']} of worker {fields['worker']}: {fields['reason']}")

    def _on_overran(self, fields: dict[str, Any]) -> None:
        self.add_mark("overrun", f"seq {fields['seq']} exceeded {fields['limit_ms'] / 1000:g} s")

    def _on_worker_joined(self, fields: dict[str, Any]) -> None:
        self.workers.join(fields["worker"], self._at_ms)

    def _on_stopping(self, fields: dict[str, Any]) -> None:
        self.add_mark("stopping", fields["reason"])

    def _on_run_ended(self, fields: dict[str, Any]) -> None:
        self.outcome = fields["outcome"]

    def _on_run_failed(self, fields: dict[str, Any]) -> None:
        self.failure = fields


def _read_lines(path: str) -> Iterator[bytes]:
    """Yield the whole lines of a file; none if it cannot be read."""
    try:
        file = open_regular(path)
    except OSError:
        return
    with file:
        for line in file:
            if line.endswith(b"\n"):
                yield line
