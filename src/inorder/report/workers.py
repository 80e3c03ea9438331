"""The timeline of workers: how busy each was, in columns of time that grow with the run."""

from .model import WORKERS_MAX, WorkerRow, WorkerTimeline
from .series import COLUMNS_MAX

_KNOWN_MAX = 2000
"""Workers that are followed; the time of further ones counts in the utilisation only."""


class WorkerTimelineBuilder:
    """Collects what workers did. A worker runs one item at a time, so the time that it was busy before a moment is
    filled in backwards from there."""

    def __init__(self) -> None:
        self._column_ms = 20
        self._workers: dict[int, WorkerRow] = {}
        self._columns: dict[int, list[int]] = {}
        """For each worker, how long it was busy in each column of time."""
        self._total = 0
        self._busy_ms = 0
        self._present_ms = 0
        self.has_busy_times = False

    def join(self, number: int, at_ms: int) -> None:
        """A worker asked for its first item."""
        self._find(number, at_ms)

    def lose(self, number: int, at_ms: int, cause: str) -> None:
        """A worker is gone."""
        worker = self._find(number, at_ms)
        if worker is not None:
            worker.lost_at_ms, worker.lost_cause = at_ms, cause

    def close_part(self, at_ms: int) -> None:
        """A process has ended, and its workers with it. Their numbers are given again by the next one."""
        for worker in self._workers.values():
            if worker.lost_at_ms is None:
                worker.last_ms = max(worker.last_ms, at_ms)
        self._measure_presence(at_ms)

    def _measure_presence(self, at_ms: int) -> None:
        self._present_ms = sum(
            (worker.lost_at_ms if worker.lost_at_ms is not None else at_ms) - worker.first_ms
            for worker in self._workers.values()
        )

    def add_busy(self, number: int, at_ms: int, busy_ms: float, items: int) -> None:
        """A worker was busy for this time, until this moment."""
        self.has_busy_times = True
        self._busy_ms += int(busy_ms)
        worker = self._find(number, max(0, at_ms - int(busy_ms)))
        if worker is None:
            return
        worker.busy_ms += int(busy_ms)
        worker.items += items
        worker.last_ms = max(worker.last_ms, at_ms)
        while at_ms // self._column_ms >= COLUMNS_MAX:
            self._fold()
        column, left = at_ms // self._column_ms, int(busy_ms)
        columns = self._columns[number]
        while len(columns) <= column:
            columns.append(0)
        room = at_ms - column * self._column_ms
        while left > 0 and column >= 0:
            taken = min(left, max(0, room - columns[column]))
            columns[column] += taken
            left -= taken
            column -= 1
            room = self._column_ms

    def _find(self, number: int, at_ms: int) -> WorkerRow | None:
        worker = self._workers.get(number)
        if worker is None:
            self._total += 1
            if len(self._workers) >= _KNOWN_MAX:
                return None
            worker = self._workers[number] = WorkerRow(worker=number, first_ms=at_ms, last_ms=at_ms)
            self._columns[number] = []
        return worker

    def _fold(self) -> None:
        self._column_ms *= 2
        for number, columns in self._columns.items():
            old = [*columns, 0] if len(columns) % 2 else columns
            self._columns[number] = [old[place] + old[place + 1] for place in range(0, len(old), 2)]

    def build(self, active_ms: int) -> WorkerTimeline:
        """Return the timeline: the workers that were busy longest, by number."""
        while active_ms // self._column_ms >= COLUMNS_MAX:
            self._fold()
        self._measure_presence(active_ms)
        shown = sorted(self._workers.values(), key=lambda worker: (-worker.busy_ms, worker.worker))[:WORKERS_MAX]
        columns = active_ms // self._column_ms + 1
        for row in shown:
            busy = (self._columns[row.worker] + [0] * columns)[:columns]
            row.busy_percent = [min(100, round(100 * value / self._column_ms)) for value in busy]
        share = 100 * self._busy_ms / self._present_ms if self._present_ms > 0 else None
        return WorkerTimeline(
            column_ms=self._column_ms,
            columns=columns,
            rows=sorted(shown, key=lambda row: row.worker),
            total=self._total,
            utilisation_percent=round(min(100.0, share), 1) if share is not None and self.has_busy_times else None,
        )
