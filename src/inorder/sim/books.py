"""The referee's own account of a run, kept from events and commands only."""

from collections import deque

import msgspec

from inorder.core.commands import Dispatch, WindowOpened, WindowSealed
from inorder.core.events import Envelope
from inorder.core.windows.window import choose_target

from .scenario import Scenario


class BookedLease(msgspec.Struct):
    """What one worker holds."""

    attempts: dict[int, int]
    share_bytes: int
    isolated: bool


class BookedWindow(msgspec.Struct):
    """An active window, as announced."""

    id: int
    start: int
    target_entries: int
    end: int | None = None
    """Last seq; None while it fills."""
    retries: int = 0


class Books:
    """Which worker holds what, and what is computed, handed to the commit lane and acknowledged."""

    def __init__(self, scenario: Scenario) -> None:
        self.scenario = scenario
        self.now_ms = 0
        self.planned = 0
        self.plan_ended = False
        self.idle: set[int] = set()
        self.workers: set[int] = set()
        self.gone: set[int] = set()
        self.leases: dict[int, BookedLease] = {}
        self.attempts: dict[int, int] = {}
        self.holders: dict[int, int] = {}
        """The worker of the current attempt of a seq; absent once it is fenced."""
        self.final: dict[int, Envelope | None] = {}
        """Computed and not yet handed to the commit lane; None: failed by the kernel."""
        self.undecided: dict[int, Envelope] = {}
        """Failed in a retryable way; the kernel has not decided yet."""
        self.partials: dict[int, bytes] = {}
        """The latest partial result of every seq that is not handed to the commit lane and has not succeeded."""
        self.waiting: dict[int, int] = {}
        """Due time of retries."""
        self.retries: dict[int, int] = {}
        self.suspects: set[int] = set()
        self.windows: list[BookedWindow] = []
        self.windows_seen = 0
        self.handed = 0
        self.acknowledged = 0
        self.outstanding: deque[int] = deque()
        self.announced: dict[int, bytes | None] = {}
        """The partial result of every seq that was announced."""
        self.delivered: set[int] = set()
        """Announced seqs that the consumer is done with."""
        self.max_seen = -1
        self.resident_bytes = 0
        self.pressure = "normal"
        self.stopping = False
        self.outcomes: list[int] = []
        self.applied_partials: list[bytes | None] = []
        """The partial results that were handed to the commit lane, by seq."""
        self.pressure_moves: set[str] = set()
        self.has_oversize_window = False
        self.sizing: list[str] = []
        """Decisions of adaptive sizing, as text."""

    def open_window(self, opened: WindowOpened) -> None:
        """Record a window that was opened."""
        self.windows.append(BookedWindow(opened.id, opened.start, opened.target_entries))
        self.windows_seen += 1
        if opened.sizing is not None:
            self.sizing.append(choose_target(self.scenario.options.windows, opened.sizing)[1])

    def seal_window(self, sealed: WindowSealed) -> BookedWindow:
        """Record the end of the last window."""
        window = self.windows[-1]
        window.end = sealed.record.end
        self.has_oversize_window |= sealed.record.oversize
        return window

    def find_window(self, seq: int) -> BookedWindow | None:
        """Return the active window that can hold this seq."""
        for window in self.windows:
            last = window.end if window.end is not None else window.start + window.target_entries - 1
            if window.start <= seq <= last:
                return window
        return None

    def lease(self, command: Dispatch) -> None:
        """Record what a worker holds."""
        pairs = dict(zip(command.seqs, command.attempts, strict=True))
        self.leases[command.worker] = BookedLease(pairs, command.share_bytes, command.isolated)
        self.idle.discard(command.worker)
        for seq, attempt in pairs.items():
            self.attempts[seq] = attempt
            self.holders[seq] = command.worker
            self.waiting.pop(seq, None)

    def deliver(self, seq: int) -> None:
        """Record that the consumer is done with a result, of which only the outcome is left if it has a size."""
        self.delivered.add(seq)
        partial = self.partials.pop(seq, b"")
        for results in (self.final, self.undecided):
            envelope = results.get(seq)
            if envelope is not None and envelope.payload_bytes + len(partial) > 0:
                results[seq] = Envelope(seq, envelope.attempt, envelope.outcome, failure=envelope.failure)
        self.acknowledge_delivered()

    def acknowledge_delivered(self) -> None:
        """Record what is committed because it was delivered and its turn has come."""
        while self.outstanding and self.acknowledged in self.delivered:
            self.outstanding.popleft()
            self.acknowledged += 1

    def is_leased(self, seq: int) -> bool:
        """Whether a worker holds this seq."""
        return any(seq in held.attempts for held in self.leases.values())

    def is_ready(self, seq: int) -> bool:
        """Whether this planned seq could be dispatched now."""
        if seq in self.final or seq in self.undecided or self.is_leased(seq):
            return False
        return self.waiting.get(seq, 0) <= self.now_ms

    @property
    def frontier(self) -> int:
        """The first seq that is not computed. A retryable failure counts as computed when no retry is left."""
        seq = self.handed
        while seq in self.final or (seq in self.undecided and self._is_out_of_retries(seq)):
            seq += 1
        return seq

    def _is_out_of_retries(self, seq: int) -> bool:
        window, bound = self.find_window(seq), self.scenario.options.retry.window_retries_max
        return window is not None and bound is not None and window.retries >= bound

    def used_bytes(self, window: BookedWindow | None = None) -> int:
        """Count the bytes promised and buffered, in one window or in all."""

        def counts(seq: int) -> bool:
            return window is None or self.find_window(seq) is window

        promised = sum(held.share_bytes for held in self.leases.values() for seq in held.attempts if counts(seq))
        buffered = sum(
            envelope.payload_bytes for seq, envelope in self.final.items() if envelope is not None and counts(seq)
        )
        buffered += sum(len(partial) for seq, partial in self.partials.items() if counts(seq))
        first = self.acknowledged
        committing = sum(size for offset, size in enumerate(self.outstanding) if counts(first + offset))
        return promised + buffered + committing

    @property
    def commit_lag(self) -> int:
        """Seqs between the cursor and the furthest computed one."""
        return max(0, max(self.max_seen + 1, self.frontier) - self.acknowledged)
