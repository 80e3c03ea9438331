"""The commit lane's side of the kernel: what is settled, handed over, and acknowledged.

The cursor never looks beyond the first active window and never past a hole. When nothing is being committed, the
longest run of computed results at the cursor is settled, that is, given its final outcomes, and handed over in one
`CommitRun`. While that is under way more results gather, so the next run is as long as the commit lane is slow: group
commit without a timer.

Outcomes become final here, in seq order, and nowhere else. That is what makes the error budget exact: the seq at
which it ran out is the same for any number of workers, because everything after it, computed or not, was still
undecided.
"""

from collections import deque

from .commands import CommitRun, WindowClosed
from .invariants import check
from .ledger import FAIL
from .results import Results
from .state import Board, StopKind
from .transitions import TERMINAL_STATES
from .windows.window import Window


class ErrorBudget:
    """Final failures in seq order, and where they become too many."""

    def __init__(self, limit: int | None) -> None:
        self.limit = limit
        self.failed = 0

    @property
    def is_exceeded(self) -> bool:
        """Whether there were too many."""
        return self.limit is not None and self.failed > self.limit

    def cut(self, outcomes: bytes) -> int | None:
        """How many of these outcomes still count: all (None), or up to and including the one failure too many."""
        failures = outcomes.count(FAIL)
        if self.limit is None or self.failed + failures <= self.limit:
            self.failed += failures
            return None
        position = -1
        while self.failed <= self.limit:
            position = outcomes.index(FAIL, position + 1)
            self.failed += 1
        return position + 1


class CommitCursor:
    """Settles runs, tracks the one being committed, closes windows behind it."""

    def __init__(self, board: Board, results: Results) -> None:
        self._board = board
        self._results = results
        self._budget = ErrorBudget(board.options.error_budget)
        self._committing: deque[int] = deque()
        """Payload sizes of the run handed over and not yet acknowledged."""
        self.outcome_counts = [0] * 8
        self.retries = board.restored.retries
        self._restore()

    @property
    def is_committing(self) -> bool:
        """Whether a run is with the commit lane."""
        return bool(self._committing)

    def _restore(self) -> None:
        restored = self._board.restored
        for state, count in zip(TERMINAL_STATES, (restored.succeeded, restored.skipped, restored.failed), strict=False):
            self.outcome_counts[state] = count
        self._budget.failed = restored.failed
        if self._budget.is_exceeded:
            self._exhausted(restored.end)

    def advance_frontiers(self) -> None:
        """Move each window's frontier over what is computed; decide the retry that waited for it to come by."""
        held = self._board.held
        for window in self._board.windows:
            frontier, end = window.frontier, window.end
            while True:
                while frontier < end and frontier in held:
                    frontier += 1
                window.frontier = frontier
                parked = window.parked.pop(frontier, None)
                if parked is None:
                    break
                self._results.judge(window, parked)

    def settle(self) -> None:
        """Hand over the longest run at the cursor, if there is one and the commit lane is free."""
        board = self._board
        if self._committing or not board.windows:
            return
        window = board.windows[0]
        start = board.ledger.next_commit_seq
        end = min(window.frontier, start + board.options.commit_run_max)
        if board.stop is not None and board.stop.limit_seq is not None:
            end = min(end, board.stop.limit_seq)
        if end <= start:
            return
        envelopes = [board.held[seq] for seq in range(start, end)]
        outcomes = bytes([envelope.outcome for envelope in envelopes])
        counted = self._budget.cut(outcomes)
        if counted is not None:
            envelopes, outcomes = envelopes[:counted], outcomes[:counted]
            self._exhausted(start + counted)
        board.ledger.settle(start, outcomes)
        for envelope in envelopes:
            del board.held[envelope.seq]
            self._committing.append(envelope.payload_bytes)
        granted = window.retries.granted
        retries = (
            {seq: granted[seq] for seq in range(start, start + len(envelopes)) if seq in granted} if granted else {}
        )
        self.retries += sum(retries.values())
        for state in TERMINAL_STATES:
            self.outcome_counts[state] += outcomes.count(state)
        board.counters.commit_runs += 1
        board.out.append(CommitRun(start, envelopes, retries))

    def acknowledged(self, end: int) -> None:
        """The commit lane is done with everything below `end`."""
        board = self._board
        start = board.ledger.next_commit_seq
        count = end - start
        if count <= 0:
            return
        check(count <= len(self._committing), f"seq {end - 1} is acknowledged but was never handed to the commit lane")
        board.windows[0].used_bytes -= sum(self._committing.popleft() for _ in range(count))
        board.ledger.commit(end)

    def close_window(self) -> Window | None:
        """Close the first window if the cursor has passed its end; the window, if so."""
        board = self._board
        if not board.windows:
            return None
        window = board.windows[0]
        if not window.sealed or board.ledger.next_commit_seq < window.end:
            return None
        check(window.used_bytes == 0, f"window {window.id} closes with {window.used_bytes} bytes unaccounted for")
        check(not window.ready, f"window {window.id} closes with {len(window.ready)} items waiting")
        check(window.computed_count == window.entries, f"window {window.id} closes with items never computed")
        del board.windows[0]
        board.ledger.forget(window.end)
        board.infrastructure_spent = 0
        board.counters.windows_closed += 1
        board.out.append(WindowClosed(window.id, window.end - 1))
        return window

    def _exhausted(self, limit_seq: int) -> None:
        board = self._board
        board.request_stop(
            StopKind.ERROR_BUDGET,
            f"error budget of {self._budget.limit} exceeded at seq {limit_seq - 1}",
            grace_ms=0,
            limit_seq=limit_seq,
        )
