"""What is needed to try a sink: a place for it, and a run that plays on it and remembers as a journal would."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from inorder.core.transitions import State

from .base import Entry, Position, Sink, Trace

CUTS = (1, 2, 5, 1, 7)
"""Lengths of the runs in which entries are applied where nothing else is said."""


class BrokenRule(AssertionError):
    """A sink does not do what a run relies on."""


def demand(condition: bool, rule: str) -> None:
    """Say which rule was broken, unless it was kept."""
    if not condition:
        raise BrokenRule(rule)


def outcome_of(seq: int) -> State:
    """Some of everything."""
    return {1: State.TERMINAL_SKIP, 3: State.TERMINAL_FAIL}.get(seq % 5, State.TERMINAL_SUCCESS)


class Stand:
    """A place where sinks of one kind are opened, one after another. Subclass it for yours."""

    survives_death = True
    """What was applied is there when the process has died."""
    stays_ahead = False
    """It has transactions, and keeps what it has but at position 0."""
    is_exclusive = False
    """A second one cannot be opened at the same place."""

    def open(self) -> Sink:
        """A sink at this place, new or again."""
        raise NotImplementedError

    def content(self) -> object:
        """Everything a reader finds there, so that two places can be compared."""
        raise NotImplementedError

    def applied(self) -> list[int]:
        """The seqs whose payload or files a reader finds there, in the order in which they came."""
        raise NotImplementedError

    def tamper(self) -> None:
        """Do some harm that the sink promises to find."""
        raise NotImplementedError

    def entry(self, seq: int, outcome: State) -> Entry:
        """The item at its end. A success carries what the sink applies, also when it is made a second time."""
        payload = f"result {seq}" if outcome is State.TERMINAL_SUCCESS else None
        return Entry(seq, outcome, item=f"item {seq}", payload=payload)

    def acts(self) -> int | None:
        """How often the place was changed so far: writes, transactions. None: it cannot be told."""
        return None


class Diary:
    """A run on an open sink, with what its journal would know."""

    def __init__(self, stand: Stand, sink: Sink) -> None:
        self.stand = stand
        self.sink = sink
        self.positions = [Position()]
        """After each run; the first is that of the empty sink."""
        self.traces: list[Trace] = []
        """Of each run that was begun."""
        self.synced = 0
        """How many runs the latest sync covered."""

    @property
    def end(self) -> int:
        """Where the next run begins."""
        return self.positions[-1].end

    def apply(self, count: int) -> Position:
        """Apply so many more entries in one run."""
        seqs = range(self.end, self.end + count)
        entries = [self.stand.entry(seq, outcome_of(seq)) for seq in seqs]
        outputs = {entry.seq: entry.outputs for entry in entries if entry.outputs}
        self.traces.append(Trace(seqs.start, seqs.stop, outputs))
        self.positions.append(self.sink.apply(entries))
        return self.positions[-1]

    def apply_all(self, cuts: Sequence[int] = CUTS) -> Position:
        """Apply runs of these lengths."""
        for count in cuts:
            self.apply(count)
        return self.positions[-1]

    def sync(self) -> None:
        """Have everything made safe."""
        self.sink.sync()
        self.synced = len(self.traces)

    def recover(self) -> Position:
        """Roll back to the newest position that is held."""
        known = range(len(self.positions))
        held = next(n for n in reversed(known) if self.sink.holds(self.positions[n], self.traces[self.synced : n]))
        self.roll_back(held)
        return self.positions[-1]

    def roll_back(self, runs: int) -> None:
        """Roll back to where it stood after so many runs."""
        self.sink.roll_back(self.positions[runs], self.traces[runs:])
        del self.positions[runs + 1 :], self.traces[runs:]
        self.synced = min(self.synced, runs)


@contextmanager
def opened(stand: Stand) -> Iterator[Diary]:
    """A sink at this place, until it is closed."""
    sink = stand.open()
    try:
        yield Diary(stand, sink)
    finally:
        sink.close()
