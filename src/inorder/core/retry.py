"""Failure, and when it is worth another attempt.

Three rules keep the results independent of machine weather and of timing:

* Only an item's own, retryable failure spends its retries. A lost worker or an expired lease never does; that trouble
  has a budget of its own in the kernel.
* The wait before a retry is derived from (seed, seq, attempt), so it is the same on every run, and it is a due time in
  a heap, so nobody else waits for it.
* Retries are bounded per window as well as per item, and where the bound of a window could run short they are granted
  in seq order (`WindowRetries`). Otherwise which item gets the last retry would depend on who failed first.
"""

from enum import StrEnum
from hashlib import blake2b

from .options import RetryOptions


def backoff_ms(options: RetryOptions, seq: int, attempt: int) -> int:
    """Wait before retry number `attempt` of `seq`: exponential, between half of it and the whole."""
    ceiling = min(options.backoff_ms << min(attempt - 1, 40), options.backoff_ms_max)
    identity = b"%d.%d.%d" % (options.seed, seq, attempt)
    draw = int.from_bytes(blake2b(identity, digest_size=8).digest(), "little")
    half = ceiling // 2
    return ceiling - half + draw % (half + 1)


class Verdict(StrEnum):
    """What becomes of a retryable failure."""

    AGAIN = "again"
    FINAL = "final"
    WAIT = "wait"


class WindowRetries:
    """The retries of one window.

    While even the worst case (every item not yet final uses all its retries) fits the window's bound, the bound cannot
    bind and a retry is granted at once. Otherwise a failed item waits until every lower seq of its window is final and
    then takes what is left. Both ways give what a single worker going through the window in order would have given.
    The worst case only shrinks as items become final, so a window never goes back from the first way to the second.
    """

    def __init__(self, options: RetryOptions, entries_max: int) -> None:
        self._retries_max = options.retries_max
        self._bound = options.window_retries_max
        self._entries_max = entries_max
        self.used = 0
        self._used_by_final = 0
        self._final_count = 0
        self.granted: dict[int, int] = {}
        """Retries of each item that had any."""

    def restore(self, granted: dict[int, int]) -> None:
        """Take over what was granted before the run was interrupted."""
        self.granted.update(granted)
        self.used = sum(self.granted.values())

    def is_exhausted(self, seq: int) -> bool:
        """Whether the item has used all of its own retries."""
        return self.granted.get(seq, 0) >= self._retries_max

    def grant(self, seq: int) -> int:
        """Spend a retry on `seq`; how many it has had now."""
        self.used += 1
        number = self.granted.get(seq, 0) + 1
        self.granted[seq] = number
        return number

    def became_final(self, seq: int) -> None:
        """This item will ask for no more."""
        self._final_count += 1
        self._used_by_final += self.granted.get(seq, 0)

    def judge(self, seq: int, *, is_frontier: bool) -> Verdict:
        """Decide on the latest failure of `seq`; `is_frontier`: every lower seq of the window is final."""
        if self.is_exhausted(seq):
            return Verdict.FINAL
        if self._bound is None:
            return Verdict.AGAIN
        worst = self._used_by_final + self._retries_max * (self._entries_max - self._final_count)
        if worst <= self._bound:
            return Verdict.AGAIN
        if not is_frontier:
            return Verdict.WAIT
        return Verdict.AGAIN if self.used < self._bound else Verdict.FINAL
