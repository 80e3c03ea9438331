"""The bytes of one file, three times: as readers see them, as they are safe, and what was changed in between.

A change is *pending* until a sync, and *safe* after it. When the sync fails it is in *limbo*: the operating system has
marked it as written although it may not be, so that no later sync tries it again. It is safe never, and lost perhaps.

At a loss of power every change that is not safe goes its own way, without regard to the others: later ones may be
there where earlier ones are not. A write that is not there leaves what was there before it: nothing at the end, zeros
where something lies beyond.
"""

from dataclasses import dataclass
from enum import Enum
from itertools import takewhile

import msgspec

from .choices import Draw


class Medium(msgspec.Struct, frozen=True, kw_only=True):
    """What can become of a write that was under way when the power went, besides that it is there or is not."""

    sector_bytes: int = 512
    """A write may end at any multiple of this many bytes of the file. With 1, anywhere."""
    tears: bool = True
    """Only a part of it is there, from its beginning."""
    zeroes: bool = True
    """Its place is there and holds zeros."""
    flips: bool = True
    """One bit of it is wrong. Off, for formats that have no checksums and could not know."""

    def __post_init__(self) -> None:
        if self.sector_bytes < 1:
            raise ValueError("sector_bytes must be at least 1")


class _Standing(Enum):
    PENDING = "pending"
    LIMBO = "limbo"
    SAFE = "safe"


@dataclass(slots=True)
class _Change:
    """A write of `data` at `offset`, or a cut at `offset` where there is no data."""

    offset: int
    data: bytes | None
    standing: _Standing = _Standing.PENDING


class _End(Enum):
    """How a change can end."""

    KEPT = "kept"
    LOST = "lost"
    ZEROED = "zeroed"
    TORN = "torn"
    FLIPPED = "flipped"


class Contents:
    """One file, whatever its name."""

    def __init__(self, data: bytes | bytearray = b"") -> None:
        self.seen = bytearray(data)
        """What a reader sees."""
        self._safe = bytearray(data)
        self._changes: list[_Change] = []

    def append(self, data: bytes) -> None:
        """Put it at the end."""
        if data:
            self._changes.append(_Change(len(self.seen), data))
            self.seen += data

    def truncate(self, size: int) -> None:
        """Cut it there."""
        self._changes.append(_Change(size, None))
        del self.seen[size:]

    def sync(self) -> None:
        """Make safe what is pending."""
        self._settle(_Standing.SAFE)
        # What comes after a change in limbo waits behind it, or the order of the two would be lost.
        settled = list(takewhile(lambda change: change.standing is _Standing.SAFE, self._changes))
        del self._changes[: len(settled)]
        for change in settled:
            _apply(self._safe, change)

    def fail_to_sync(self) -> None:
        """Put what is pending into limbo."""
        self._settle(_Standing.LIMBO)

    def _settle(self, standing: _Standing) -> None:
        for change in self._changes:
            if change.standing is _Standing.PENDING:
                change.standing = standing

    def count_ends(self, medium: Medium) -> int:
        """In how many ways it can be found after a loss of power."""
        count = 1
        for change in self._changes:
            count *= sum(ways for _, ways in _ends(change, medium))
        return count

    def after_power_loss(self, draw: Draw, medium: Medium) -> "Contents":
        """What is found of it."""
        image = bytearray(self._safe)
        for change in self._changes:
            if found := _drawn(change, draw, medium):
                _apply(image, found)
        return Contents(image)

    def copy(self) -> "Contents":
        """The same, with everything that is pending or in limbo."""
        twin = Contents()
        twin.seen = bytearray(self.seen)
        twin._safe = bytearray(self._safe)
        twin._changes = [_Change(change.offset, change.data, change.standing) for change in self._changes]
        return twin


def _apply(image: bytearray, change: _Change) -> None:
    if change.data is None:
        del image[change.offset :]
        return
    if len(image) < change.offset:
        image.extend(bytes(change.offset - len(image)))
    image[change.offset : change.offset + len(change.data)] = change.data


def _drawn(change: _Change, draw: Draw, medium: Medium) -> _Change | None:
    """The change as it is found; None where it is lost."""
    ends = _ends(change, medium)
    end, ways = ends[draw(len(ends))] if len(ends) > 1 else ends[0]
    if end is _End.KEPT:
        return change
    if end is _End.LOST or change.data is None:
        return None
    way = draw(ways) if ways > 1 else 0
    return _Change(change.offset, _damaged(change.data, change.offset, end, way, medium))


def _ends(change: _Change, medium: Medium) -> list[tuple[_End, int]]:
    """How it can end, and in how many ways so. Kept comes first and lost second: see `choices`."""
    ends = [(_End.KEPT, 1)]
    if change.standing is _Standing.SAFE:
        return ends
    ends.append((_End.LOST, 1))
    if change.data is None:
        return ends
    first, last = change.offset, change.offset + len(change.data) - 1
    boundaries = last // medium.sector_bytes - first // medium.sector_bytes
    if medium.zeroes:
        ends.append((_End.ZEROED, 1))
    if medium.tears and boundaries:
        ends.append((_End.TORN, boundaries))
    if medium.flips:
        ends.append((_End.FLIPPED, len(change.data) * 8))
    return ends


def _damaged(data: bytes, offset: int, end: _End, way: int, medium: Medium) -> bytes:
    if end is _End.ZEROED:
        return bytes(len(data))
    if end is _End.TORN:
        boundary = (offset // medium.sector_bytes + 1 + way) * medium.sector_bytes
        return data[: boundary - offset]
    place, bit = divmod(way, 8)
    return data[:place] + bytes([data[place] ^ (1 << bit)]) + data[place + 1 :]
