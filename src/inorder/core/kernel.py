"""The kernel: events in, commands out, and nothing else.

`step(now_ms, event)` is the only way to change a run, and the commands it returns are the only way a run changes the
world. It takes the event, then does whatever has become possible, in an order that lets one step do as much as it can:

    event ─▶ expired leases ─▶ frontiers ─▶ settle ─▶ close and open windows ─▶ stop ─▶ dispatch ─▶ ask the plan ─▶ end

After each step `wake_at_ms` says when something will be possible without an event: a retry falls due while a worker
is idle, the grace of a stop runs out, or the leases want to be looked at. The caller then sends a `Tick`.

Time is a number that is handed in. If it jumps back it stands still here; if it jumps ahead, leases are charged for a
small part of the gap only (`leases.py`). No outcome depends on it but a user's own cancel and the time limits of items.
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
    Event,
    Finished,
    MemorySampled,
    Overran,
    Planned,
    Pulled,
    Returned,
    Tick,
    WorkerLost,
)
from .invariants import Snapshot
from .lost_workers import Losses
from .options import KernelOptions
from .pressure import Level
from .results import Results
from .resume_point import Restored
from .state import Board, Counters, StopKind
from .stopping import Ending
from .windows.planner import Planning


class Kernel:
    """One run. `total` is the number of items the plan announces, where it does; `epoch_ms` is the wall clock at
    `now_ms` 0, used only to date an error; `restored` is where an earlier run of the same plan was interrupted."""

    def __init__(
        self, options: KernelOptions, *, total: int | None = None, epoch_ms: int = 0, restored: Restored | None = None
    ) -> None:
        self._board = board = Board(options, total, restored or Restored())
        self._epoch_ms = epoch_ms
        self._results = Results(board)
        self._losses = Losses(board, self._results)
        self._dispatcher = Dispatcher(board)
        self._cursor = CommitCursor(board, self._results)
        self._planning = Planning(board)
        self._ending = Ending(board, self._cursor, self._planning)
        self._error: Exception | None = None
        self.summary: Summary | None = None
        self.wake_at_ms: int | None = None
        self._handlers: dict[type[Any], Callable[[Any], None]] = {
            Planned: self._planning.planned,
            Pulled: lambda event: self._dispatcher.pulled(event.worker, event.limit),
            Finished: lambda event: self._results.finished(event.worker, event.envelopes),
            Overran: self._results.overran,
            WorkerLost: self._losses.lost,
            Returned: self._losses.returned,
            Beat: lambda event: board.leases.beat(event.workers, board.watch_ms),
            Committed: lambda event: self._cursor.acknowledged(event.end),
            CancelRequested: self._cancel_requested,
            MemorySampled: self._memory_sampled,
            Tick: lambda event: None,
        }

    def step(self, now_ms: int, event: Event) -> list[Command]:
        """Take one event at this time; what is to be done about it. After an error, or the end, nothing changes any
        more: the error is raised again, and the end answers with nothing."""
        if self._error is not None:
            raise self._error
        if self.summary is not None:
            return []
        board = self._board
        try:
            self._pass_time(now_ms)
            self._handlers[type(event)](event)
            self._proceed()
        except Exception as error:
            if isinstance(error, InvariantViolation):
                error.snapshot = self.snapshot()
            self._error = error
            raise
        board.counters.steps += 1
        commands, board.out = board.out, []
        return commands

    @property
    def is_committing(self) -> bool:
        """Whether a run is with the commit lane."""
        return self._cursor.is_committing

    def statistics(self) -> Counters:
        """What has happened so far; a copy."""
        return msgspec.structs.replace(self._board.counters)

    def snapshot(self) -> Snapshot:
        """Where the run stands, and what it waits for."""
        return self._board.snapshot(self._waiting_for())

    def release(self) -> None:
        """Give the run up where it stands and let go of every result that was not handed over. Unless it had ended, it
        takes no more events."""
        self._board.held.clear()
        if self.summary is None and self._error is None:
            self._error = InvariantViolation("the run was given up and takes no more events")

    def _pass_time(self, now_ms: int) -> None:
        board = self._board
        gap_ms = max(0, now_ms - board.now_ms)
        watched_ms = min(gap_ms, board.options.lease_ms // 4)
        board.counters.unwatched_gaps += gap_ms > board.options.lease_ms // 2 and len(board.leases) > 0
        board.now_ms += gap_ms
        board.watch_ms += watched_ms
        board.ledger.wall_ms = self._epoch_ms + board.now_ms

    def _proceed(self) -> None:
        self._losses.expire()
        self._cursor.advance_frontiers()
        self._cursor.settle()
        while (window := self._cursor.close_window()) is not None:
            self._planning.closed(window)
            self._cursor.settle()
        self._ending.revoke_if_due()
        if self._board.stop is None:
            self._dispatcher.run()
            self._planning.ask()
        self.summary = self._ending.conclude()
        self.wake_at_ms = self._next_wake_ms()

    def _cancel_requested(self, event: CancelRequested) -> None:
        grace_ms = self._board.options.cancel_grace_ms if event.grace_ms is None else event.grace_ms
        self._board.request_stop(StopKind.CANCELLED, event.reason, grace_ms)

    def _memory_sampled(self, event: MemorySampled) -> None:
        self._board.memory_bytes = event.bytes

    def _next_wake_ms(self) -> int | None:
        board = self._board
        times = []
        if board.leases:
            times.append(board.now_ms + board.options.lease_ms // 4)
            if board.stop is not None:
                times.append(board.stop.deadline_ms)
        if board.retries_due and board.idle and board.stop is None:
            times.append(board.retries_due[0][0])
        return min(times, default=None)

    def _waiting_for(self) -> str:
        """What has to happen next for the run to move, in words."""
        board = self._board
        if self.summary is not None:
            return "nothing: the run has ended"
        if self._cursor.is_committing:
            return f"the commit lane, from seq {board.ledger.next_commit_seq} on"
        seq = board.blocked_seq
        if seq >= len(board.ledger):
            return "the plan" if self._planning.is_asked else "an event"
        owner = board.ledger.owner(seq)
        lease = board.leases.get(owner)
        if lease is not None and seq in lease.seqs:
            return f"worker {owner}, which holds seq {seq}"
        if seq in board.window_of(seq).ready:
            paused = " (dispatch is paused)" if board.pressure.level == Level.HARD else ""
            return f"a worker to pull seq {seq}{paused}"
        return next((f"the retry of seq {seq} at {due} ms" for due, s in board.retries_due if s == seq), "an event")
