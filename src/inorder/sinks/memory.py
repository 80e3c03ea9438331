"""A list of what was committed: for tests, and the shortest example of a sink.

Its content is lost with its process, so a run that resumes finds it empty and processes everything again.
"""

from collections.abc import Sequence

from .base import AppliedRun, Entry, Position, advance_position, check_run


class MemorySink:
    """Keeps entries in a list, `entries`, in seq order.

    >>> from inorder.core.transitions import State
    >>> from inorder.sinks import Entry, MemorySink
    >>> sink = MemorySink()
    >>> sink.apply([Entry(0, State.TERMINAL_SUCCESS, payload="result")]).end
    1
    """

    def __init__(self, name: str = "memory") -> None:
        self.name = name
        self.entries: list[Entry] = []
        self._position = Position()

    def apply(self, entries: Sequence[Entry]) -> Position:
        """Append a contiguous run."""
        check_run(self.name, self._position, entries)
        self.entries += entries
        self._position = advance_position(self._position, entries)
        return self._position

    def position(self) -> Position:
        """Return how far it has come."""
        return self._position

    def sync(self) -> None:
        """Do nothing: memory is never durable."""

    def holds(self, position: Position, since: Sequence[AppliedRun]) -> bool:
        """Whether the list begins with what it held at this position."""
        return advance_position(Position(), self.entries[: position.end]) == position

    def roll_back(self, position: Position, undone: Sequence[AppliedRun]) -> None:
        """Remove the entries after this position."""
        del self.entries[position.end :]
        self._position = position

    def close(self) -> None:
        """Do nothing: there is nothing to close."""
