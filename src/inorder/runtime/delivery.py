"""What an iteration hands out, and what its consumer has come back from.

A result is delivered when the consumer gets it, and committed when the consumer comes back for the next one.
"""

from collections import deque
from collections.abc import Sequence
from typing import Any

from inorder.core.commands import CommitRun
from inorder.core.events import Envelope
from inorder.runtime.loop import Memory, Runtime

Ready = deque[tuple[Envelope, Any]]


class Delivery:
    """Results that are ready; nothing of it is remembered. `resuming.py` has the one that is."""

    def __init__(self) -> None:
        self.ready: Ready = deque()
        self.memory = Memory()

    def commit(self, runtime: Runtime, run: CommitRun, items: Sequence[Any]) -> None:
        """A run of outcomes is ready to be delivered."""
        self.ready.extend(zip(run.envelopes, items, strict=True))

    def came_back(self, end: int, item: Any) -> None:
        """The consumer has the result of `item`, the last one below `end`, and wants the next."""

    def close(self, *, is_end: bool) -> None:
        """The iteration is over; `is_end`: because there is nothing more to deliver."""
        self.ready.clear()
