"""Delivery of results to the consumer of an iterator.

A result is delivered when the consumer receives it, and committed when the consumer asks for the next one. With a
journal, outcomes are written before they are delivered, and each commit when it happens. So after a crash the iteration
resumes with the first result for which the consumer did not return.

`Delivery` is in input order. `AnyOrderDelivery` takes results as they come, and `KeyDelivery` those of one key in input
order: both take what the kernel announces, and report what the consumer is done with.
"""

import os
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from inorder.core.commands import CommitRun
from inorder.core.events import Envelope
from inorder.errors import OperatorError, require
from inorder.host.clock import Clock
from inorder.runtime.loop import ResumeState
from inorder.runtime.plan_items import Planned, note_item

from .feed import NotYet

if TYPE_CHECKING:
    from inorder.runtime.result_log import ResultLog

ORDERS = ("input", "none", "key")
SPOOLS = ("memory", "disk")


class Delivery:
    """Results that are ready for the consumer, in input order. The commit step of an iteration without a journal."""

    announces = False
    """Whether results are delivered before their turn."""

    def __init__(self) -> None:
        self.ready: deque[tuple[Envelope, Any]] = deque()
        self.resume = ResumeState()
        self.base = 0
        """Results that were delivered by earlier runs and are not in this plan."""
        self.results: ResultLog | None = None
        """Keeps the results that are not delivered yet."""
        self._committed_end: int | None = None
        """The end of the results that the consumer has finished with, if that has changed since the last poll."""

    def order_plan(self, plan: Iterable[Planned]) -> Iterable[Planned]:
        """Return the plan that is run for the plan of the caller."""
        return plan

    def commit(self, run: CommitRun, items: Sequence[Any]) -> int | None:
        """Make a run ready for delivery. The consumer commits it, one result at a time."""
        self.ready.extend(zip(run.envelopes, items, strict=True))
        return None

    def announce(self, envelopes: Sequence[Envelope], items: Sequence[Any]) -> None:
        """Make results ready before their turn. Only if it `announces`."""

    def poll_delivered(self) -> list[int]:
        """Return the seqs that were acknowledged since the last call. Only if it `announces`."""
        return []

    def acknowledge(self, envelope: Envelope, item: Any) -> None:
        """Note that the consumer has finished with a result."""
        self._committed_end = envelope.seq + 1

    def poll_committed(self) -> int | None:
        """Return the end of what was acknowledged since the last call, if anything was."""
        end, self._committed_end = self._committed_end, None
        return end

    def close(self, *, is_end: bool) -> None:
        """End the iteration. `is_end`: every result was delivered."""
        self.ready.clear()


class AnyOrderDelivery(Delivery):
    """Results in the order in which they come."""

    announces = True

    def __init__(self) -> None:
        super().__init__()
        self._delivered: list[int] = []

    def announce(self, envelopes: Sequence[Envelope], items: Sequence[Any]) -> None:
        """Make results ready for delivery."""
        self.ready.extend(zip(envelopes, items, strict=True))

    def commit(self, run: CommitRun, items: Sequence[Any]) -> int | None:
        """Do nothing: the results were announced."""
        return None

    def acknowledge(self, envelope: Envelope, item: Any) -> None:
        """Note that the consumer has finished with a result."""
        self._delivered.append(envelope.seq)

    def poll_delivered(self) -> list[int]:
        """Return the seqs that were acknowledged since the last call."""
        seqs, self._delivered = self._delivered, []
        return seqs


class _Queue(deque[int]):
    """The seqs of one key that are not delivered, in input order."""

    __slots__ = ("key",)

    def __init__(self, key: Any) -> None:
        super().__init__()
        self.key = key


class KeyDelivery(AnyOrderDelivery):
    """Results of one key in input order. They wait for none of another key."""

    def __init__(self, key: Callable[[Any], Any]) -> None:
        super().__init__()
        self._key = key
        self._queues: dict[Any, _Queue] = {}
        self._queue_of: dict[int, _Queue] = {}
        """By seq, of the items that have no result yet."""
        self._waiting: dict[int, tuple[Envelope, Any]] = {}
        """Results behind one of the same key that is not there, by seq."""

    def order_plan(self, plan: Iterable[Planned]) -> Iterable[Planned]:
        """Yield the plan, and note the key of each item, which is asked for once."""
        key_of, queues, queue_of = self._key, self._queues, self._queue_of
        seq = 0
        for planned in plan:
            if not isinstance(planned, NotYet):
                try:
                    key = key_of(planned[1])
                except Exception as error:
                    note_item(error, "key", planned[1])
                    raise
                try:
                    queue = queues[key]
                except KeyError:
                    queue = queues[key] = _Queue(key)
                except TypeError as error:
                    raise OperatorError(
                        f"key returned {key!r:.80} for the item {planned[1]!r:.80}, which cannot be hashed; "
                        "return text, a number or a tuple of these"
                    ) from error
                queue.append(seq)
                queue_of[seq] = queue
                seq += 1
            yield planned

    def announce(self, envelopes: Sequence[Envelope], items: Sequence[Any]) -> None:
        """Make results ready for delivery, as far as no earlier one of their key is missing."""
        ready, waiting, take_queue = self.ready, self._waiting, self._queue_of.pop
        for result in zip(envelopes, items, strict=True):
            seq = result[0].seq
            queue = take_queue(seq)
            if queue[0] != seq:
                waiting[seq] = result
                continue
            ready.append(result)
            queue.popleft()
            while queue and queue[0] in waiting:
                ready.append(waiting.pop(queue.popleft()))
            if not queue:
                self._queues.pop(queue.key, None)

    def close(self, *, is_end: bool) -> None:
        """End the iteration."""
        super().close(is_end=is_end)
        self._waiting.clear()


def make_delivery(
    order: str,
    key: Callable[[Any], Any] | None,
    journal: str | os.PathLike[str] | None,
    function: Callable[..., Any],
    version: str,
    fsync: Any,
    spool: str,
    clock: Clock,
) -> Delivery:
    """Make the delivery of an iteration in this order: with a journal if there is a path for one."""
    require(spool in SPOOLS, f"spool must be one of {', '.join(SPOOLS)}, got {spool!r}")
    require(key is None or callable(key), "key must be a function of one item")
    require(journal is None or order == "input", f"a journal needs order='input', got order={order!r}")
    if journal is not None:
        # Imported here because an iteration without a journal needs none of it, and it doubles the time of its start.
        from .durable_delivery import open_delivery

        return open_delivery(os.fspath(journal), function, fsync, key, version, clock, is_spooled=spool == "disk")
    require(spool == "memory" and not version and fsync == "batch", "fsync, version and spool need journal=PATH")
    if order == "input":
        require(key is None, "key needs order='key' or journal=PATH")
        return Delivery()
    if order == "none":
        require(key is None, "key needs order='key' or journal=PATH")
        return AnyOrderDelivery()
    if key is None:
        raise OperatorError("order='key' needs key=, a function that returns what items have in common")
    return KeyDelivery(key)
