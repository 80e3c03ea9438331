"""The bytes of one file: as readers see them, as they are durable, and the changes in between.

A change is *pending* until a sync, and *durable* after it. When the sync fails it is *uncertain*: the operating system
has marked it as written although it may not be, so no later sync writes it again. It never becomes durable, and may be
lost.

At a power loss every change that is not durable is kept or lost independently: a later one may be kept where an earlier
one is lost. A lost write leaves what was there before: nothing at the end of the file, zeros before a later write.
"""

from dataclasses import dataclass
from enum import Enum
from itertools import takewhile

import msgspec

from .choices import Draw


class Medium(msgspec.Struct, frozen=True, kw_only=True):
    """How a write that was not synced can be damaged by a power loss, besides being kept or lost.

    Raises `ValueError` if `sector_bytes` is below 1.

    >>> from inorder.testing import Disk, Medium
    >>> disk = Disk(medium=Medium(flips=False))
    """

    sector_bytes: int = 512
    """A torn write ends at a multiple of this many bytes of the file. With 1, anywhere."""
    tears: bool = True
    """Whether only the beginning of it may be kept."""
    zeroes: bool = True
    """Whether its bytes may be zeros."""
    flips: bool = True
    """Whether one bit may be wrong. Off for formats without checksums, which cannot detect it."""

    def __post_init__(self) -> None:
        if self.sector_bytes < 1:
            raise ValueError("sector_bytes must be at least 1")


class _SyncState(Enum):
    PENDING = "pending"
    UNCERTAIN = "uncertain"
    DURABLE = "durable"


@dataclass(slots=True)
class _ByteChange:
    """A write of `data` at `offset`, or without data a truncation at `offset`."""

    offset: int
    data: bytes | None
    sync_state: _SyncState = _SyncState.PENDING


class _End(Enum):
    """How a change can end."""

    KEPT = "kept"
    LOST = "lost"
    ZEROED = "zeroed"
    TORN = "torn"
    FLIPPED = "flipped"


class Contents:
    """The bytes of one file, independent of its name."""

    def __init__(self, data: bytes | bytearray = b"") -> None:
        self.visible = bytearray(data)
        """What a reader sees."""
        self._durable = bytearray(data)
        self._changes: list[_ByteChange] = []

    def append(self, data: bytes) -> None:
        """Append bytes. They are pending."""
        if data:
            self._changes.append(_ByteChange(len(self.visible), data))
            self.visible += data

    def truncate(self, size: int) -> None:
        """Remove the bytes from `size` on. The change is pending."""
        self._changes.append(_ByteChange(size, None))
        del self.visible[size:]

    def sync(self) -> None:
        """Make pending changes durable."""
        self._set_pending(_SyncState.DURABLE)
        # A change after an uncertain one waits for it, or the order of the two would be lost.
        synced = list(takewhile(lambda change: change.sync_state is _SyncState.DURABLE, self._changes))
        del self._changes[: len(synced)]
        for change in synced:
            _apply(self._durable, change)

    def mark_sync_failed(self) -> None:
        """Make pending changes uncertain."""
        self._set_pending(_SyncState.UNCERTAIN)

    def _set_pending(self, sync_state: _SyncState) -> None:
        for change in self._changes:
            if change.sync_state is _SyncState.PENDING:
                change.sync_state = sync_state

    def count_ends(self, medium: Medium) -> int:
        """Count the states that a power loss can leave."""
        count = 1
        for change in self._changes:
            count *= sum(ways for _, ways in _list_ends(change, medium))
        return count

    def after_power_loss(self, draw: Draw, medium: Medium) -> "Contents":
        """Return the file after a power loss."""
        image = bytearray(self._durable)
        for change in self._changes:
            if found := _draw_change(change, draw, medium):
                _apply(image, found)
        return Contents(image)


def _apply(image: bytearray, change: _ByteChange) -> None:
    if change.data is None:
        del image[change.offset :]
        return
    if len(image) < change.offset:
        image.extend(bytes(change.offset - len(image)))
    image[change.offset : change.offset + len(change.data)] = change.data


def _draw_change(change: _ByteChange, draw: Draw, medium: Medium) -> _ByteChange | None:
    """Draw the change after a power loss; None if it is lost."""
    ends = _list_ends(change, medium)
    end, ways = ends[draw(len(ends))] if len(ends) > 1 else ends[0]
    if end is _End.KEPT:
        return change
    if end is _End.LOST or change.data is None:
        return None
    way = draw(ways) if ways > 1 else 0
    return _ByteChange(change.offset, _damage(change.data, change.offset, end, way, medium))


def _list_ends(change: _ByteChange, medium: Medium) -> list[tuple[_End, int]]:
    """List how the change can end, and in how many ways each. Kept comes first and lost second: see `choices`."""
    ends = [(_End.KEPT, 1)]
    if change.sync_state is _SyncState.DURABLE:
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


def _damage(data: bytes, offset: int, end: _End, way: int, medium: Medium) -> bytes:
    if end is _End.ZEROED:
        return bytes(len(data))
    if end is _End.TORN:
        boundary = (offset // medium.sector_bytes + 1 + way) * medium.sector_bytes
        return data[: boundary - offset]
    place, bit = divmod(way, 8)
    return data[:place] + bytes([data[place] ^ (1 << bit)]) + data[place + 1 :]
