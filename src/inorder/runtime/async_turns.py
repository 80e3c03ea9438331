"""Runs the event loop of a run for a consumer that is a coroutine.

Workers that are threads or processes are waited for on a thread of a lane, which wakes the consumer. Coroutines run on
the consumer's own loop, and so do the turns of their run.
"""

import asyncio
from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterable, Sized
from typing import Any, Protocol

from inorder.engines.coroutines import CoroutineEngine
from inorder.errors import OperatorError
from inorder.lanes import Lane, LaneConfig

from .feed import Feed
from .loop import Runtime

FEED_MAX = 64
"""Items that are read from an asynchronous input before workers ask for them, at least."""


class AsyncTurns(Protocol):
    """How a consumer waits."""

    def require_loop(self) -> None:
        """Raise OperatorError on another event loop than that of the first wait."""

    async def wait(self) -> None:
        """Let the run go on, and return when something may have happened."""

    def feed_workers(self) -> None:
        """Let the run go on without waiting."""

    async def close(self) -> None:
        """End what runs beside the consumer."""


class _LoopGuard:
    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()

    def require_loop(self) -> None:
        """Raise OperatorError on another event loop than that of the first wait."""
        if asyncio.get_running_loop() is not self._loop:
            state = "which is closed" if self._loop.is_closed() else "and goes on there"
            raise OperatorError(f"the iteration began on another event loop, {state}; begin a new iteration here")


class ThreadTurns(_LoopGuard):
    """Turns on a thread, for workers that are threads, processes or actors."""

    def __init__(self, runtime: Runtime, wake: Callable[[], None]) -> None:
        super().__init__()
        self._runtime = runtime
        self._wake = wake
        self._lane = Lane(LaneConfig(name="turns", max_concurrency=1))

    async def wait(self) -> None:
        """Wait for a turn. When the consumer is cancelled, the turn ends first."""
        ticket = self._lane.submit(self._runtime.turn)
        try:
            await ticket
        except asyncio.CancelledError:
            self._wake()
            ticket.wait()
            raise

    def feed_workers(self) -> None:
        """Let the run go on without waiting."""
        self._runtime.turn(wait=False)

    async def close(self) -> None:
        """End the thread."""
        self._lane.close()


class LoopTurns(_LoopGuard):
    """Turns on the consumer's loop, whenever coroutines have ended. `ready` is filled by the run."""

    def __init__(self, runtime: Runtime, engine: CoroutineEngine, ready: Sized) -> None:
        super().__init__()
        self._runtime = runtime
        self._engine = engine
        self._ready = ready
        self._error: BaseException | None = None
        self._waiter: asyncio.Future[None] | None = None
        self._timer: asyncio.TimerHandle | None = None
        engine.on_event = self.feed_workers

    async def wait(self) -> None:
        """Wait until there are results, the run has ended, or has failed."""
        self.feed_workers()
        self._raise_error()
        if not self._ready and self._runtime.summary is None:
            self._waiter = asyncio.get_running_loop().create_future()
            try:
                await self._waiter
            finally:
                self._waiter = None
            self._raise_error()

    def feed_workers(self) -> None:
        """Handle everything that has happened, and come back when the run is to go on without an event."""
        try:
            self._runtime.turn(wait=False)
            while self._engine.has_events and self._runtime.summary is None:
                self._runtime.turn(wait=False)
            self._set_timer()
        except BaseException as error:
            self._error = error
        is_over = self._error is not None or self._runtime.summary is not None
        if self._waiter is not None and not self._waiter.done() and (self._ready or is_over):
            self._waiter.set_result(None)

    async def close(self) -> None:
        """Come back no more, and wake who waits."""
        if self._timer is not None:
            self._timer.cancel()
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def _set_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        wait_s = self._runtime.find_wait_s()
        if wait_s is not None and self._runtime.summary is None:
            self._timer = asyncio.get_running_loop().call_later(wait_s, self.feed_workers)

    def _raise_error(self) -> None:
        if self._error is not None:
            error, self._error = self._error, None
            raise error


class AsyncInput:
    """Reads an input on the consumer's loop into a feed, a few items ahead of the workers."""

    def __init__(self, items: AsyncIterable[Any] | Iterable[Any], items_max: int, on_item: Callable[[], None]) -> None:
        self._items = items
        self._items_max = max(FEED_MAX, items_max)
        self._on_item = on_item
        self._loop: asyncio.AbstractEventLoop | None = None
        self._room = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self.feed = Feed(self._on_hungry)

    def start(self) -> None:
        """Begin to read. Called on the loop; a second call does nothing."""
        if self._task is None:
            self._loop = asyncio.get_running_loop()
            self._task = self._loop.create_task(self._read())

    async def close(self) -> None:
        """Stop reading, and close the input if it is a generator that was not read to its end. On another event loop
        than that of the input, do not wait; on one that is closed nothing runs."""
        if self._task is None or self._task.done():
            return
        loop = self._task.get_loop()
        if loop is asyncio.get_running_loop():
            self._task.cancel()
            await asyncio.wait([self._task])
        elif not loop.is_closed():
            loop.call_soon_threadsafe(self._task.cancel)

    def _on_hungry(self) -> None:
        """Called by the thread that reads the feed."""
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._room.set)

    async def _read(self) -> None:
        try:
            iterator = _to_async_iterator(self._items)
            try:
                async for item in iterator:
                    self.feed.put(item)
                    if len(self.feed) <= 1:
                        self._on_item()
                    if len(self.feed) >= self._items_max:
                        self._room.clear()
                        await self._room.wait()
            finally:
                if hasattr(iterator, "aclose"):
                    await iterator.aclose()
        except BaseException as error:
            self.feed.end(error)
            self._on_item()
            if isinstance(error, asyncio.CancelledError):
                raise
        else:
            self.feed.end()
            self._on_item()


async def _to_async_iterator(items: AsyncIterable[Any] | Iterable[Any]) -> AsyncIterator[Any]:
    if isinstance(items, AsyncIterable):
        async for item in items:
            yield item
        return
    for item in items:
        yield item
