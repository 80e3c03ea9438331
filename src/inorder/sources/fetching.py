"""Reads objects in parallel, within limits.

Every request goes through one lane per process, which bounds how many are in flight and how often one starts; a retry
takes a token like any other request, and holds no place in the lane while it waits. When a store asks for a pause, all
requests of the process wait. A large object is read in ranges at the same time.

Contents that a group of items needs are read before the first of them is processed. Those of large objects are kept
for a while, because a long document is read by several items.
"""

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from functools import partial
from hashlib import sha256
from typing import Any

from inorder.lanes import Lane, LaneConfig, Ticket

from .limits import FetchLimits
from .problems import CHANGED, RemoteProblem, translate_problem
from .stores import ObjectInfo, Store

HASHED = "sha256="
"""How the fingerprint of an object begins whose store has nothing usable: the hash of its content follows."""
RANGE_BYTES = 16 * 2**20
"""An object that is larger is read in ranges of this size."""
CACHE_BYTES = 128 * 2**20
"""Contents that one process keeps; the latest one is kept even if it is larger."""
SHARED_BYTES = 256 * 1024
"""An object of at least this size may be read by several items, and is kept after its first read."""
_BACKOFF_S = 0.2
_BACKOFF_S_MAX = 20.0
_PAUSE_S_MAX = 60.0
"""A longer pause that a store asks for is left to the schedule of the run: the item is retried later."""


class _Request:
    """A request with all its attempts."""

    def __init__(self, address: str, function: Callable[[], Any]) -> None:
        self.address = address
        self.function = function
        self.attempts = 0
        self.ticket: Ticket[Any] | None = None

    def run(self) -> Any:
        """One attempt. What it raises has no traceback of the store's package."""
        try:
            return self.function()
        except Exception as error:
            raise translate_problem(error, self.address) from None


class Fetcher:
    """Reads objects through a lane. Thread-safe."""

    def __init__(
        self,
        limits: FetchLimits,
        clock: Callable[[], float] = time.monotonic,
        wait: Callable[[float], object] = time.sleep,
    ) -> None:
        self.limits = limits
        self._clock = clock
        self._wait = wait
        self._not_before_s = clock()
        self._lock = threading.Lock()
        self._contents: OrderedDict[tuple[str, str], bytes] = OrderedDict()
        self._slow: dict[tuple[str, str], RemoteProblem] = {}
        """Why an object could not be read ahead in time: it is not waited for again."""
        self._lane = Lane(
            LaneConfig(
                name="fetch",
                max_concurrency=limits.concurrency,
                capacity=limits.concurrency,
                rate_per_s=limits.rate_per_s,
            ),
            clock,
        )

    def call(self, address: str, function: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
        """Call a function of a store through the lane, with retries. Raises `RemoteProblem`."""
        return self._finish(self._begin(address, partial(function, *arguments, **options)))

    def read(self, store: Store, source: ObjectInfo, address: str) -> bytes:
        """Read an object as it was listed. Raises `RemoteProblem`."""
        key = (address, source.fingerprint)
        self._refuse_slow(key)
        found = self._take(key)
        if found is None:
            found = self._join(self._begin_read(store, source, address), store, source, address)
            if len(found) >= SHARED_BYTES:
                self._keep(key, found)
        return found

    def read_head(self, store: Store, source: ObjectInfo, address: str, count: int) -> bytes:
        """Read the first bytes of an object. A small one is read at once, and kept."""
        if source.size <= SHARED_BYTES:
            self.read_ahead([(store, source, address)])
        self._refuse_slow((address, source.fingerprint))
        found = self._peek((address, source.fingerprint))
        if found is None:
            found = self.call(address, store.read, source, 0, min(count, source.size))
        return bytes(found[:count])

    def read_ahead(self, wanted: Sequence[tuple[Store, ObjectInfo, str]]) -> None:
        """Read several objects at once, and keep them until they are read one by one. One that cannot be read is left
        out."""
        missing = [each for each in wanted if self._peek((each[2], each[1].fingerprint)) is None]
        begun = [(self._begin_read(*each), each) for each in missing]
        for requests, (store, source, address) in begun:
            try:
                content = self._join(requests, store, source, address)
            except RemoteProblem as problem:
                if problem.kind == "slow":
                    self._slow[address, source.fingerprint] = problem
                continue
            self._keep((address, source.fingerprint), content)

    def close(self) -> None:
        """End the threads of the lane."""
        self._lane.close(drain=False, timeout_s=1.0)

    # ---- Requests

    def _begin(self, address: str, function: Callable[[], Any]) -> _Request:
        request = _Request(address, function)
        self._submit(request)
        return request

    def _submit(self, request: _Request) -> None:
        pause_s = self._not_before_s - self._clock()
        if pause_s > 0:
            self._wait(pause_s)
        request.attempts += 1
        request.ticket = self._lane.submit(request.run)

    def _finish(self, request: _Request) -> Any:
        while True:
            try:
                return None if request.ticket is None else request.ticket.result()
            except RemoteProblem as problem:
                self._back_off(request, problem)
            self._submit(request)

    def _back_off(self, request: _Request, problem: RemoteProblem) -> None:
        """Wait before the next attempt. Raises the problem if there is none."""
        if (
            problem.kind != "transient"
            or request.attempts >= self.limits.attempts_max
            or problem.retry_after_s > _PAUSE_S_MAX
        ):
            raise problem
        wait_s = min(_BACKOFF_S * 2 ** (request.attempts - 1), _BACKOFF_S_MAX)
        if problem.retry_after_s:
            wait_s = problem.retry_after_s
            self._not_before_s = max(self._not_before_s, self._clock() + wait_s)
        self._wait(wait_s)

    # ---- Contents

    def _begin_read(self, store: Store, source: ObjectInfo, address: str) -> list[_Request]:
        if not store.has_ranges or source.size <= RANGE_BYTES:
            return [self._begin(address, partial(_read, store, source, address))]
        starts = range(0, source.size, RANGE_BYTES)
        return [self._begin(address, partial(_read_range, store, source, address, start)) for start in starts]

    def _join(self, requests: list[_Request], store: Store, source: ObjectInfo, address: str) -> bytes:
        pieces = [self._finish(request) for request in requests]
        found = pieces[0] if len(pieces) == 1 else b"".join(pieces)
        if source.fingerprint.startswith(HASHED):
            if f"{HASHED}{sha256(found).hexdigest()}" != source.fingerprint:
                raise RemoteProblem("changed", address, CHANGED)
        else:
            self.call(address, store.check, source, address)
        return bytes(found)

    def _refuse_slow(self, key: tuple[str, str]) -> None:
        """Raise, once, the problem of an object that did not arrive in time when it was read ahead."""
        if (problem := self._slow.pop(key, None)) is not None:
            raise problem

    def _peek(self, key: tuple[str, str]) -> bytes | None:
        with self._lock:
            return self._contents.get(key)

    def _take(self, key: tuple[str, str]) -> bytes | None:
        """The content, which is forgotten unless other items may need it."""
        with self._lock:
            found = self._contents.get(key)
            if found is not None and len(found) < SHARED_BYTES:
                del self._contents[key]
            elif found is not None:
                self._contents.move_to_end(key)
            return found

    def _keep(self, key: tuple[str, str], content: bytes) -> None:
        with self._lock:
            self._contents[key] = content
            held = sum(map(len, self._contents.values()))
            while held > CACHE_BYTES and len(self._contents) > 1:
                held -= len(self._contents.popitem(last=False)[1])


def _read_range(store: Store, source: ObjectInfo, address: str, start: int) -> bytes:
    return _read(store, source, address, start, min(start + RANGE_BYTES, source.size))


def _read(store: Store, source: ObjectInfo, address: str, start: int | None = None, stop: int | None = None) -> bytes:
    """Read an object, or a range of it. A body that is too short was cut off, or the object has changed."""
    found = store.read(source, start, stop)
    expected = source.size if start is None or stop is None else stop - start
    if expected >= 0 and len(found) != expected:
        store.check(source, address)
        reason = f"the response has {len(found):,} of {expected:,} bytes"
        raise RemoteProblem("transient", address, reason)
    return found
