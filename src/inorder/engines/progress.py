"""The progress that an item reports while it runs, for people who wait for it.

The engine says who takes the reports of the items that run on a thread (`set_reporter`). Whoever calls the function of
an item asks for a `Report` at its start (`find_reporter`): the report belongs to this attempt, and may then be used on
any thread. A report only replaces the previous one, in memory, so an item may report as often as it likes.
"""

import threading
from collections.abc import Callable

import msgspec

NOTE_BYTES_MAX = 200
"""Bytes of a note that are kept."""

Report = Callable[[float, float | None, str], None]
"""Takes what is done, the total or None, and a note."""


class ItemProgress(msgspec.Struct, frozen=True, array_like=True):
    """What an item reported last."""

    done: float
    total: float | None = None
    note: str = ""
    age_s: float = 0.0
    """Seconds since the report."""

    def describe(self) -> str:
        """Describe it in words: `page 31 of 900`."""
        total = "" if self.total is None else f" of {_format_number(self.total)}"
        return f"{self.note} {_format_number(self.done)}{total}".lstrip()


class WorkerActivity(msgspec.Struct, frozen=True, array_like=True):
    """The item that a worker is running."""

    worker: int
    seq: int
    attempt: int
    elapsed_s: float
    """Seconds since the item started."""
    progress: ItemProgress | None = None
    """None: it has reported nothing."""


_local = threading.local()


def set_reporter(make_report: Callable[[], Report]) -> None:
    """Set who takes the reports of the items that run on this thread."""
    _local.make_report = make_report


def find_reporter() -> Report | None:
    """Return what takes the reports of the item that runs on this thread; None: nobody does."""
    make_report: Callable[[], Report] | None = getattr(_local, "make_report", None)
    return None if make_report is None else make_report()


def shorten_note(note: str) -> bytes:
    """Encode a note, cut to `NOTE_BYTES_MAX`."""
    encoded = " ".join(note.split()).encode("utf-8", "backslashreplace")
    return encoded[:NOTE_BYTES_MAX].decode("utf-8", "ignore").encode()


def _format_number(value: float) -> str:
    return str(int(value)) if value == int(value) else f"{value:g}"
