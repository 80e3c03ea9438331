"""The kernel: events in, commands out.

`step(now_ms, event)` is the only way to change the state of a run. The commands it returns are the only effect of a
run. A step handles the event, then does everything that has become possible, in this order:

    event ─▶ expired leases ─▶ frontiers ─▶ settle ─▶ close and open windows ─▶ stop ─▶ dispatch ─▶ request items ─▶ end

After each step `wake_at_ms` says when the kernel can make progress without an event: a retry is due while a worker is
idle, the grace period of a stop ends, or leases have to be checked. The caller then sends a `Tick`.

Time is an argument. If it goes back, the kernel's time stands still. If it jumps ahead, only a small part of the gap
counts against leases (`leases.py`). No outcome depends on time except a cancel by the user and the time limits of
items.
"""

from collections.abc import Callable
from typing import Any

import msgspec

from inorder.errors import InvariantViolation

from .commands import Command, Summary
from .cursor import CommitCursor
from .dispatch import Dispatcher
from .events import (
    Beat,
    CancelRequested,
    Committed,
    Delivered,
    Event,
    Finished,
    HandedOver,
    MemorySampled,
    Overran,
    Planned,
    Pulled,
    Returned,
    Tick,
    WorkerLost,
)
from .invariants import Head, Snapshot
from .lost_workers import LostWorkers
from .options import KernelOptions
from .pressure import Level
from .results import Results
from .resume_point import ResumePoint
from .state import Counters, KernelState, Outage, StopKind
from .stopping import Shutdown
from .windows.placement import Planner


class Kernel:
    """One run. `total` is the number of items, if the plan announces it. `epoch_ms` is the wall clock at `now_ms` 0,
    used only in error messages. `resume_point` is where an earlier run of the same plan was interrupted."""

    def __init__(
        self,
        options: KernelOptions,
        *,
        total: int | None = None,
        epoch_ms: int = 0,
        resume_point: ResumePoint | None = None,
    ) -> None:
        self._state = state = KernelState(options, total, resume_point or ResumePoint())
        self._epoch_ms = state.ledger.wall_ms = epoch_ms
        self._results = Results(state)
        self._lost_workers = LostWorkers(state, self._results)
        self._dispatcher = Dispatcher(state)
        self._cursor = CommitCursor(state, self._results)
        self._planner = Planner(state)
        self._shutdown = Shutdown(state, self._cursor, self._planner)
        self._error: Exception | None = None
        self.summary: Summary | None = None
        self.wake_at_ms: int | None = None
        self._handlers: dict[type[Any], Callable[[Any], None]] = {
            Planned: self._planner.on_planned,
            Pulled: self._dispatcher.on_pulled,
            Finished: self._results.on_finished,
            HandedOver: self._results.on_handed_over,
            Overran: self._results.on_overran,
            WorkerLost: self._lost_workers.on_worker_lost,
            Returned: self._lost_workers.on_returned,
            Beat: lambda event: state.leases.beat(event.workers, state.watched_ms),
            Committed: lambda event: self._cursor.acknowledge(event.end),
            Delivered: lambda event: self._cursor.on_delivered(event.seqs),
            CancelRequested: self._on_cancel_requested,
            MemorySampled: self._on_memory_sampled,
            Tick: lambda event: None,
        }

    def step(self, now_ms: int, event: Event) -> list[Command]:
        """Handle one event at this time and return the commands to perform. After an error every call raises that
        error; after the end of the run every call returns an empty list."""
        if self._error is not None:
            raise self._error
        if self.summary is not None:
            return []
        state = self._state
        try:
            self._pass_time(now_ms)
            self._handlers[type(event)](event)
            self._proceed()
        except Exception as error:
            if isinstance(error, InvariantViolation):
                error.snapshot = self.snapshot()
            self._error = error
            raise
        state.counters.steps += 1
        commands, state.commands = state.commands, []
        return commands

    @property
    def is_committing(self) -> bool:
        """Whether a commit run is handed over and not yet acknowledged."""
        return self._cursor.is_committing

    @property
    def is_saturated(self) -> bool:
        """Whether items are ready and no worker is idle."""
        return not self._state.idle and self._state.ready_count > 0

    @property
    def outage(self) -> Outage | None:
        """The server that the run waits for; None: it waits for none."""
        return self._state.outage

    def statistics(self) -> Counters:
        """Return a copy of the counters."""
        return msgspec.structs.replace(self._state.counters)

    def snapshot(self) -> Snapshot:
        """Describe the present state and what the run waits for."""
        return self._state.snapshot(self.find_head().describe())

    def find_head(self) -> Head:
        """Return what the commit position waits for."""
        state = self._state
        if self.summary is not None:
            return Head(state="ended")
        outage = state.outage
        if outage is not None:
            return Head(
                state="outage",
                due_ms=outage.due_ms,
                server=outage.server,
                reason=outage.reason,
                since_ms=outage.since_ms,
            )
        if self._cursor.is_committing:
            return Head(state="committing", seq=state.ledger.next_commit_seq)
        seq = state.blocked_seq
        if seq >= len(state.ledger):
            return Head(state="planning" if self._planner.is_request_pending else "undecided")
        owner = state.ledger.owner(seq)
        lease = state.leases.get(owner)
        if lease is not None and seq in lease.seqs:
            return Head(state="dispatched", seq=seq, worker=owner)
        if seq in state.find_window(seq).ready:
            return Head(state="queued", seq=seq, is_paused=state.pressure.level == Level.HARD)
        due_ms = next((due for due, retried in state.retries_due if retried == seq), None)
        return Head(state="undecided" if due_ms is None else "retry-waiting", seq=seq, due_ms=due_ms)

    def release(self) -> None:
        """Abandon the run and free every result that was not handed over. Further events raise, unless the run had
        ended."""
        self._state.reorder_buffer.clear()
        self._state.partials.clear()
        if self.summary is None and self._error is None:
            self._error = InvariantViolation("the run was closed and takes no more events")

    def _pass_time(self, now_ms: int) -> None:
        state = self._state
        gap_ms = now_ms - state.now_ms
        if gap_ms <= 0:
            return
        watched_ms = min(gap_ms, state.options.lease_ms // 4)
        state.counters.unwatched_gaps += gap_ms > state.options.lease_ms // 2 and len(state.leases) > 0
        state.now_ms += gap_ms
        state.watched_ms += watched_ms
        state.ledger.wall_ms = self._epoch_ms + state.now_ms

    def _proceed(self) -> None:
        self._lost_workers.expire()
        self._cursor.advance_frontiers()
        self._cursor.settle()
        while (window := self._cursor.close_window()) is not None:
            self._planner.on_window_closed(window)
            self._cursor.settle()
        self._shutdown.revoke_if_due()
        if self._state.stop is None:
            self._dispatcher.run()
            self._planner.request_items()
        self.summary = self._shutdown.conclude()
        self.wake_at_ms = self._find_wake_ms()

    def _on_cancel_requested(self, event: CancelRequested) -> None:
        grace_ms = self._state.options.cancel_grace_ms if event.grace_ms is None else event.grace_ms
        self._state.request_stop(StopKind.CANCELLED, event.reason, grace_ms)

    def _on_memory_sampled(self, event: MemorySampled) -> None:
        self._state.resident_bytes = event.bytes

    def _find_wake_ms(self) -> int | None:
        state = self._state
        wake_ms = None
        if state.leases:
            wake_ms = state.now_ms + state.options.lease_ms // 4
            if state.stop is not None:
                return min(wake_ms, state.stop.deadline_ms)
        if state.idle and state.stop is None:
            outage = state.outage
            if state.retries_due:
                due_ms = state.retries_due[0][0]
                wake_ms = due_ms if wake_ms is None else min(due_ms, wake_ms)
            if outage is not None and outage.probe is None and outage.due_ms > state.now_ms:
                wake_ms = outage.due_ms if wake_ms is None else min(outage.due_ms, wake_ms)
        return wake_ms
