"""A list of what was committed: for tests, and for people who want to look.

It dies with its process, so a run that resumes finds it empty and does everything again. In all else it behaves as the
others do, which makes it the shortest answer to the question what a sink is.
"""

from collections.abc import Sequence

from .base import Entry, Position, Trace, check_run, tally


class MemorySink:
    """Entries in seq order, in `entries`."""

    def __init__(self, name: str = "memory") -> None:
        self.name = name
        self.entries: list[Entry] = []
        self._position = Position()

    def apply(self, entries: Sequence[Entry]) -> Position:
        """Take a contiguous run."""
        check_run(self.name, self._position, entries)
        self.entries += entries
        self._position = tally(self._position, entries)
        return self._position

    def position(self) -> Position:
        """How far it has come."""
        return self._position

    def sync(self) -> None:
        """Memory does not survive a loss of power, and nobody expects it to."""

    def holds(self, position: Position, since: Sequence[Trace]) -> bool:
        """Whether the list begins with what it held then."""
        return tally(Position(), self.entries[: position.end]) == position

    def roll_back(self, position: Position, undone: Sequence[Trace]) -> None:
        """Forget what came after."""
        del self.entries[position.end :]
        self._position = position

    def verify(self, position: Position) -> list[str]:
        """What is wrong with the list."""
        if self.holds(position, ()) and len(self.entries) == position.end:
            return []
        return [
            f"sink {self.name} holds {len(self.entries)} entries that are not those of seqs 0 to {position.end - 1}"
        ]

    def close(self) -> None:
        """Nothing to let go."""
