"""A warning to a consumer that waits for one result: which item it is, and what has become of it."""

from collections.abc import Sized

from inorder.errors import require
from inorder.host.caller import warn_caller
from inorder.host.clock import Clock
from inorder.runtime.loop import Runtime


class StallNotice:
    """Waits for results in place of a consumer, and warns once per result, after `limit_s` of waiting; 0: never."""

    def __init__(self, limit_s: float, clock: Clock) -> None:
        require(limit_s >= 0, f"stall_warning_s must be at least 0, got {limit_s}")
        self._limit_ms = int(limit_s * 1000)
        self._clock = clock
        self._started_ms: int | None = None
        """None: the consumer has its result."""
        self._is_said = False

    def turn(self, runtime: Runtime, results: Sized) -> None:
        """Handle what has happened, and wait for it. `results` is filled by the runtime."""
        if not self._limit_ms:
            runtime.turn()
            return
        if self._started_ms is None:
            self._started_ms, self._is_said = self._clock.now_ms(), False
        due_ms = self._started_ms + self._limit_ms
        runtime.turn(wait_s_max=None if self._is_said else max(0, due_ms - self._clock.now_ms()) / 1000)
        if results:
            self._started_ms = None
        elif not self._is_said and self._clock.now_ms() >= due_ms:
            self._is_said = True
            self._warn(runtime, self._clock.now_ms() - self._started_ms)

    def _warn(self, runtime: Runtime, waited_ms: int) -> None:
        head = runtime.kernel.find_head()
        item = None if head.seq is None else runtime.find_item(head.seq)
        name = "" if item is None else f" ({item!r:.80})"
        message = f"no result for {waited_ms / 1000:.0f} s; waiting for {head.describe()}{name}"
        warn_caller(message)
