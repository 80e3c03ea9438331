"""The limits of a provider behind a server, and the pace that a limit on tokens demands."""

import threading
from collections.abc import Sequence

import msgspec

from inorder.errors import require


class ServerLimits(msgspec.Struct, frozen=True, kw_only=True):
    """Limits on the number, rate and size of the requests to a server."""

    in_flight: int = 4
    """Concurrent requests: enough to hide network latency, few enough for a small server."""
    rate_per_s: float | None = None
    """Requests per second on average, retries included; None for no limit but the server's own."""
    burst: int = 1
    """Requests that may start at once after a pause. Only used with a rate."""
    tokens_per_minute: int | None = None
    """Tokens sent per minute on average, retries included; None for no limit but the server's own. The tokens of a text
    are estimated: one per four bytes."""
    texts_max: int = 32
    """Texts per request. TEI refuses more than 32 by default."""
    attempts_max: int = 5
    """Attempts for the same texts before giving up."""
    backoff_s: float = 0.5
    """Wait before the second attempt. It doubles with each further one."""
    backoff_s_max: float = 30.0
    """The longest such wait. The server may ask for a longer one."""
    deadline_s: float = 120.0
    """Time for a request with all its retries and waits."""
    answer_bytes_max: int = 64 * 2**20
    """Size limit of a response: more than 32 vectors can have, so that a faulty server cannot exhaust memory."""

    def __post_init__(self) -> None:
        for name in ("in_flight", "burst", "texts_max", "attempts_max", "answer_bytes_max"):
            require(getattr(self, name) >= 1, f"option {name} must be at least 1, got {getattr(self, name)}")
        for name in ("backoff_s", "backoff_s_max", "deadline_s"):
            require(getattr(self, name) > 0, f"option {name} must be above 0, got {getattr(self, name)}")
        for name in ("rate_per_s", "tokens_per_minute"):
            value = getattr(self, name)
            require(value is None or value > 0, f"option {name} must be above 0, got {value}")


_BYTES_PER_TOKEN = 4


def estimate_tokens(texts: Sequence[str]) -> int:
    """Estimate what a server counts for these texts, without its tokenizer."""
    return sum(-(-len(text.encode("utf-8", "replace")) // _BYTES_PER_TOKEN) for text in texts)


class TokenPacer:
    """Spreads requests so that their tokens stay below a rate. A request may start when the time that the ones before
    it take at this rate is over; a pause is not saved up. Thread-safe."""

    def __init__(self, tokens_per_minute: int | None) -> None:
        self._seconds_per_token = 0.0 if tokens_per_minute is None else 60 / tokens_per_minute
        self._lock = threading.Lock()
        self._free_at_s = float("-inf")

    def is_free(self, now_s: float) -> bool:
        """Whether a request may start at once."""
        return now_s >= self._free_at_s

    def reserve(self, tokens: int, now_s: float) -> float:
        """Count a request, and return the seconds until it may start."""
        with self._lock:
            starts_s = max(now_s, self._free_at_s)
            self._free_at_s = starts_s + tokens * self._seconds_per_token
        return starts_s - now_s
