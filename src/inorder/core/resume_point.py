"""Where an interrupted run stood, as its journal tells it.

A resumed run reads its plan from the first item again, because only the plan knows its items. Seqs below `end` are
committed and pass by: nothing is dispatched, nothing is counted twice. The windows that were open are cut where the
journal says they were, so that whatever depends on windows (a bound on retries, the record in the journal) is the same
as if nothing had happened.
"""

import msgspec

from .windows.window import SizingSnapshot


class RestoredWindow(msgspec.Struct, frozen=True):
    """A window that was opened and not closed."""

    id: int
    start: int
    target_entries: int
    sizing: SizingSnapshot | None = None


class Restored(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of the run before."""

    end: int = 0
    """Every seq below it is committed."""
    succeeded: int = 0
    skipped: int = 0
    failed: int = 0
    retries: int = 0
    """Spent by the committed items."""
    granted: dict[int, int] = {}
    """Retries spent so far, by seq: of committed items of the open windows, and of items that are not committed yet."""
    windows: tuple[RestoredWindow, ...] = ()
    """The open windows, oldest first. Without one, windows are cut as the options say."""

    @property
    def resume_start(self) -> int:
        """First seq of the first window that was open; the items below it need no window any more."""
        return self.windows[0].start if self.windows else 0

    def granted_from(self, start: int) -> dict[int, int]:
        """Retries spent in the window that begins there."""
        limit = min((window.start for window in self.windows if window.start > start), default=None)
        return {seq: count for seq, count in self.granted.items() if start <= seq and (limit is None or seq < limit)}
