"""Sources that are listed to find changes, because they send no events."""

from typing import Protocol

from inorder.errors import InorderError
from inorder.host.clock import Clock

_COST_SHARE = 20
"""A listing that takes long is repeated after at least this many times its duration."""


class PollableSource(Protocol):
    """A source that can be listed."""

    address: str

    def find_absence(self) -> str:
        """Why the source cannot be read now, as far as it is known without listing it; empty: it can."""

    def identify_listing(self) -> str:
        """A hash of what the source has. Raises `InorderError` if it cannot be listed."""


class RemoteSource:
    """A source with an address, such as `s3://bucket/prefix`."""

    def __init__(self, address: str) -> None:
        self.address = address

    def find_absence(self) -> str:
        """Empty: only a listing can show it, and a run that cannot list its sources is repeated."""
        return ""

    def identify_listing(self) -> str:
        """A hash of the names and versions of all objects."""
        from inorder.sources.listing import identify_listing

        return identify_listing(self.address)


class Poll:
    """When a source was listed, what was found, and when it is listed next."""

    def __init__(self, source: PollableSource, interval_ms: int, clock: Clock) -> None:
        self.source = source
        self._interval_ms = interval_ms
        self._clock = clock
        self._listing: str | None = None
        self.due_ms = 0
        self.problem = ""
        """Why the last listing failed; empty: it did not."""

    @property
    def is_new(self) -> bool:
        """Whether the source was never listed."""
        return self._listing is None

    def look(self) -> bool:
        """List the source. Returns whether it differs from the listing before. A listing that fails shows nothing; the
        first one after it counts as a change, because one may have been missed."""
        began_ms = self._clock.now_ms()
        before = self._listing
        try:
            listing, self.problem = self.source.identify_listing(), ""
        except (InorderError, OSError) as error:
            listing, self.problem = "", str(error)
        self._listing = listing
        now_ms = self._clock.now_ms()
        self.due_ms = now_ms + max(self._interval_ms, _COST_SHARE * (now_ms - began_ms))
        return before is not None and bool(listing) and before != listing
