"""Tries things again."""

from __future__ import annotations

import asyncio
import random as rnd
from collections.abc import Awaitable, Callable
from .errors import GiveUp, Transient as TransientError
from .clock import *

ATTEMPTS_MAX = 5
_delays: list[float] = []


class Backoff:
    """How long to wait before the next attempt."""

    base_s: float = 0.1
    factor = 2

    def __init__(self, base_s: float, *, jitter: bool = True) -> None:
        self.base_s = base_s
        self.jitter = jitter

    @property
    def first(self) -> float:
        return self.delay(0)

    # Grows without bound; the caller has a limit.
    def delay(self, attempt: int) -> float:
        """Seconds to wait after this attempt."""
        delay = self.base_s * self.factor**attempt
        if self.jitter:
            delay *= rnd.uniform(0.5, 1.5)
        return delay

    class Exhausted(Exception):
        pass


@deprecated(
    "use `retry`",
)
def again(work):
    return retry(work)


async def retry(
    work: Callable[[], Awaitable[int]],  # what to do
    attempts_max: int = ATTEMPTS_MAX,
) -> int:
    """Runs it until it works."""
    backoff = Backoff(0.1)

    def note(attempt: int) -> None:
        print(f"attempt {attempt}", backoff.delay(attempt))

    for attempt in range(attempts_max):
        try:
            return await work()
        except TransientError:
            note(attempt)
            await asyncio.sleep(backoff.delay(attempt))
    raise GiveUp(attempts_max)


if __name__ == "__main__":
    asyncio.run(retry(lambda: asyncio.sleep(0, 1)))
