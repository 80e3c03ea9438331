"""The progress that an item reports while it runs, for people who wait for it.

An engine registers a factory of reporters for each of its threads (`set_reporter`). The code that runs an item gets a
reporter for it at the start (`find_reporter`). The reporter belongs to this attempt and can be called from any thread.
A report replaces the previous one in memory, so items can report often.
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
    """Set the factory of the reporters for items that run on this thread."""
    _local.make_report = make_report


def find_reporter() -> Report | None:
    """Return a reporter for the item that runs on this thread, or None if its engine has none."""
    make_report: Callable[[], Report] | None = getattr(_local, "make_report", None)
    return None if make_report is None else make_report()


def shorten_note(note: str) -> bytes:
    """Encode a note, cut to `NOTE_BYTES_MAX`."""
    encoded = " ".join(note.split()).encode("utf-8", "backslashreplace")
    return encoded[:NOTE_BYTES_MAX].decode("utf-8", "ignore").encode()


def _format_number(value: float) -> str:
    return str(int(value)) if value == int(value) else f"{value:g}"
