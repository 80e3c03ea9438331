"""Metrics of a run, taken from the steps of the kernel; `docs/specs/observability.md` lists them.

Times are taken where the kernel takes its steps, so they are exact to the millisecond and cost little. The state of an
item is dropped when the item is committed: nothing here grows with the plan.
"""

from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from inorder.core.commands import Command, CommitRun, Dispatch
from inorder.core.events import Committed, Envelope, Event, Finished, MemorySampled, Planned, Pulled, WorkerLost
from inorder.core.invariants import Snapshot
from inorder.core.kernel import Kernel

from .histograms import Histogram

METRICS = {
    "items_total": ("counter", "items of the plan, an estimate until it is read to its end; null: not known yet"),
    "items_succeeded": ("counter", "items that succeeded, those before an interruption included"),
    "items_skipped": ("counter", "items that had nothing to do"),
    "items_failed": ("counter", "items that failed for good"),
    "items_adopted": ("counter", "results of the interrupted run that were not computed again"),
    "input_bytes": ("counter", "bytes of the inputs of items that succeeded"),
    "output_bytes": ("counter", "bytes published by this run"),
    "measures": ("counter", "sums of the numbers that workers reported with `ctx.measure`, by name"),
    "groups": ("counter", "by `batch_key`: items that succeeded, their `exec_ms`, and the same sums"),
    "retries": ("counter", "attempts that failed and were retried"),
    "reclaims": ("counter", "attempts that were reclaimed: worker lost, lease expired, or item returned"),
    "refused": ("counter", "results of attempts that were no longer current, never applied"),
    "lost_workers": ("counter", "workers that ended, on purpose or not"),
    "overruns": ("counter", "attempts that exceeded their time limit"),
    "errors": ("counter", "failures by category"),
    "invariant_violations": ("counter", "violated invariants; the first one ends the run"),
    "items_per_s": ("gauge", "items with an outcome per second, over this run so far"),
    "bytes_per_s": ("gauge", "bytes of inputs per second, over this run so far"),
    "lines_per_s": ("gauge", "lines per second, as the measure `lines` counts them"),
    "pages_per_s": ("gauge", "pages per second, as the measure `pages` counts them"),
    "workers": ("gauge", "target number of workers"),
    "active_workers": ("gauge", "workers that have something to do"),
    "in_flight": ("gauge", "items dispatched or computed, and not settled"),
    "queue_depth": ("gauge", "items read from the plan and not dispatched"),
    "pending_results": ("gauge", "results that wait for a lower seq, or to be committed"),
    "buffered_bytes": ("gauge", "bytes of pending results, and the expected bytes of running items"),
    "commit_lag": ("gauge", "seqs from the cursor to the furthest computed one"),
    "terminal_lag": ("gauge", "seqs from the oldest one without a result to the furthest computed one"),
    "oldest_blocked_seq": ("gauge", "the oldest seq without a result; null: none was read from the plan"),
    "oldest_blocked_state": ("gauge", "its state; null: there is none"),
    "waiting_for": ("gauge", "what must happen next for the cursor to advance"),
    "next_commit_seq": ("gauge", "the cursor: the next seq to commit"),
    "max_seen_seq": ("gauge", "the furthest computed seq"),
    "windows": ("gauge", "the active windows: id, bounds, items computed, bytes"),
    "resident_bytes": ("gauge", "resident memory of this process and its worker processes; 0: it cannot be read"),
    "gpu_memory_bytes": (
        "gauge",
        "bytes that torch has reserved on GPUs, here and in the process of the providers; null: none",
    ),
    "head": (
        "gauge",
        "what the cursor waits for: `seq`, `item_id`, `state`, `worker`, `running_s`, `step`, `progress`",
    ),
    "running": ("gauge", "items that workers are running, the 16 that run longest, with what they report"),
    "lanes": ("gauge", "the lanes of the run and of the resources of the stage, by name: counts, `wait_ms`, `run_ms`"),
    "item_queue_ms": ("histogram", "per item, from being read from the plan to its first dispatch"),
    "item_start_ms": ("histogram", "per item, from the dispatch of its final attempt to its start in the worker"),
    "item_exec_ms": ("histogram", "per item, time of the final attempt in its worker; skipped items are left out"),
    "item_wait_ms": ("histogram", "per item, from its result to the start of its commit"),
    "commit_ms": ("histogram", "per commit: journal, outputs, manifest"),
}
"""Every metric of a `snapshot`, with its kind and meaning."""
_COUNTERS = ("retries", "reclaims", "refused", "lost_workers", "overruns")


class RunMetrics:
    """Follows the steps of one run. `on_queued` is called with the queue time of every item that is dispatched."""

    def __init__(self, resumed_end: int = 0, on_queued: Callable[[float], None] | None = None) -> None:
        self.queue_ms, self.start_ms, self.wait_ms, self.commit_ms = (Histogram() for _ in range(4))
        self.planned_count = 0
        """Items read from the plan so far."""
        self.is_plan_complete = False
        """Whether the plan was read to its end, so that `planned_count` is final."""
        self._resumed_end = self._committed_end = resumed_end
        self._on_queued = on_queued
        self._planned_ms: dict[int, int] = {}
        self._dispatched_ms: dict[int, int] = {}
        self._computed: dict[int, tuple[int, float | None]] = {}
        """By seq: when its latest result came, and how long that attempt waited in its worker; None: not known."""
        self._active: set[int] = set()
        self._commit_started_ms: int | None = None
        self._resident_bytes = 0

    def observe(self, now_ms: int, event: Event, commands: Sequence[Command]) -> None:
        """Take in one step of the kernel."""
        if isinstance(event, Finished):
            for envelope in event.envelopes:
                if envelope.seq >= self._committed_end:
                    self._record_computed(now_ms, envelope)
        elif isinstance(event, Planned):
            self._record_planned(now_ms, event)
        elif isinstance(event, MemorySampled):
            self._resident_bytes = event.bytes
        elif isinstance(event, Pulled | WorkerLost):
            self._active.discard(event.worker)
        elif isinstance(event, Committed) and self._commit_started_ms is not None:
            self.commit_ms.record(now_ms - self._commit_started_ms)
            self._commit_started_ms = None
        for command in commands:
            if isinstance(command, Dispatch):
                self._active.add(command.worker)
                for seq in command.seqs:
                    self._record_dispatch(now_ms, seq)
            elif isinstance(command, CommitRun):
                self._commit_started_ms, self._committed_end = now_ms, command.end
                for seq in range(command.start, command.end):
                    computed_ms, start_ms = self._computed.pop(seq, (now_ms, None))
                    self.wait_ms.record(now_ms - computed_ms)
                    if start_ms is not None:
                        self.start_ms.record(start_ms)
                    self._dispatched_ms.pop(seq, None)

    def _record_planned(self, now_ms: int, event: Planned) -> None:
        first, self.planned_count = self.planned_count, self.planned_count + len(event.items)
        self.is_plan_complete = event.ended
        for seq in range(max(first, self._resumed_end), self.planned_count):
            self._planned_ms[seq] = now_ms

    def _record_computed(self, now_ms: int, envelope: Envelope) -> None:
        dispatched_ms = self._dispatched_ms.get(envelope.seq)
        start_ms = None if dispatched_ms is None else max(0.0, now_ms - dispatched_ms - envelope.exec_ms)
        self._computed[envelope.seq] = now_ms, start_ms

    def _record_dispatch(self, now_ms: int, seq: int) -> None:
        self._dispatched_ms[seq] = now_ms
        planned_ms = self._planned_ms.pop(seq, None)  # None: dispatched before
        if planned_ms is not None:
            self.queue_ms.record(now_ms - planned_ms)
            if self._on_queued is not None:
                self._on_queued(now_ms - planned_ms)

    def read_gauges(self, kernel: Kernel) -> dict[str, Any]:
        """Return the gauges and the counters of the kernel. Must be called on the thread that runs the kernel."""
        found, counters = kernel.snapshot(), kernel.statistics()
        computed = sum(window.computed for window in found.windows)
        settled = found.next_commit_seq - found.windows[0].start if found.windows else 0
        return {
            "active_workers": len(self._active),
            "in_flight": found.in_flight_count,
            "queue_depth": found.planned_count - found.terminal_count - found.in_flight_count,
            "pending_results": computed - settled,
            "buffered_bytes": found.buffered_bytes,
            "commit_lag": found.commit_lag,
            "terminal_lag": _count_terminal_lag(found),
            "oldest_blocked_seq": found.oldest_blocked_seq,
            "oldest_blocked_state": found.oldest_blocked_state,
            "waiting_for": found.waiting_for,
            "next_commit_seq": found.next_commit_seq,
            "max_seen_seq": found.max_seen_seq,
            "windows": msgspec.to_builtins(found.windows),
            "resident_bytes": self._resident_bytes,
            **{name: getattr(counters, name) for name in _COUNTERS},
        }


def _count_terminal_lag(found: Snapshot) -> int:
    """Return how far workers are ahead of the oldest item without a result. What `commit_lag` exceeds it by waits for
    nothing but its commit."""
    blocked = found.planned_count if found.oldest_blocked_seq is None else found.oldest_blocked_seq
    return max(0, found.max_seen_seq + 1 - blocked)
