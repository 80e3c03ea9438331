"""The state of a run, in one place.

`KernelState` holds everything that `Kernel.step` changes. The parts of the kernel share it: planner, dispatcher,
results, lost workers, commit cursor and shutdown. A part keeps no state of its own that another part needs.
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
from .resume_point import ResumePoint
from .transitions import State
from .windows.plan import PlanIntake
from .windows.window import Window, WindowCutter


class StopKind(StrEnum):
    """Why a run ended before its plan did."""

    CANCELLED = "cancelled"
    ERROR_BUDGET = "error budget"
    BUDGET = "budget"
    """A limit on tokens or money is reached."""
    INFRASTRUCTURE = "infrastructure"


class Stop(msgspec.Struct):
    """A stop in progress."""

    kind: StopKind
    reason: str
    deadline_ms: int
    limit_seq: int | None = None
    """No seq at or beyond this one is settled. None: everything computed without a gap is settled."""
    is_revoked: bool = False
    """Every lease is revoked: results that arrive from now on are refused."""


class Outage(msgspec.Struct):
    """A server that the run waits for."""

    server: str
    reason: str
    """Of the latest failure."""
    since_ms: int
    due_ms: int = 0
    """When the next item is tried."""
    probes: int = 0
    """How many were tried in vain."""
    probe: int | None = None
    """The seq that is being tried."""


class Counters(msgspec.Struct):
    """Counts of what has happened in a run. No counter ever decreases."""

    steps: int = 0
    dispatches: int = 0
    envelopes: int = 0
    refused: int = 0
    """Stale results, which are never applied."""
    hand_overs: int = 0
    """Partial results that were accepted."""
    retries: int = 0
    retries_parked: int = 0
    retries_denied: int = 0
    """Retryable failures that became final because the retry limit of their window was reached."""
    reclaims: int = 0
    returns: int = 0
    """Items that a worker gave back before starting them."""
    expired_leases: int = 0
    lost_workers: int = 0
    suspects: int = 0
    poison_items: int = 0
    """Items that ended their worker twice and failed for it."""
    overruns: int = 0
    isolated_dispatches: int = 0
    cursor_admissions: int = 0
    """Items dispatched in spite of backpressure because the cursor waited for them."""
    slowed_dispatches: int = 0
    prefetch_refusals: int = 0
    aged_dispatches: int = 0
    local_batches: int = 0
    """Batches dispatched to a worker whose previous batch had the same key."""
    starved_steps: int = 0
    """Steps that ended with an idle worker only because the windows were too small."""
    unwatched_gaps: int = 0
    """Steps that came so late that most of the gap was not counted against leases."""
    commit_runs: int = 0
    windows_closed: int = 0


class KernelState:
    """Everything that changes during a run."""

    def __init__(self, options: KernelOptions, total: int | None, resume_point: ResumePoint) -> None:
        self.options = options
        self.resume_point = resume_point
        self.intake = PlanIntake(total)
        self.cutter = WindowCutter(options)
        self.ledger = Ledger()
        self.leases = LeaseTable(options.lease_ms)
        self.pressure = Pressure(options.pressure)
        self.windows: list[Window] = []
        self.reorder_buffer: dict[int, Envelope] = {}
        """Results that are computed and not yet settled, by seq."""
        self.partials: dict[int, bytes] = {}
        """What items have handed over that are not computed yet, by seq. Counted in the bytes of their window."""
        self.retries_due: list[tuple[int, int]] = []
        """Heap of (due_ms, seq)."""
        self.workers: dict[int, str] = {}
        """Workers that have pulled and are not lost, each with the batch key of its latest batch."""
        self.idle: dict[int, int] = {}
        """Workers that wait for items, longest waiting first, each with the most items it would take."""
        self.stopping_workers: set[int] = set()
        """Workers that were told to stop and are not yet confirmed gone. Their pulls are ignored."""
        self.pull_limits: dict[int, int] = {}
        """The limit of each worker's latest pull."""
        self.demand = 0
        """The sum of `pull_limits`."""
        self.stop: Stop | None = None
        self.counters = Counters()
        self.commands: list[Command] = []
        self.now_ms = 0
        self.watched_ms = 0
        self.resident_bytes = 0
        self.max_seen_seq = resume_point.end - 1
        self.expected_bytes = options.expected_bytes
        """Expected size of a result: rises at once to the largest seen and falls slowly. -1: none seen yet."""
        self.infrastructure_spent = 0
        self.outage: Outage | None = None
        self.starved_since_ms: int | None = None
        """When a worker was first idle only because the windows were too small, since a window closed."""

    @property
    def used_bytes(self) -> int:
        """Bytes used by all windows."""
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
        """Number of seqs from the cursor to the highest computed one."""
        lag = self.max_seen_seq + 1 - max(self.ledger.next_commit_seq, self.resume_point.end)
        return lag if lag > 0 else 0

    @property
    def share_bytes(self) -> int:
        """Bytes to reserve for one more result."""
        share = self.expected_bytes if self.expected_bytes > 0 else 1
        for window in self.windows:
            if window.size_bytes_max > share:
                share = window.size_bytes_max
        return share

    @property
    def blocked_seq(self) -> int:
        """First planned seq that is not computed; the number of planned seqs if all are."""
        for window in self.windows:
            if window.frontier < window.end:
                return window.frontier
        return len(self.ledger)

    def find_window(self, seq: int) -> Window:
        """Return the active window that contains this seq."""
        return self.windows[0] if seq < self.windows[0].end else self.windows[1]

    def note_starved(self) -> None:
        """Note that a worker is idle only because the windows are too small."""
        self.counters.starved_steps += 1
        if self.starved_since_ms is None:
            self.starved_since_ms = self.now_ms

    def stop_worker(self, worker: int, reason: str) -> None:
        """Stop a worker whose lease is already revoked."""
        self.forget_worker(worker)
        self.stopping_workers.add(worker)
        self.commands.append(StopWorker(worker, reason))

    def forget_worker(self, worker: int) -> None:
        """Remove a worker that is gone."""
        self.workers.pop(worker, None)
        self.idle.pop(worker, None)
        self.demand -= self.pull_limits.pop(worker, 0)

    def request_stop(self, kind: StopKind, reason: str, grace_ms: int, limit_seq: int | None = None) -> None:
        """Stop the run. A second request can only shorten the grace period. An exceeded error budget replaces an
        earlier reason to stop."""
        deadline_ms = self.now_ms + grace_ms
        before = self.stop
        if before is None:
            self.stop = Stop(kind, reason, deadline_ms, limit_seq)
        elif kind is StopKind.ERROR_BUDGET:
            self.stop = Stop(kind, reason, min(before.deadline_ms, deadline_ms), limit_seq, before.is_revoked)
        else:
            self.stop = msgspec.structs.replace(before, deadline_ms=min(before.deadline_ms, deadline_ms))
        if self.stop != before:
            self.commands.append(Stopping(self.stop.reason, self.stop.deadline_ms))

    def snapshot(self, waiting_for: str) -> Snapshot:
        """Describe the present state for an operator."""
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
                    sealed=window.is_sealed,
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
