"""The ids of a plan, which may have tens of millions of items.

Most plans list their ids in order, or in the order of folders. So ids are kept in compressed blocks of names that
follow each other, about four bytes per id, and an id that lies in no block is new. Only if the blocks overlap, because
the plan has no order, is there a table with a 64-bit hash per id, 12 to 24 bytes. For ten million items, the chance
that two different ids have the same hash is about three in a million: the price of not keeping the ids.
"""

import zlib
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from hashlib import blake2b

BLOCK_IDS = 512
"""Ids that are compressed together."""
_GROUPS_MAX = 64
_SEPARATOR = "\0"


class IdSet:
    """A set of ids that needs little memory if they are added in order. The ids with the same first name in their path
    have an order of their own: some plans go through several in turn."""

    def __init__(self) -> None:
        self._groups: dict[str, _OrderedIds] = {}
        self._table: HashedIds | None = None
        """All ids, if they have no order."""
        self._count = 0

    def add(self, item_id: str) -> bool:
        """Add an id and return whether it was new."""
        if self._table is not None:
            return self._table.add(item_id)
        name = item_id.partition("/")[0]
        group = self._groups.get(name)
        if group is None:
            group = self._groups[name] = _OrderedIds()
        elif item_id in group:
            return False
        group.latest.add(item_id)
        self._count += 1
        if (len(group.latest) >= BLOCK_IDS and not group.seal()) or len(self._groups) > _GROUPS_MAX:
            self._give_up_order()
        return True

    def __contains__(self, item_id: str) -> bool:
        if self._table is not None:
            return item_id in self._table
        group = self._groups.get(item_id.partition("/")[0])
        return group is not None and item_id in group

    def _give_up_order(self) -> None:
        self._table = HashedIds()
        for group in self._groups.values():
            for item_id in group.list_all():
                self._table.add(item_id)
        self._groups.clear()

    def __len__(self) -> int:
        return self._count if self._table is None else len(self._table)

    @property
    def size_bytes(self) -> int:
        """Memory for the ids, without the latest ones."""
        if self._table is not None:
            return self._table.size_bytes
        return sum(group.size_bytes for group in self._groups.values())


class _OrderedIds:
    """Ids in blocks that do not overlap, and the latest ones."""

    def __init__(self) -> None:
        self.latest: set[str] = set()
        self.size_bytes = 0
        self._firsts: list[str] = []
        self._lasts: list[str] = []
        """The first and the last id of each block, in order."""
        self._blocks: list[bytes] = []
        self._opened: tuple[int, frozenset[str]] = (-1, frozenset())
        """The block that was looked into last."""

    def __contains__(self, item_id: str) -> bool:
        if item_id in self.latest:
            return True
        if not self._lasts or item_id > self._lasts[-1]:
            return False
        at = bisect_left(self._lasts, item_id)
        if item_id < self._firsts[at]:
            return False
        if self._opened[0] != at:
            self._opened = at, frozenset(_open_block(self._blocks[at]))
        return item_id in self._opened[1]

    def seal(self) -> bool:
        """Make a block of the latest ids. Returns whether that was possible: it does not overlap another one."""
        ids = sorted(self.latest)
        first, last = ids[0], ids[-1]
        at = bisect_right(self._firsts, first)
        if (at and self._lasts[at - 1] > first) or (at < len(self._firsts) and self._firsts[at] < last):
            return False
        text = _SEPARATOR.join(ids)
        if text.count(_SEPARATOR) >= len(ids):
            return False
        block = zlib.compress(text.encode("utf-8", "surrogatepass"), 1)
        for known, value in ((self._firsts, first), (self._lasts, last)):
            known.insert(at, value)
        self._blocks.insert(at, block)
        self._opened = (-1, frozenset())
        self.latest = set()
        self.size_bytes += len(block)
        return True

    def list_all(self) -> Iterator[str]:
        """All ids."""
        yield from self.latest
        for block in self._blocks:
            yield from _open_block(block)


def _open_block(block: bytes) -> list[str]:
    return zlib.decompress(block).decode("utf-8", "surrogatepass").split(_SEPARATOR)


class HashedIds:
    """A hash table with open addressing, at most 2/3 full, 8 bytes per slot."""

    _EMPTY_SLOT = 0

    def __init__(self) -> None:
        self._slots = array("Q", bytes(8 * 64))
        self._count = 0

    def add(self, item_id: str) -> bool:
        """Add an id and return whether it was new."""
        hash_ = _hash_id(item_id)
        slots = self._slots
        mask = len(slots) - 1
        position = hash_ & mask
        while (found := slots[position]) != self._EMPTY_SLOT:
            if found == hash_:
                return False
            position = (position + 1) & mask
        slots[position] = hash_
        self._count += 1
        if self._count * 3 > len(slots) * 2:
            self._grow()
        return True

    def __contains__(self, item_id: str) -> bool:
        hash_ = _hash_id(item_id)
        slots = self._slots
        mask = len(slots) - 1
        position = hash_ & mask
        while (found := slots[position]) not in (self._EMPTY_SLOT, hash_):
            position = (position + 1) & mask
        return found == hash_

    def _grow(self) -> None:
        old = self._slots
        slots = array("Q", bytes(8 * 2 * len(old)))
        mask = len(slots) - 1
        for hash_ in old:
            if hash_ == self._EMPTY_SLOT:
                continue
            position = hash_ & mask
            while slots[position] != self._EMPTY_SLOT:
                position = (position + 1) & mask
            slots[position] = hash_
        self._slots = slots

    def __len__(self) -> int:
        return self._count

    @property
    def size_bytes(self) -> int:
        """Memory used by the table."""
        return len(self._slots) * self._slots.itemsize


def _hash_id(item_id: str) -> int:
    """Hash an id to 64 bits; never 0, which marks an empty slot."""
    return int.from_bytes(blake2b(item_id.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little") or 1
