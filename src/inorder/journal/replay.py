"""Replay: from the records of a journal to the state of the run. Pure and repeatable.

Replay validates the records: each seq becomes terminal once and without a gap, a commit never exceeds what is terminal,
and no seq has two different outcomes. A record that breaks a rule is corrupt, even if its checksum is right. The error
names its offset.

A checkpoint holds the whole state. Outcomes that are not committed at that point are void, unless they are repeated
after it.

A run can resume from any *candidate*: the latest checkpoint and every commit after it. Recovery takes the newest one
that every sink still holds.
"""

from collections.abc import Iterable
from typing import NamedTuple

from inorder.core.resume_point import ResumePoint, ResumeWindow
from inorder.core.transitions import State

from .records import Attempt, Checkpoint, Commit, Header, Mark, Record, Terminal, WindowRecord, decode_sizing
from .scan import ScannedRecord

_NO_MARKS: dict[str, Mark] = {}
SUCCESS, SKIP, FAIL = int(State.TERMINAL_SUCCESS), int(State.TERMINAL_SKIP), int(State.TERMINAL_FAIL)


class CorruptRecord(Exception):
    """A record contradicts the records before it."""

    def __init__(self, offset: int, message: str) -> None:
        super().__init__(f"corrupt at byte {offset}: {message}")
        self.offset = offset


class Candidate(NamedTuple):
    """A point from which the run can resume."""

    end: int
    offset: int
    """Length of the journal up to this point."""
    marks: dict[str, Mark]
    digest: bytes


class OutcomeCounts(NamedTuple):
    """Numbers of outcomes and retries."""

    succeeded: int = 0
    skipped: int = 0
    failed: int = 0
    retries: int = 0


class Replay:
    """The state of a run according to the records so far."""

    def __init__(self) -> None:
        self.header: Header | None = None
        self.candidates: list[Candidate] = []
        """Oldest first: the latest checkpoint, or the start of the journal, and the commits after it."""
        self.terminals: list[Terminal] = []
        """Runs of outcomes since the latest checkpoint. The last one may not be committed."""
        self.windows: list[WindowRecord] = []
        """Windows that were open at the oldest candidate, and windows opened since."""
        self.granted: dict[int, int] = {}
        """Retries by seq, from the start of the oldest of these windows on."""
        self.is_end = False
        self._sinks: list[str] = []
        self._window_id = -1
        """Id of the latest window that was opened."""
        self.terminal_end = 0
        """Every seq below it has an outcome."""
        self._terminal_counts = [0, 0, 0, 0]
        """Successes, skips, failures and retries of all terminal seqs."""

    @property
    def newest_candidate(self) -> Candidate:
        """The latest point from which the run can resume."""
        return self.candidates[-1]

    def build_resume_point(self, candidate: Candidate) -> ResumePoint:
        """Build the state with which the kernel resumes at this candidate."""
        windows = list(self.windows)
        while len(windows) > 1 and windows[1].start <= candidate.end:
            del windows[0]
        start = windows[0].start if windows else 0
        return ResumePoint(
            end=candidate.end,
            **self.count_outcomes(candidate.end)._asdict(),
            retries_granted={seq: count for seq, count in self.granted.items() if seq >= start},
            windows=tuple(
                ResumeWindow(window.id, window.start, window.target_entries, decode_sizing(window.sizing))
                for window in windows
            ),
        )

    def apply(self, record: Record, offset: int, end: int) -> None:
        """Apply the next record, stored from `offset` to `end`."""
        if isinstance(record, Commit):
            self._apply_commit(record, offset, end)
        elif isinstance(record, Terminal):
            self._apply_terminal(record, offset)
        elif isinstance(record, Attempt):
            self.granted[record.seq] = max(record.retries, self.granted.get(record.seq, 0))
        elif isinstance(record, WindowRecord):
            self._apply_window(record, offset)
        elif isinstance(record, Checkpoint):
            self._apply_checkpoint(record, offset, end)
        elif self.header is None:
            self.header = record
            self._sinks = record.sinks
            self.candidates = [Candidate(0, end, {}, b"")]
        elif record != self.header:
            raise CorruptRecord(offset, "a second header that differs from the first")

    def _apply_window(self, record: WindowRecord, offset: int) -> None:
        """Add a window. A resumed run repeats the records of windows that were open."""
        if record.id > self._window_id + 1:
            raise CorruptRecord(offset, f"window {record.id} is opened, expected window {self._window_id + 1}")
        if record.id > self._window_id:
            self._window_id = record.id
            self.windows.append(record)

    def _apply_terminal(self, record: Terminal, offset: int) -> None:
        if record.start != self.terminal_end:
            self._check_repeated(record, offset)
            return
        outcomes, counts = record.outcomes, self._terminal_counts
        succeeded, skipped, failed = outcomes.count(SUCCESS), outcomes.count(SKIP), outcomes.count(FAIL)
        if succeeded + skipped + failed != len(outcomes):
            raise CorruptRecord(offset, f"seqs {record.start} to {record.end - 1} have unknown outcomes")
        self.terminal_end = record.end
        self.terminals.append(record)
        counts[0] += succeeded
        counts[1] += skipped
        counts[2] += failed
        for place, detail in record.details.items():
            if detail.retries:
                counts[3] += detail.retries
                self.granted[record.start + place] = detail.retries

    def _check_repeated(self, record: Terminal, offset: int) -> None:
        """Check a record of outcomes that are known already: they may be repeated, but not changed."""
        if record.start > self.terminal_end:
            raise CorruptRecord(offset, f"seqs {self.terminal_end} to {record.start - 1} have no outcome")
        for known in self.terminals:
            start, end = max(known.start, record.start), min(known.end, record.end)
            if start < end and known.slice(start, end) != record.slice(start, end):
                raise CorruptRecord(offset, f"a second, different outcome for a seq from {start} to {end - 1}")
        if record.end > self.terminal_end:
            raise CorruptRecord(offset, f"outcomes from seq {record.start} on overlap those before them")

    def count_outcomes(self, end: int) -> OutcomeCounts:
        """Count the outcomes below `end`, which must be the end of a candidate."""
        counts = [*self._terminal_counts]
        for terminal in reversed(self.terminals):
            if terminal.end <= end:
                break
            first = max(end - terminal.start, 0)
            for index, outcome in enumerate((SUCCESS, SKIP, FAIL)):
                counts[index] -= terminal.outcomes.count(outcome, first)
            counts[3] -= sum(detail.retries for place, detail in terminal.details.items() if place >= first)
        return OutcomeCounts(*counts)

    def _apply_commit(self, record: Commit, offset: int, end: int) -> None:
        if record.end > self.terminal_end:
            raise CorruptRecord(offset, f"seq {record.end - 1} is committed but has no outcome")
        candidates = self.candidates
        if record.end <= candidates[-1].end:
            return
        if self._sinks or record.marks:
            candidates.append(Candidate(record.end, end, self._name_marks(record.marks, offset), record.digest))
        elif len(candidates) > 1:  # without sinks only the newest commit matters
            candidates[1] = Candidate(record.end, end, _NO_MARKS, record.digest)
        else:
            candidates.append(Candidate(record.end, end, _NO_MARKS, record.digest))

    def _apply_checkpoint(self, record: Checkpoint, offset: int, end: int) -> None:
        is_first = self.terminal_end == 0 and self.newest_candidate.end == 0
        if not is_first and record.end != self.newest_candidate.end:
            raise CorruptRecord(
                offset, f"a checkpoint at seq {record.end}, but {self.newest_candidate.end} seqs are committed"
            )
        self.candidates = [Candidate(record.end, end, self._name_marks(record.marks, offset), record.digest)]
        self.terminal_end = record.end
        self._terminal_counts = [record.succeeded, record.skipped, record.failed, record.retries]
        self.terminals = []
        self.granted = dict(record.granted)
        self.windows = list(record.windows)
        if record.windows:
            self._window_id = record.windows[-1].id
        self.is_end = record.is_end

    def _name_marks(self, marks: list[Mark], offset: int) -> dict[str, Mark]:
        if len(marks) != len(self._sinks):
            raise CorruptRecord(offset, f"{len(marks)} positions for {len(self._sinks)} sinks")
        return dict(zip(self._sinks, marks, strict=True))


def replay(records: Iterable[ScannedRecord]) -> Replay:
    """Replay these records."""
    state = Replay()
    apply = state.apply
    for scanned in records:
        apply(scanned.record, scanned.offset, scanned.end)
    return state
