"""The timeline of a run for `inorder report`: small measurements, often at first and less often later.

Between two of them are 0.1 s, or the 500th part of the time so far if that is more. So a run of a day has some
thousands, and a report of the first second shows something. Each has a bounded size: how many items were computed in
which part of the plan, how long the busiest workers were busy, and the items that took longest.
"""

from collections.abc import Mapping
from typing import Any

from inorder.core.events import Event, Finished, Overran, Pulled, WorkerLost

from .histograms import Histogram
from .telemetry import Telemetry

INTERVAL_S_MIN = 0.1
SAMPLES_PER_RUN = 500
"""The interval is at least the time so far divided by this."""
PLACES_MAX = 64
"""Parts of the plan in one sample. If its items lie farther apart, each part has more seqs."""
WORKERS_MAX = 64
"""Workers in one sample: those that were busy longest since the last."""
LONGEST_MAX = 8
"""Items in one sample: those that took longest of the ones that ended since the last."""
_HISTOGRAMS_SHARE = 1.1
"""Histograms are written when the run is this much older than at the last time."""


class TimelineRecorder:
    """Writes the events `sample`, `worker_joined` and `histograms`. Used on the thread that runs the kernel, except
    for `record_histograms`."""

    def __init__(self, telemetry: Telemetry | None, started_s: float) -> None:
        self._telemetry = telemetry
        self._started_s = self._sampled_s = started_s
        self._interval_s = INTERVAL_S_MIN
        self._histograms_s = 0.0
        self._workers: set[int] = set()
        self._clear()

    def _clear(self) -> None:
        self._shift = 0
        self._places: dict[int, int] = {}
        self._busy: dict[int, list[float]] = {}
        self._longest: list[tuple[float, int, int, float]] = []
        """Duration, seq, worker and start."""

    def observe(self, event: Event) -> None:
        """Take in one event of the kernel."""
        if type(event) is Finished:
            worker, busy_ms = event.worker, 0.0
            places, shift = self._places, self._shift
            for envelope in event.envelopes:
                place = envelope.seq >> shift
                places[place] = places.get(place, 0) + 1
                busy_ms += envelope.exec_ms
                if envelope.exec_ms >= 1:
                    self._longest.append((envelope.exec_ms, envelope.seq, worker, envelope.began_ms))
            if len(places) > PLACES_MAX:
                self._fold()
            if len(self._longest) > 16 * LONGEST_MAX:
                self._longest = sorted(self._longest, reverse=True)[:LONGEST_MAX]
            self._add_busy(worker, busy_ms, len(event.envelopes))
        elif type(event) is Pulled:
            if event.worker not in self._workers:
                self._workers.add(event.worker)
                self._emit("worker_joined", worker=event.worker)
        elif type(event) is WorkerLost:
            self._workers.discard(event.worker)
            self._add_busy(event.worker, event.exec_ms, 0)
        elif type(event) is Overran:
            self._add_busy(event.worker, event.exec_ms, 1)

    def _add_busy(self, worker: int, busy_ms: float, items: int) -> None:
        found = self._busy.get(worker)
        if found is None:
            self._busy[worker] = [busy_ms, items]
        else:
            found[0] += busy_ms
            found[1] += items

    def _fold(self) -> None:
        """Make each part of the plan larger until there are few enough."""
        while len(self._places) > PLACES_MAX:
            self._shift += 1
            folded: dict[int, int] = {}
            for place, count in self._places.items():
                folded[place >> 1] = folded.get(place >> 1, 0) + count
            self._places = folded

    def sample(self, now_s: float, gauges: Mapping[str, Any], failed: int, *, is_last: bool = False) -> None:
        """Write a sample if one is due."""
        if now_s - self._sampled_s < self._interval_s and not is_last:
            return
        self._sampled_s = now_s
        self._interval_s = max(INTERVAL_S_MIN, (now_s - self._started_s) / SAMPLES_PER_RUN)
        busiest = sorted(self._busy.items(), key=lambda found: -found[1][0])[:WORKERS_MAX]
        longest = sorted(self._longest, reverse=True)[:LONGEST_MAX]
        self._emit(
            "sample",
            committed=gauges["next_commit_seq"],
            computed=max(gauges["max_seen_seq"] + 1, gauges["next_commit_seq"]),
            failed=failed,
            buffered_bytes=gauges["buffered_bytes"],
            resident_bytes=gauges["resident_bytes"],
            active_workers=gauges["active_workers"],
            seqs_per_count=1 << self._shift,
            seqs=sorted(self._places.items()),
            busy=[(worker, round(busy_ms, 1), items) for worker, (busy_ms, items) in sorted(busiest)],
            longest=[(seq, worker, round(exec_ms, 1), int(began)) for exec_ms, seq, worker, began in longest],
        )
        self._clear()

    def record_histograms(self, now_s: float, histograms: Mapping[str, Histogram], *, is_last: bool = False) -> None:
        """Write the durations in buckets, if the run is much older than at the last time."""
        elapsed_s = now_s - self._started_s
        if is_last or elapsed_s >= self._histograms_s * _HISTOGRAMS_SHARE:
            self._histograms_s = elapsed_s
            self._emit("histograms", **{name: histogram.list_buckets() for name, histogram in histograms.items()})

    def _emit(self, event: str, **fields: Any) -> None:
        if self._telemetry is not None:
            self._telemetry.emit(event, **fields)
