"""A token bucket: how often something may happen, and how much of a pause may be made up for.

Tokens trickle in at a fixed rate up to `burst`; each admission takes one. Time is a number that is handed in. A clock
that goes back brings no token and takes none away: the bucket goes on from the new time.
"""

_WHOLE = 1.0 - 1e-6
"""What counts as a whole token: rounding must not make somebody wait again who waited as long as told. The missing part
is owed, not given: the count goes below zero by as much, so errors do not add up."""


class TokenBucket:
    """Starts full. Not safe for threads; whoever shares one holds a lock."""

    def __init__(self, rate_per_s: float, burst: int) -> None:
        self._rate_per_s = rate_per_s
        self._burst = float(burst)
        self._tokens = float(burst)
        self._filled_s: float | None = None

    def try_take(self, now_s: float) -> bool:
        """Take one token if there is one."""
        self._fill(now_s)
        if self._tokens < _WHOLE:
            return False
        self._tokens -= 1.0
        return True

    def when_available(self, now_s: float) -> float:
        """Seconds until a token is there; 0 if one is."""
        self._fill(now_s)
        return 0.0 if self._tokens >= _WHOLE else (1.0 - self._tokens) / self._rate_per_s

    def refund(self) -> None:
        """Put back the token of something that did not happen after all. Never goes over the burst."""
        self._tokens = min(self._burst, self._tokens + 1.0)

    def _fill(self, now_s: float) -> None:
        if self._filled_s is not None and now_s > self._filled_s:
            self._tokens = min(self._burst, self._tokens + (now_s - self._filled_s) * self._rate_per_s)
        self._filled_s = now_s
