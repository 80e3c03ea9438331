"""The limits of requests to a server, and the pace that a limit on tokens demands."""

import re
import threading
from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

import msgspec

from inorder.errors import require

Charged = Literal["declared", "used"]


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
    tokens_charged: Charged = "declared"
    """What a server counts against a limit on tokens: what a request declares, with the longest answer that it allows,
    or what it has used in the end."""
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
    check_s: float = 30.0
    """Time for the harmless request that tells whether a server is down."""
    answer_bytes_max: int = 64 * 2**20
    """Size limit of a response: more than 32 vectors can have, so that a faulty server cannot exhaust memory."""

    def __post_init__(self) -> None:
        for name in ("in_flight", "burst", "texts_max", "attempts_max", "answer_bytes_max"):
            require(getattr(self, name) >= 1, f"option {name} must be at least 1, got {getattr(self, name)}")
        for name in ("backoff_s", "backoff_s_max", "deadline_s", "check_s"):
            require(getattr(self, name) > 0, f"option {name} must be above 0, got {getattr(self, name)}")
        require(self.tokens_charged in ("declared", "used"), "option tokens_charged must be declared or used")
        for name in ("rate_per_s", "tokens_per_minute"):
            value = getattr(self, name)
            require(value is None or value > 0, f"option {name} must be above 0, got {value}")


_BYTES_PER_TOKEN = 4


def estimate_tokens(texts: Sequence[str]) -> int:
    """Estimate what a server counts for these texts, without its tokenizer."""
    return sum(-(-len(text.encode("utf-8", "replace")) // _BYTES_PER_TOKEN) for text in texts)


_WINDOW_S = 61.0
"""A server counts the tokens of a minute. A request may take up to a second longer to it than the one before."""
_USED_SHARE = 0.95
"""The share of the limit that is aimed at where it is only known later what a request has used."""


class Reservation:
    """The tokens of a request that starts at some time."""

    __slots__ = ("starts_s", "tokens")

    def __init__(self, starts_s: float, tokens: float) -> None:
        self.starts_s = starts_s
        self.tokens = tokens


class TokenPacer:
    """Spreads requests so that their tokens stay below a limit per minute, in every minute. Thread-safe.

    A request may start when the time that the ones before it take at this rate is over, and when the tokens of the last
    minute leave room for its own; a pause is not saved up. A server charges a request what it declares (the texts and
    the longest answer that it allows), or what it has used in the end. In the second case it is expected to use what
    requests before it have used of what they declared, and what it has really used is settled.
    """

    def __init__(self, tokens_per_minute: int | None, charged: Charged = "declared") -> None:
        self._limit = tokens_per_minute
        self._charged = charged
        self._lock = threading.Lock()
        self._free_at_s = float("-inf")
        self._recent: deque[Reservation] = deque()
        self._declared = self._used = 0.0

    @property
    def limit(self) -> int | None:
        """Tokens per minute; None: no limit."""
        return self._limit

    def change(self, tokens_per_minute: int) -> None:
        """Set another limit."""
        with self._lock:
            self._limit = tokens_per_minute

    def is_free(self, now_s: float) -> bool:
        """Whether a request may start at once."""
        return now_s >= self._free_at_s

    def pause(self, until_s: float) -> None:
        """Let no request start before this time."""
        with self._lock:
            self._free_at_s = max(self._free_at_s, until_s)

    def reserve(self, tokens: int, now_s: float) -> Reservation:
        """Count a request that declares so many tokens. It may start at the time of its reservation."""
        with self._lock:
            starts_s = max(now_s, self._free_at_s)
            if self._limit is None:
                return Reservation(starts_s, tokens)
            expected = float(tokens)
            limit = float(self._limit)
            if self._charged == "used":
                limit *= _USED_SHARE
                expected *= self._used / self._declared if self._declared else 1.0
            starts_s = max(starts_s, self._find_room(min(expected, limit), limit, starts_s))
            reservation = Reservation(starts_s, expected)
            self._recent.append(reservation)
            self._free_at_s = starts_s + expected * 60 / limit
        return reservation

    def settle(self, reservation: Reservation, declared: int, used: int) -> None:
        """Note what a request has really used."""
        if self._charged == "declared" or self._limit is None:
            return
        with self._lock:
            self._declared += declared
            self._used += used
            self._free_at_s += (used - reservation.tokens) * 60 / (self._limit * _USED_SHARE)
            reservation.tokens = float(used)

    def _find_room(self, tokens: float, limit: float, starts_s: float) -> float:
        """Return when the tokens of the minute before leave room for these."""
        recent = self._recent
        while recent and recent[0].starts_s + _WINDOW_S <= starts_s:
            recent.popleft()
        left = limit - sum(each.tokens for each in recent)
        for each in recent:
            if left >= tokens:
                break
            left += each.tokens
            starts_s = max(starts_s, each.starts_s + _WINDOW_S)
        return starts_s


class RateLimits(NamedTuple):
    """What a server says of its limits in the headers `x-ratelimit-*`. None: it does not say."""

    tokens: int | None = None
    """Per minute."""
    tokens_left: int | None = None
    tokens_reset_s: float | None = None
    requests: int | None = None
    """Per minute."""
    requests_left: int | None = None
    requests_reset_s: float | None = None


_UNITS_S = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_DURATION = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d)")


def read_rate_limits(headers: Mapping[str, str] | Any) -> RateLimits:
    """Return what the headers of a response say."""
    found: dict[str, Any] = {}
    for name in ("tokens", "requests"):
        found[name] = _parse_count(headers.get(f"x-ratelimit-limit-{name}"))
        found[f"{name}_left"] = _parse_count(headers.get(f"x-ratelimit-remaining-{name}"))
        found[f"{name}_reset_s"] = parse_duration_s(headers.get(f"x-ratelimit-reset-{name}"))
    return RateLimits(**found)


def parse_duration_s(text: str | None) -> float | None:
    """Return a duration such as `6m0s`, `20ms` or `1.5` in seconds; None if it is none."""
    text = (text or "").strip()
    if re.fullmatch(r"\d{1,9}(\.\d{1,9})?", text):
        return float(text)
    if len(text) > 40 or not re.fullmatch(rf"({_DURATION.pattern})+", text):
        return None
    return sum(float(number) * _UNITS_S[unit] for number, unit in _DURATION.findall(text))


def _parse_count(text: str | None) -> int | None:
    text = (text or "").strip()
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 16 else None
