"""What requests to remote sources may take."""

from typing import Annotated

import msgspec

WINDOW_S = 30.0
"""The time in which a response begins, and in which each part of it arrives with the least rate."""


class FetchLimits(msgspec.Struct, frozen=True, kw_only=True):
    """Limits of the requests of one worker process."""

    concurrency: Annotated[int, msgspec.Meta(ge=1, le=1000)] = 16
    """Requests in flight."""
    rate_per_s: Annotated[float, msgspec.Meta(gt=0)] | None = None
    """Requests per second on average, including retries; None: no limit."""
    attempts_max: Annotated[int, msgspec.Meta(ge=1, le=100)] = 8
    """Attempts per request."""
    bytes_per_s_min: Annotated[int, msgspec.Meta(ge=0)] = 1000
    """The least rate of a response, over `WINDOW_S`; 0: a response may be as slow as it likes."""
    reaches_private: bool = False
    """Whether a public address may lead to a loopback or private one."""
