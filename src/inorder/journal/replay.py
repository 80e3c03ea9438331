"""From records to the state of the run. Pure, and the same however often it is done.

Replay holds the records to their rules: seqs become terminal without a hole and once, commits never go beyond what is
terminal, and nothing says two different things about one seq. A record that breaks a rule is corruption, named with its
offset, even though every byte of it is as it was written.

A checkpoint says everything anew. Outcomes that are not committed by then are void; those that still stand are told
again after it.

What a run may go on from are the *candidates*: the latest checkpoint and every commit after it. Recovery takes the
newest one that every sink can still show.
"""

from collections.abc import Iterable
from typing import NamedTuple

from inorder.core.resume_point import ResumePoint, ResumeWindow
from inorder.core.transitions import State as Outcome

from .records import Attempt, Checkpoint, Commit, Header, Mark, Record, Terminal, Window, sizing_of
from .scan import Found

_NO_MARKS: dict[str, Mark] = {}
SUCCESS, SKIP, FAIL = int(Outcome.TERMINAL_SUCCESS), int(Outcome.TERMINAL_SKIP), int(Outcome.TERMINAL_FAIL)


class Corrupt(Exception):
    """A record that contradicts those before it."""

    def __init__(self, offset: int, message: str) -> None:
        super().__init__(f"corrupt at byte {offset}: {message}")
        self.offset = offset


class Candidate(NamedTuple):
    """A place to go on from."""

    end: int
    offset: int
    """One past the last byte of the journal that counts then."""
    marks: dict[str, Mark]
    digest: bytes


class Counts(NamedTuple):
    """Outcomes of the seqs below some end."""

    succeeded: int = 0
    skipped: int = 0
    failed: int = 0
    retries: int = 0


class Replay:
    """The state so far."""

    def __init__(self) -> None:
        self.header: Header | None = None
        self.candidates: list[Candidate] = []
        """Oldest first: the latest checkpoint, or the beginning, and the commits since."""
        self.terminals: list[Terminal] = []
        """Runs of outcomes since the latest checkpoint, the last of them perhaps not committed."""
        self.windows: list[Window] = []
        """Those that were open at the oldest candidate or opened since."""
        self.granted: dict[int, int] = {}
        """Retries spent, by seq, from the start of the oldest of these windows on."""
        self.is_end = False
        self._sinks: list[str] = []
        self._window_id = -1
        """Of the latest window that was opened."""
        self._terminal_end = 0
        self._terminal_counts = [0, 0, 0, 0]
        """Successes, skips, failures and retries of everything terminal so far."""

    @property
    def newest(self) -> Candidate:
        """The furthest place to go on from."""
        return self.candidates[-1]

    @property
    def terminal_end(self) -> int:
        """Every seq below it has an outcome."""
        return self._terminal_end

    def resume_point(self, candidate: Candidate) -> ResumePoint:
        """What the kernel needs to go on from there."""
        windows = list(self.windows)
        while len(windows) > 1 and windows[1].start <= candidate.end:
            del windows[0]
        start = windows[0].start if windows else 0
        counts = self.counts_at(candidate.end)
        return ResumePoint(
            end=candidate.end,
            succeeded=counts.succeeded,
            skipped=counts.skipped,
            failed=counts.failed,
            retries=counts.retries,
            retries_granted={seq: count for seq, count in self.granted.items() if seq >= start},
            windows=tuple(
                ResumeWindow(window.id, window.start, window.target_entries, sizing_of(window.sizing))
                for window in windows
            ),
        )

    def take(self, record: Record, offset: int, end: int) -> None:
        """One more record, which lies there."""
        if isinstance(record, Commit):
            self._commit(record, offset, end)
        elif isinstance(record, Terminal):
            self._terminal(record, offset)
        elif isinstance(record, Attempt):
            self.granted[record.seq] = max(record.retries, self.granted.get(record.seq, 0))
        elif isinstance(record, Window):
            self._window(record, offset)
        elif isinstance(record, Checkpoint):
            self._checkpoint(record, offset, end)
        elif self.header is None:
            self.header = record
            self._sinks = record.sinks
            self.candidates = [Candidate(0, end, {}, b"")]
        elif record != self.header:
            raise Corrupt(offset, "a second header that differs from the first")

    def _window(self, record: Window, offset: int) -> None:
        """A run that resumes tells again of the windows that were open."""
        if record.id > self._window_id + 1:
            raise Corrupt(offset, f"window {record.id} is opened where window {self._window_id + 1} is the next")
        if record.id > self._window_id:
            self._window_id = record.id
            self.windows.append(record)

    def _terminal(self, record: Terminal, offset: int) -> None:
        if record.start != self._terminal_end:
            self._again(record, offset)
            return
        outcomes, counts = record.outcomes, self._terminal_counts
        succeeded, skipped, failed = outcomes.count(SUCCESS), outcomes.count(SKIP), outcomes.count(FAIL)
        if succeeded + skipped + failed != len(outcomes):
            raise Corrupt(offset, f"seqs {record.start} to {record.end - 1} have outcomes that do not exist")
        self._terminal_end = record.end
        self.terminals.append(record)
        counts[0] += succeeded
        counts[1] += skipped
        counts[2] += failed
        for place, detail in record.details.items():
            if detail.retries:
                counts[3] += detail.retries
                self.granted[record.start + place] = detail.retries

    def _again(self, record: Terminal, offset: int) -> None:
        """Outcomes that were told before may be told again; other ones may not."""
        if record.start > self._terminal_end:
            raise Corrupt(offset, f"seqs {self._terminal_end} to {record.start - 1} have no outcome")
        for known in self.terminals:
            start, end = max(known.start, record.start), min(known.end, record.end)
            if start < end and known.part(start, end) != record.part(start, end):
                raise Corrupt(offset, f"a second, different outcome for a seq from {start} to {end - 1}")
        if record.end > self._terminal_end:
            raise Corrupt(offset, f"outcomes from seq {record.start} on overlap those before them")

    def counts_at(self, end: int) -> Counts:
        """Of everything below `end`, which is a candidate's."""
        counts = [*self._terminal_counts]
        for terminal in reversed(self.terminals):
            if terminal.end <= end:
                break
            first = max(end - terminal.start, 0)
            for index, outcome in enumerate((SUCCESS, SKIP, FAIL)):
                counts[index] -= terminal.outcomes.count(outcome, first)
            counts[3] -= sum(detail.retries for place, detail in terminal.details.items() if place >= first)
        return Counts(*counts)

    def _commit(self, record: Commit, offset: int, end: int) -> None:
        if record.end > self._terminal_end:
            raise Corrupt(offset, f"seq {record.end - 1} is committed and has no outcome")
        candidates = self.candidates
        if record.end <= candidates[-1].end:
            return
        if self._sinks or record.marks:
            candidates.append(Candidate(record.end, end, self._marks(record.marks, offset), record.digest))
        elif len(candidates) > 1:  # with no sink to ask, the newest is as good as any
            candidates[1] = Candidate(record.end, end, _NO_MARKS, record.digest)
        else:
            candidates.append(Candidate(record.end, end, _NO_MARKS, record.digest))

    def _checkpoint(self, record: Checkpoint, offset: int, end: int) -> None:
        is_first = self._terminal_end == 0 and self.newest.end == 0
        if not is_first and record.end != self.newest.end:
            raise Corrupt(offset, f"a checkpoint at seq {record.end}, but {self.newest.end} are committed")
        self.candidates = [Candidate(record.end, end, self._marks(record.marks, offset), record.digest)]
        self._terminal_end = record.end
        self._terminal_counts = [record.succeeded, record.skipped, record.failed, record.retries]
        self.terminals = []
        self.granted = dict(record.granted)
        self.windows = list(record.windows)
        if record.windows:
            self._window_id = record.windows[-1].id
        self.is_end = record.is_end

    def _marks(self, marks: list[Mark], offset: int) -> dict[str, Mark]:
        if len(marks) != len(self._sinks):
            raise Corrupt(offset, f"{len(marks)} positions for {len(self._sinks)} sinks")
        return dict(zip(self._sinks, marks, strict=True))


def replay(found: Iterable[Found]) -> Replay:
    """The state that these records tell of."""
    state = Replay()
    take = state.take
    for one in found:
        take(one.record, one.offset, one.end)
    return state
