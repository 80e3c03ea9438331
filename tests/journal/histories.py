"""Histories of a journal, of any shape: windows open, items fail and are tried again, outcomes come in runs, sinks take
some of them, checkpoints fall anywhere. Each is written through the real writer, to a file in memory."""

from collections.abc import Iterator
from itertools import cycle
from typing import NamedTuple

from hypothesis import strategies as st

from inorder.errors import Category
from inorder.journal.records import (
    Attempt,
    Checkpoint,
    Commit,
    Detail,
    Header,
    Mark,
    Record,
    Terminal,
    WindowRecord,
    encode_record,
)
from inorder.journal.replay import FAIL, SKIP, SUCCESS, Replay, replay
from inorder.journal.scan import scan
from inorder.journal.writer import JournalWriter

SPAN = 5
"""Seqs in a window."""
ACTS = ("window", "attempt", "outcomes", "commit", "commit", "outcomes", "sync", "checkpoint")


class Tape:
    """A file in memory that remembers what was done to it."""

    def __init__(self, data: bytes = b"") -> None:
        self.data = data
        self.acts: list[str] = []

    def append(self, data: bytes) -> None:
        self.data += data
        self.acts.append("append")

    def sync(self) -> None:
        self.acts.append("sync")

    def close(self) -> None:
        self.acts.append("close")


class History(NamedTuple):
    """A journal, and the records to go on with."""

    writer: JournalWriter
    tape: Tape
    rest: list[Record]


class Storyteller:
    """Makes up records that could follow each other, as the numbers say."""

    def __init__(self, numbers: list[int], sinks: int) -> None:
        self._numbers = cycle(numbers)
        self._sinks = sinks
        self._windows = 0
        self._told = 0
        """Seqs with an outcome."""
        self._committed = 0
        self._retries: dict[int, int] = {}

    def records(self, act: str) -> Iterator[Record]:
        """What this act writes, with what has to come before it; nothing where it is not possible now."""
        yield from getattr(self, f"_{act}")()

    def _draw(self, count: int) -> int:
        return next(self._numbers) % count

    def _window(self) -> Iterator[Record]:
        if self._windows * SPAN < self._committed + 2 * SPAN:
            yield WindowRecord(self._windows, self._windows * SPAN, SPAN, (*range(6), self._draw(9)))
            self._windows += 1

    def _attempt(self) -> Iterator[Record]:
        if self._told == self._windows * SPAN:
            yield from self._window()
        if self._told < self._windows * SPAN:
            seq = self._told + self._draw(self._windows * SPAN - self._told)
            self._retries[seq] = self._retries.get(seq, 0) + 1
            yield Attempt(seq, self._retries[seq])

    def _outcomes(self) -> Iterator[Record]:
        if self._told == self._windows * SPAN:
            yield from self._window()
        room = self._windows * SPAN - self._told
        if room:
            count = 1 + self._draw(room)
            outcomes = bytes([(SUCCESS, SKIP, FAIL)[self._draw(3)] for _ in range(count)])
            yield Terminal(self._told, outcomes, dict(self._details(outcomes)))
            self._told += count

    def _details(self, outcomes: bytes) -> Iterator[tuple[int, Detail]]:
        for place, outcome in enumerate(outcomes):
            retries = self._retries.get(self._told + place, 0)
            if outcome == FAIL:
                yield place, Detail(retries, Category.RUNTIME, f"number {self._draw(100)}")
            elif retries or self._draw(4) == 0:
                yield place, Detail(retries, None, "", ((f"{self._told + place}.txt", self._draw(50), 6),))

    def _commit(self) -> Iterator[Record]:
        if self._told == self._committed:
            yield from self._outcomes()
        waiting = self._told - self._committed
        if waiting:
            self._committed += 1 + self._draw(waiting)
            marks: list[Mark] = [(self._committed, self._draw(1000), sink) for sink in range(self._sinks)]
            yield Commit(self._committed, 0, marks, b"%d" % self._committed)


def begun(sinks: int) -> tuple[JournalWriter, Tape]:
    """A new journal."""
    header = Header("a run", "", "", [f"sink {number}" for number in range(sinks)], 5)
    tape = Tape(encode_record(header) + encode_record(Checkpoint(end=0, durable=0, marks=[(0, 0, 0)] * sinks)))
    return JournalWriter(tape, "a journal", replay(scan(tape.data).records), len(tape.data)), tape


def told(numbers: list[int], acts: list[str], rest: list[str], sinks: int) -> History:
    """A history of these acts."""
    writer, tape = begun(sinks)
    storyteller = Storyteller(numbers, sinks)
    for act in acts:
        if act == "sync":
            writer.sync()
        elif act == "checkpoint":
            writer.append(*writer.build_checkpoint(is_end=False))
        else:
            writer.append(*storyteller.records(act))
    return History(writer, tape, [record for act in rest for record in storyteller.records(act)])


histories = st.builds(
    told,
    st.lists(st.integers(0, 10_000), min_size=1, max_size=40),
    st.lists(st.sampled_from(ACTS), min_size=2, max_size=40),
    st.lists(st.sampled_from(ACTS[:6]), max_size=10),
    st.integers(0, 3),
)


def meaning(state: Replay) -> dict[str, object]:
    """All that a run which goes on from the newest place can see: the same whatever the records are and lie."""
    newest = state.newest_candidate
    return {
        "header": state.header,
        "newest": (newest.end, newest.marks, newest.digest),
        "restored": state.build_resume_point(newest),
        "standing": list(_said(state, newest.end)),
        "terminal end": state.terminal_end,
        "is end": state.is_end,
    }


def _said(state: Replay, start: int) -> Iterator[tuple[int, int, Detail | None]]:
    """Outcomes from there on, one by one."""
    for terminal in state.terminals:
        for place, outcome in enumerate(terminal.outcomes):
            if terminal.start + place >= start:
                yield terminal.start + place, outcome, terminal.details.get(place)
