"""Where an interrupted run resumes, according to its journal.

A resumed run reads its plan from the first item again, because only the plan knows its items. Seqs below `end` are
committed: they are skipped and not counted twice. The windows that were open are cut at the same seqs as before, so
that everything that depends on windows (the limit on retries, the window records) is the same as without the
interruption.
"""

import msgspec

from .windows.window import SizingSnapshot


class ResumeWindow(msgspec.Struct, frozen=True):
    """A window that was open when the run was interrupted."""

    id: int
    start: int
    target_entries: int
    sizing: SizingSnapshot | None = None


class ResumePoint(msgspec.Struct, frozen=True, kw_only=True):
    """The state of an interrupted run. The defaults describe a new run."""

    end: int = 0
    """Every seq below it is committed."""
    succeeded: int = 0
    skipped: int = 0
    failed: int = 0
    retries: int = 0
    """Retries of the committed items."""
    retries_granted: dict[int, int] = {}
    """Retries by seq, of items in the open windows and of items that are not committed."""
    windows: tuple[ResumeWindow, ...] = ()
    """The open windows, oldest first. If empty, windows are cut according to the options."""

    @property
    def resume_start(self) -> int:
        """First seq of the first open window. Items below it are in closed windows."""
        return self.windows[0].start if self.windows else 0

    def select_retries(self, start: int, end: int) -> dict[int, int]:
        """Return the retries by seq of the items from `start` to `end`."""
        return {seq: count for seq, count in self.retries_granted.items() if start <= seq < end}
