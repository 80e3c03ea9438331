"""An engine in front of another one, for items whose results, or parts of them, are known without a worker.

To the kernel, such a result is the result of a valid attempt. So it counts against the budgets, waits in the reorder
buffer, is fenced and committed like any other, and no more of them are in memory than the windows hold. A partial
result counts as handed over by the attempt, which is offered it.
"""

from collections.abc import Callable
from typing import Any

from inorder.core.events import Envelope, Event, Finished, HandedOver, Pulled, Returned, WorkerLost

from .base import Batch, Engine, Task

_GROWTH = 4
_LIMIT_MAX = 256
"""A batch of items that are all answered takes no time, and the next one may be longer. A worker is given no more of it
than it asked for itself."""

Answer = Callable[[Task], Envelope | bytes | None]
"""Returns the result of an item, or a partial one that a worker goes on from; None: a worker must run it."""
Offer = Callable[[Any, bytes], Any]
"""Returns an item with a partial result that an earlier attempt at it handed over."""


def offer_nothing(item: Any, partial: bytes) -> Any:
    """Return an item as it is: its worker has no use for partial results. Implements `Offer`."""
    return item


class AnsweringEngine:
    """Answers items with `answer`, and gives those without a result to the workers of `engine`."""

    def __init__(self, engine: Engine, answer: Answer, offer: Offer = offer_nothing) -> None:
        self._engine = engine
        self._answer = answer
        self._offer = offer
        self._events: list[Event] = []
        self._limits: dict[int, tuple[int, int]] = {}
        """What each worker asked for itself, and in its latest pull, which may be more; one that is lost has none."""

    def start(self) -> None:
        """Start the workers."""
        self._engine.start()

    def dispatch(self, batch: Batch) -> None:
        """Answer what can be answered of the batch, and give the rest to the worker."""
        limits = self._limits.get(batch.worker)
        if limits is None:
            self._engine.dispatch(batch)
            return
        own_limit, limit = limits
        answer = self._answer
        answered: list[Envelope] = []
        rest: list[Task] = []
        returned: list[int] = []
        for task in batch.tasks:
            if len(rest) >= own_limit:
                returned.append(task.seq)
                continue
            found = answer(task)
            if found is None:
                rest.append(task)
            elif isinstance(found, Envelope):
                answered.append(found)
            else:
                self._events.append(HandedOver(batch.worker, task.seq, task.attempt, found))
                rest.append(task._replace(item=self._offer(task.item, found)))
        if answered:
            self._events.append(Finished(batch.worker, answered))
        if returned:
            self._events.append(Returned(batch.worker, returned))
        if rest:
            self._engine.dispatch(batch._replace(tasks=rest))
        else:
            limit = max(limit, min(limit * _GROWTH, _LIMIT_MAX))
            self._limits[batch.worker] = own_limit, limit
            self._events.append(Pulled(batch.worker, limit))

    def stop_worker(self, worker: int, reason: str) -> None:
        """End this worker and start another in its place."""
        self._limits.pop(worker, None)
        self._engine.stop_worker(worker, reason)

    def poll(self, timeout_s: float | None) -> list[Event]:
        """Return the answers, then what has happened to the workers."""
        events, self._events = self._events, []
        found = self._engine.poll(0.0 if events else timeout_s)
        for event in found:
            if isinstance(event, Pulled):
                self._limits[event.worker] = event.limit, event.limit
            elif isinstance(event, WorkerLost):
                self._limits.pop(event.worker, None)
        return events + found if events else found

    def wake(self) -> None:
        """Make a waiting `poll` return soon."""
        self._engine.wake()

    def drain(self) -> None:
        """Have every worker return the items that it has not started."""
        self._engine.drain()

    def close(self, grace_s: float = 0.0) -> list[Task]:
        """End every worker."""
        self._events.clear()
        return self._engine.close(grace_s)
