"""How long to wait before the next attempt, if the exception says so.

An exception can say it with an attribute `retry_after_s`, or with the header `Retry-After` of the response that it has.
"""

import time
from datetime import UTC
from typing import Any

RETRY_AFTER_S_MAX = 3600.0
"""A failure that asks for a longer wait is not retried, and its message says why. No wait is shortened."""


def find_retry_after_s(error: BaseException) -> float:
    """Return the wait that an exception asks for, in seconds; 0: none."""
    own = getattr(error, "retry_after_s", None)
    if isinstance(own, int | float) and not isinstance(own, bool):
        return max(0.0, float(own))
    for owner in (getattr(error, "response", None), error):
        headers = getattr(owner, "headers", None)
        if hasattr(headers, "get"):
            wait_s = parse_retry_after(headers)
            if wait_s is not None:
                return wait_s
    return 0.0


def parse_retry_after(headers: Any) -> float | None:
    """Return the header `Retry-After` in seconds. A date is compared with the server's own `Date` if it sent one."""
    value = str(headers.get("Retry-After") or "").strip()
    if value.isascii() and value.isdecimal():
        return float(value)
    until_s, now_s = _parse_date(value), _parse_date(str(headers.get("Date") or ""))
    if until_s is None:
        return None
    return max(0.0, until_s - (time.time() if now_s is None else now_s))


def _parse_date(date: str) -> float | None:
    import email.utils

    try:
        moment = email.utils.parsedate_to_datetime(date)
    except (ValueError, OverflowError):  # the latter for numbers that no date has
        return None
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
