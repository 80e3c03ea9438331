"""Retries of failed items.

Three rules keep results independent of infrastructure failures and of timing:

* Only an item's own retryable failure counts as a retry. A lost worker or an expired lease does not; these have a
  budget of their own.
* The backoff before a retry is derived from (seed, seq, attempt), so it is the same in every run. It is a due time in a
  heap, so it delays no other item.
* Retries are limited per item and per window. If the limit of a window might be reached, retries are granted in seq
  order (`WindowRetries`). Otherwise the order of failures would decide which item gets the last retry.
"""

from collections.abc import Iterable
from enum import StrEnum
from hashlib import blake2b

from .options import RetryOptions


def backoff_ms(options: RetryOptions, seq: int, attempt: int) -> int:
    """Compute the wait before retry number `attempt` of `seq`: exponential, with jitter between 50 % and 100 %."""
    ceiling = min(options.backoff_ms << min(attempt - 1, 40), options.backoff_ms_max)
    identity = b"%d.%d.%d" % (options.seed, seq, attempt)
    draw = int.from_bytes(blake2b(identity, digest_size=8).digest(), "little")
    half = ceiling // 2
    return ceiling - half + draw % (half + 1)


class RetryDecision(StrEnum):
    """What to do about a retryable failure."""

    RETRY = "retry"
    FINAL = "final"
    WAIT = "wait"
    """Decide when every lower seq of the window is final."""


class WindowRetries:
    """The retries of one window.

    In the worst case, every item that is not yet final uses all its retries. While even that stays within the limit of
    the window, a retry is granted at once. Otherwise a failed item waits until every lower seq of its window is final
    and then takes what is left. Both ways give the result of a single worker that processes the window in order. The
    worst case only shrinks as items become final, so a window never changes from granting at once to waiting.
    """

    def __init__(self, options: RetryOptions, entries_max: int) -> None:
        self._retries_max = options.retries_max
        self._used_max = options.window_retries_max
        self._entries_max = entries_max
        self.used = 0
        self._used_by_final = 0
        self._final_count = 0
        self.by_seq: dict[int, int] = {}
        """Number of retries by seq, for the items that had any."""

    def restore(self, by_seq: dict[int, int]) -> None:
        """Take over the retries of an interrupted run."""
        self.by_seq.update(by_seq)
        self.used = sum(self.by_seq.values())

    def is_exhausted(self, seq: int) -> bool:
        """Whether the item has used all its retries."""
        return self.by_seq.get(seq, 0) >= self._retries_max

    def grant(self, seq: int) -> int:
        """Count a retry of `seq` and return how many it has had."""
        self.used += 1
        number = self.by_seq.get(seq, 0) + 1
        self.by_seq[seq] = number
        return number

    def mark_final(self, seqs: Iterable[int], count: int) -> None:
        """Note that these `count` items need no more retries."""
        self._final_count += count
        if self.by_seq:
            self._used_by_final += sum(self.by_seq.get(seq, 0) for seq in seqs)

    def decide(self, seq: int, *, is_frontier: bool) -> RetryDecision:
        """Decide about the latest failure of `seq`. `is_frontier`: every lower seq of the window is final."""
        if self.is_exhausted(seq):
            return RetryDecision.FINAL
        if self._used_max is None:
            return RetryDecision.RETRY
        worst = self._used_by_final + self._retries_max * (self._entries_max - self._final_count)
        if worst <= self._used_max:
            return RetryDecision.RETRY
        if not is_frontier:
            return RetryDecision.WAIT
        return RetryDecision.RETRY if self.used < self._used_max else RetryDecision.FINAL
