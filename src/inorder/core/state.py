"""The state of a run, in one place.

Everything that `Kernel.step` may change hangs here, shared by the parts that decide: planning, dispatch, results,
losses, the commit cursor and stopping. The parts hold no state of their own that another would need.
"""

from enum import StrEnum

import msgspec

from .commands import Command, Stopping, StopWorker
from .events import Envelope
from .invariants import Snapshot, WindowSnapshot
from .leases import LeaseTable
from .ledger import Ledger
from .options import KernelOptions
from .pressure import Pressure
from .resume_point import Restored
from .transitions import State
from .windows.plan import Intake
from .windows.window import Window, WindowPlanner


class StopKind(StrEnum):
    """Why a run ended before its plan did."""

    CANCELLED = "cancelled"
    ERROR_BUDGET = "error budget"
    INFRASTRUCTURE = "infrastructure"


class Stop(msgspec.Struct):
    """A stop under way."""

    kind: StopKind
    reason: str
    deadline_ms: int
    limit_seq: int | None = None
    """Nothing at or beyond this seq is settled; None: whatever is computed without a hole."""
    revoked: bool = False
    """Every lease is taken back; nothing computed from now on counts."""


class Counters(msgspec.Struct):
    """What has happened so far. Only ever grows."""

    steps: int = 0
    dispatches: int = 0
    envelopes: int = 0
    refused: int = 0
    """Stale results, never applied."""
    retries: int = 0
    retries_parked: int = 0
    retries_denied: int = 0
    """Retryable failures that became final because the bound of their window was used up."""
    reclaims: int = 0
    returns: int = 0
    """Items given back unstarted."""
    expired_leases: int = 0
    lost_workers: int = 0
    suspects: int = 0
    poison_items: int = 0
    """Items that killed their worker twice."""
    overruns: int = 0
    isolated_dispatches: int = 0
    cursor_admissions: int = 0
    """Items dispatched against the pressure because the cursor waited for them."""
    slowed_dispatches: int = 0
    prefetch_refusals: int = 0
    aged_dispatches: int = 0
    local_batches: int = 0
    """Batches given to a worker whose previous batch had the same key."""
    starved_steps: int = 0
    """Steps that ended with an idle worker and nothing to give it, only because the windows were too small."""
    unwatched_gaps: int = 0
    """Steps that came so late that the gap was not held against any lease."""
    commit_runs: int = 0
    windows_closed: int = 0


class Board:
    """Everything that changes."""

    def __init__(self, options: KernelOptions, total: int | None, restored: Restored) -> None:
        self.options = options
        self.restored = restored
        self.intake = Intake(total)
        self.planner = WindowPlanner(options)
        self.ledger = Ledger()
        self.leases = LeaseTable(options.lease_ms)
        self.pressure = Pressure(options.pressure)
        self.windows: list[Window] = []
        self.held: dict[int, Envelope] = {}
        """The reorder buffer: computed, not yet settled."""
        self.retries_due: list[tuple[int, int]] = []
        """Heap of (due_ms, seq)."""
        self.workers: dict[int, str] = {}
        """Workers seen and not lost, with the batch key of the latest batch of each."""
        self.idle: dict[int, int] = {}
        """Workers that wait for items, the longest waiting first, with the most each would take."""
        self.stopped: set[int] = set()
        """Workers ended by our command and not yet confirmed gone: a pull of theirs is not a new worker."""
        self.limits: dict[int, int] = {}
        """The most each worker wanted at its latest pull."""
        self.demand = 0
        """All of `limits` together."""
        self.stop: Stop | None = None
        self.counters = Counters()
        self.out: list[Command] = []
        self.now_ms = 0
        self.watch_ms = 0
        self.memory_bytes = 0
        self.max_seen_seq = restored.end - 1
        self.learned_bytes = -1
        """Size to expect of a result: rises at once to the largest seen, falls slowly. -1: none seen yet."""
        self.infrastructure_spent = 0

    @property
    def used_bytes(self) -> int:
        """Bytes of all windows."""
        used = 0
        for window in self.windows:
            used += window.used_bytes
        return used

    @property
    def ready_count(self) -> int:
        """Items that wait for a worker."""
        count = 0
        for window in self.windows:
            count += len(window.ready)
        return count

    @property
    def commit_lag(self) -> int:
        """Seqs from the cursor to the furthest computed one."""
        lag = self.max_seen_seq + 1 - max(self.ledger.next_commit_seq, self.restored.end)
        return lag if lag > 0 else 0

    @property
    def share_bytes(self) -> int:
        """What to set aside for one more result."""
        share = self.learned_bytes if self.learned_bytes > 0 else 1
        for window in self.windows:
            if window.size_bytes_max > share:
                share = window.size_bytes_max
        return share

    @property
    def blocked_seq(self) -> int:
        """First planned seq that is not computed; the number of planned seqs when all are."""
        for window in self.windows:
            if window.frontier < window.end:
                return window.frontier
        return len(self.ledger)

    def window_of(self, seq: int) -> Window:
        """The active window that holds this seq."""
        return self.windows[0] if seq < self.windows[0].end else self.windows[1]

    def stop_worker(self, worker: int, reason: str) -> None:
        """End a worker whose lease has been taken back."""
        self.forget_worker(worker)
        self.stopped.add(worker)
        self.out.append(StopWorker(worker, reason))

    def forget_worker(self, worker: int) -> None:
        """The worker is gone."""
        self.workers.pop(worker, None)
        self.idle.pop(worker, None)
        self.demand -= self.limits.pop(worker, 0)

    def request_stop(self, kind: StopKind, reason: str, grace_ms: int, limit_seq: int | None = None) -> None:
        """Stop the run. A second request can shorten the grace; an exceeded error budget is what the run stopped for,
        whatever came before it."""
        deadline_ms = self.now_ms + grace_ms
        before = self.stop
        if before is None:
            self.stop = Stop(kind, reason, deadline_ms, limit_seq)
        elif kind is StopKind.ERROR_BUDGET:
            self.stop = Stop(kind, reason, min(before.deadline_ms, deadline_ms), limit_seq, before.revoked)
        else:
            self.stop = msgspec.structs.replace(before, deadline_ms=min(before.deadline_ms, deadline_ms))
        if self.stop != before:
            self.out.append(Stopping(self.stop.reason, self.stop.deadline_ms))

    def snapshot(self, waiting_for: str) -> Snapshot:
        """The present moment, for a person."""
        ledger = self.ledger
        blocked = self.blocked_seq
        known = blocked < len(ledger)
        return Snapshot(
            now_ms=self.now_ms,
            next_commit_seq=ledger.next_commit_seq,
            max_seen_seq=self.max_seen_seq,
            planned_count=len(ledger),
            terminal_count=ledger.terminal_count,
            dispatched_count=ledger.dispatched_count,
            in_flight_count=ledger.in_flight_count,
            committed_count=ledger.committed_count,
            windows=tuple(
                WindowSnapshot(
                    id=window.id,
                    start=window.start,
                    end=window.end - 1,
                    sealed=window.sealed,
                    computed=window.computed_count,
                    used_bytes=window.used_bytes,
                )
                for window in self.windows
            ),
            oldest_blocked_seq=blocked if known else None,
            oldest_blocked_state=State(ledger.states[blocked]).name if known else None,
            buffered_bytes=self.used_bytes,
            commit_lag=self.commit_lag,
            waiting_for=waiting_for,
        )
