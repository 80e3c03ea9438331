"""What the steps of a run say about it in numbers; `docs/specs/observability.md` lists them.

Times are taken where the kernel takes its steps, so they are exact to the millisecond and cost next to nothing. What
is kept of an item goes when the item is committed: nothing here grows with the plan.
"""

from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from inorder.core.commands import Command, CommitRun, Dispatch
from inorder.core.events import Committed, Event, Finished, Planned, Pulled, WorkerLost
from inorder.core.kernel import Kernel

from .histograms import Histogram

METRICS = {
    "items_total": ("counter", "items of the plan; null where that is not known beforehand"),
    "items_succeeded": ("counter", "items that succeeded, those before an interruption included"),
    "items_skipped": ("counter", "items that had nothing to be done"),
    "items_failed": ("counter", "items that failed for good"),
    "output_bytes": ("counter", "bytes published by this run"),
    "retries": ("counter", "attempts that failed and were tried again"),
    "reclaims": ("counter", "attempts that were taken back: a worker gone, a lease expired, an item given back"),
    "refused": ("counter", "results of attempts that were no longer current, never applied"),
    "lost_workers": ("counter", "workers that are gone, whether wanted or not"),
    "overruns": ("counter", "items that ran past their time limit"),
    "errors": ("counter", "failures by category"),
    "items_per_s": ("gauge", "items with an outcome a second, over this run so far"),
    "workers": ("gauge", "workers that there are to be"),
    "active_workers": ("gauge", "workers that have something to do"),
    "in_flight": ("gauge", "items given to a worker or computed, and not settled"),
    "queue_depth": ("gauge", "items read from the plan that no worker has"),
    "pending_results": ("gauge", "results that wait for a lower seq, or to be committed"),
    "buffered_bytes": ("gauge", "bytes of those, and what running items are expected to bring"),
    "commit_lag": ("gauge", "seqs from the cursor to the furthest computed one"),
    "next_commit_seq": ("gauge", "the cursor"),
    "max_seen_seq": ("gauge", "the furthest computed seq"),
    "windows": ("gauge", "the active windows: id, bounds, items computed, bytes"),
    "item_queue_ms": ("histogram", "from an item's being read from the plan to its first start"),
    "item_exec_ms": ("histogram", "an item's time in its worker, the final attempt; satisfied and skipped ones not"),
    "item_wait_ms": ("histogram", "from an item's result to the begin of its commit"),
    "commit_ms": ("histogram", "one commit: journal, outputs, manifest"),
}
"""Everything in a `snapshot`, with its kind and meaning."""
_COUNTERS = ("retries", "reclaims", "refused", "lost_workers", "overruns")


class Figures:
    """Follows the steps of one run."""

    def __init__(self, resumed_end: int = 0, queued: Callable[[float], None] | None = None) -> None:
        """`queued` is told of every item how long it waited."""
        self.queue_ms, self.wait_ms, self.commit_ms = Histogram(), Histogram(), Histogram()
        self._resumed_end = self._committed_end = resumed_end
        self._queued = queued
        self._next_seq = 0
        self._planned_ms: dict[int, int] = {}
        self._computed_ms: dict[int, int] = {}
        self._active: set[int] = set()
        self._committing_ms: int | None = None

    def observe(self, now_ms: int, event: Event, commands: Sequence[Command]) -> None:
        """One step of the kernel."""
        if isinstance(event, Finished):
            for envelope in event.envelopes:
                if envelope.seq >= self._committed_end:
                    self._computed_ms[envelope.seq] = now_ms
        elif isinstance(event, Planned):
            first, self._next_seq = self._next_seq, self._next_seq + len(event.items)
            for seq in range(max(first, self._resumed_end), self._next_seq):
                self._planned_ms[seq] = now_ms
        elif isinstance(event, Pulled | WorkerLost):
            self._active.discard(event.worker)
        elif isinstance(event, Committed) and self._committing_ms is not None:
            self.commit_ms.record(now_ms - self._committing_ms)
            self._committing_ms = None
        for command in commands:
            if isinstance(command, Dispatch):
                self._active.add(command.worker)
                for seq in command.seqs:
                    self._started(now_ms, seq)
            elif isinstance(command, CommitRun):
                self._committing_ms, self._committed_end = now_ms, command.end
                for seq in range(command.start, command.end):
                    self.wait_ms.record(now_ms - self._computed_ms.pop(seq, now_ms))

    def _started(self, now_ms: int, seq: int) -> None:
        planned_ms = self._planned_ms.pop(seq, None)
        if planned_ms is not None:
            self.queue_ms.record(now_ms - planned_ms)
            if self._queued is not None:
                self._queued(now_ms - planned_ms)

    def gauges(self, kernel: Kernel) -> dict[str, Any]:
        """How things stand. To be asked on the thread that the kernel runs on."""
        found, counted = kernel.snapshot(), kernel.statistics()
        computed = sum(window.computed for window in found.windows)
        settled = found.next_commit_seq - found.windows[0].start if found.windows else 0
        return {
            "active_workers": len(self._active),
            "in_flight": found.in_flight_count,
            "queue_depth": found.planned_count - found.terminal_count - found.in_flight_count,
            "pending_results": computed - settled,
            "buffered_bytes": found.buffered_bytes,
            "commit_lag": found.commit_lag,
            "next_commit_seq": found.next_commit_seq,
            "max_seen_seq": found.max_seen_seq,
            "windows": msgspec.to_builtins(found.windows),
            **{name: getattr(counted, name) for name in _COUNTERS},
        }


def quantiles(found: Histogram) -> dict[str, float]:
    """A histogram in a few numbers."""
    return {
        "count": found.count,
        "p50": found.quantile(0.5),
        "p95": found.quantile(0.95),
        "p99": found.quantile(0.99),
        "max": round(found.largest, 3),
    }
