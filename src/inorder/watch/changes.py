"""Changes of the sources, and the window in which they are gathered."""

import msgspec

PATHS_MAX = 5
"""Changed paths that are kept for messages. Of the others only the number is known."""


HINTS_MAX = 1_000
"""Of more changed paths, none is kept for the run: it compares everything, which is not slower then."""


class SourceChanges(msgspec.Struct, frozen=True):
    """How many changes were seen, and the paths of the first ones."""

    count: int = 0
    paths: tuple[str, ...] = ()
    hints: frozenset[str] | None = None
    """All paths at which something may have changed; None: they are not known, or are many."""

    def add(self, other: "SourceChanges") -> "SourceChanges":
        """Both together."""
        if not (self.count and other.count):
            return self if self.count else other
        hints = None if self.hints is None or other.hints is None else self.hints | other.hints
        return SourceChanges(
            self.count + other.count,
            (*self.paths, *other.paths)[:PATHS_MAX],
            None if hints is None or len(hints) > HINTS_MAX else hints,
        )


class GatherWindow:
    """Gathers changes until none has come for `settle_ms`, and for at most `settle_ms_max`: a stream of changes without
    end is processed in parts. Time is passed in."""

    def __init__(self, settle_ms: int, settle_ms_max: int) -> None:
        self._settle_ms = settle_ms
        self._settle_ms_max = max(settle_ms, settle_ms_max)
        self._first_ms: int | None = None
        self._last_ms = 0
        self.changes = SourceChanges()

    @property
    def due_ms(self) -> int | None:
        """When the gathered changes are to be processed; None: there are none."""
        if self._first_ms is None:
            return None
        return min(self._last_ms + self._settle_ms, self._first_ms + self._settle_ms_max)

    def add(self, now_ms: int, changes: SourceChanges) -> None:
        """Gather changes that were seen at this time."""
        if self._first_ms is None:
            self._first_ms = now_ms
        self._last_ms = now_ms
        self.changes = self.changes.add(changes)

    def take(self) -> SourceChanges:
        """Return the gathered changes, and start over."""
        taken, self.changes, self._first_ms = self.changes, SourceChanges(), None
        return taken
