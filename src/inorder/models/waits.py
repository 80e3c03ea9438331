"""How long requests wait, and why."""

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Literal

WaitReason = Literal["pause", "tokens", "retry", "down"]
"""The server has asked for a pause; a limit of tokens per minute; the time between two attempts; the server is down."""
WORDS: dict[WaitReason, str] = {
    "pause": "because the server asked for it",
    "tokens": "for the limit of tokens",
    "retry": "between attempts",
    "down": "for a server that was down",
}


class Waits:
    """The time during which at least one request waits, for each reason. Thread-safe.

    >>> now = [0.0]
    >>> waits = Waits(lambda: now[0])
    >>> with waits.note("retry"):
    ...     now[0] = 2.5
    >>> waits.read()
    {'retry': 2.5}
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._ended_s: dict[WaitReason, float] = {}
        self._running: dict[WaitReason, tuple[int, float]] = {}
        """How many requests wait, and since when one does."""

    def begin(self, reason: WaitReason) -> None:
        """Note that a request begins to wait."""
        with self._lock:
            count, since_s = self._running.get(reason, (0, self._clock()))
            self._running[reason] = count + 1, since_s

    def end(self, reason: WaitReason) -> None:
        """Note that it does not wait any more."""
        with self._lock:
            count, since_s = self._running.pop(reason)
            if count > 1:
                self._running[reason] = count - 1, since_s
            else:
                self._ended_s[reason] = self._ended_s.get(reason, 0.0) + self._clock() - since_s

    @contextmanager
    def note(self, reason: WaitReason) -> Iterator[None]:
        """Note that a request waits in the body."""
        self.begin(reason)
        try:
            yield
        finally:
            self.end(reason)

    def read(self) -> dict[WaitReason, float]:
        """Return the seconds of each reason so far."""
        with self._lock:
            now_s = self._clock()
            found = dict(self._ended_s)
            for reason, (_, since_s) in self._running.items():
                found[reason] = found.get(reason, 0.0) + now_s - since_s
        return {reason: seconds for reason, seconds in found.items() if seconds > 0}

    def read_running(self, reason: WaitReason) -> float:
        """Return for how many seconds requests have been waiting for this reason; 0: none waits for it."""
        with self._lock:
            running = self._running.get(reason)
            return 0.0 if running is None else self._clock() - running[1]


def describe_waits(waited_s: Mapping[WaitReason, float]) -> str:
    """Return how long was waited for what, in words: what takes less than a second is left out."""
    shown = sorted(((s, reason) for reason, s in waited_s.items() if s >= 1), reverse=True)
    return ", ".join(f"{_format(seconds)} {WORDS[reason]}" for seconds, reason in shown)


def _format(seconds: float) -> str:
    return f"{seconds / 60:.0f} min" if seconds >= 120 else f"{seconds:.0f} s"
