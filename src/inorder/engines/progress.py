"""What an item says while it runs: its progress, the step that it is in, and what it has made so far.

An engine registers a factory of reporters for each of its threads (`set_reporter`). The code that runs an item gets a
reporter for it at the start (`find_reporter`). The reporter belongs to this attempt and can be called from any thread;
when the attempt has ended, it does nothing. A report of progress or of a step replaces the previous one in memory, so
items can report often. A partial result is sent to the driver at once.
"""

import threading
from collections.abc import Callable
from typing import NamedTuple, Protocol

import msgspec

NOTE_BYTES_MAX = 200
"""Bytes of a note that are kept."""

STEP_BYTES_MAX = 100
"""Bytes of the name of a step that are kept."""


class Reporter(Protocol):
    """Takes what one attempt says."""

    def report(self, done: float, total: float | None, note: str) -> None:
        """Take the progress: what is done, the total or None, and a note."""

    def begin_step(self, name: str, timeout_s: float | None) -> None:
        """Take the step that begins now, and its time limit; None: that of the engine; 0: none."""

    def hand_over(self, partial: bytes) -> None:
        """Take what the attempt has made so far."""


class RunningStep(NamedTuple):
    """The step that an item is in."""

    name: str
    began_s: float
    timeout_s: float | None
    """Its time limit; None: that of the engine; 0: none."""


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
    step: str = ""
    """The step that the item is in; empty: it has none."""


_local = threading.local()


def set_reporter(make_reporter: Callable[[], Reporter]) -> None:
    """Set the factory of the reporters for items that run on this thread."""
    _local.make_reporter = make_reporter


def find_reporter() -> Reporter | None:
    """Return a reporter for the item that runs on this thread, or None outside an engine."""
    make_reporter: Callable[[], Reporter] | None = getattr(_local, "make_reporter", None)
    return None if make_reporter is None else make_reporter()


def shorten_note(note: str, bytes_max: int = NOTE_BYTES_MAX) -> bytes:
    """Encode a note, cut to `bytes_max`."""
    encoded = " ".join(note.split()).encode("utf-8", "backslashreplace")
    return encoded if len(encoded) <= bytes_max else encoded[:bytes_max].decode("utf-8", "ignore").encode()


def _format_number(value: float) -> str:
    return str(int(value)) if value == int(value) else f"{value:g}"
