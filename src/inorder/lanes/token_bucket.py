"""A token bucket: limits how often something happens, and how many may happen at once after a pause.

Tokens are added at a fixed rate up to `burst`; each admission takes one. Time is an argument. A clock that goes back
adds no token and removes none: the bucket continues from the new time.
"""

_ONE_TOKEN = 1.0 - 1e-6
"""What counts as one token: a caller that waited for the announced time must not wait again because of rounding. A
whole token is still subtracted, so rounding errors do not add up."""


class TokenBucket:
    """Starts full. Not safe for threads."""

    def __init__(self, rate_per_s: float, burst: int) -> None:
        self._rate_per_s = rate_per_s
        self._burst = float(burst)
        self._tokens = float(burst)
        self._refilled_at_s: float | None = None

    def try_take(self, now_s: float) -> bool:
        """Take one token. False if none is available."""
        self._refill(now_s)
        if self._tokens < _ONE_TOKEN:
            return False
        self._tokens -= 1.0
        return True

    def seconds_until_token(self, now_s: float) -> float:
        """Return the seconds until a token is available; 0 if one is available now."""
        self._refill(now_s)
        return 0.0 if self._tokens >= _ONE_TOKEN else (1.0 - self._tokens) / self._rate_per_s

    def refund(self) -> None:
        """Put back the token of an admission that was withdrawn. Never exceeds the burst."""
        self._tokens = min(self._burst, self._tokens + 1.0)

    def change(self, rate_per_s: float, burst: int, now_s: float) -> None:
        """Change the rate from now on. Tokens above the new burst are lost."""
        self._refill(now_s)
        self._rate_per_s, self._burst = rate_per_s, float(burst)
        self._tokens = min(self._tokens, self._burst)

    def _refill(self, now_s: float) -> None:
        if self._refilled_at_s is not None and now_s > self._refilled_at_s:
            self._tokens = min(self._burst, self._tokens + (now_s - self._refilled_at_s) * self._rate_per_s)
        self._refilled_at_s = now_s
