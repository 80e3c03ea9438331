"""Finds the rows of many items in a database, a block at a time.

A plan asks for items in an order that is mostly that of their ids. A query per item would take longer than everything
else that is done for an item that is up to date. So rows are read ahead: a lookup that follows the last block is the
beginning of the next one. A block grows as long as its rows are used, and a plan without order reads single rows. Some
plans go through several sequences of ids in turn; there is a block for each.

Rows in ranges of ids are counted with one query for many ranges.
"""

from collections.abc import Callable, Sequence
from typing import Any, Generic, NamedTuple, TypeVar

Key = Any
"""Text or bytes; the same for all lookups of an object."""
Row = TypeVar("Row")

BLOCK_ROWS_MAX = 500
_BLOCKS_MAX = 4
_GROWTH = 4
_RANGES = 300
"""Ranges of one query. Older versions of SQLite allow 999 values."""


class _Block:
    """The rows from `first` to `last`."""

    __slots__ = ("first", "is_last", "last", "rows", "size", "used")

    def __init__(self, first: Key, size: int, found: Sequence[Any]) -> None:
        kind = type(first)
        self.first = first
        self.size = size
        self.rows: dict[Key, Any] = {row[0]: row for row in found if type(row[0]) is kind}
        """SQLite sorts ids that are bytes after all that are text."""
        self.is_last = len(found) < size or len(self.rows) < len(found)
        """Whether no id of this kind follows."""
        self.last: Key = found[len(self.rows) - 1][0] if self.rows else first
        self.used = 0

    def has(self, item_id: Key) -> bool:
        """Whether it says what the database has of an item."""
        return self.first <= item_id and (self.is_last or item_id <= self.last)


class BlockLookup(Generic[Row]):
    """Finds rows by id, which is the first column. `fetch` returns a number of rows from an id on, in the order of
    the ids, and `make` turns one into what is returned.

    A row that changes after it was read is not seen. So an item must be looked up before it is changed.
    """

    def __init__(self, fetch: Callable[[Key, int], Sequence[Any]], make: Callable[[Any], Row]) -> None:
        self._fetch = fetch
        self._make = make
        self._blocks: list[_Block] = []
        """The latest one first."""

    def get(self, item_id: Key) -> Row | None:
        """Return the row with an id, which is valid Unicode if it is text; None: there is none."""
        blocks = self._blocks
        block = blocks[0] if blocks else None
        if block is None or not block.has(item_id):
            block = next((block for block in blocks if block.has(item_id)), None) or self._read_block(item_id)
        row = block.rows.get(item_id)
        if row is None:
            return None
        block.used += 1
        return self._make(row)

    def _read_block(self, item_id: Key) -> _Block:
        """Read the rows from an id on, in place of the block before it."""
        before = max(
            (block for block in self._blocks if block.last < item_id), key=lambda each: each.last, default=None
        )
        size = 1
        if before is not None:
            if before.used * 2 >= len(before.rows):
                size = min(before.size * _GROWTH, BLOCK_ROWS_MAX)
            self._blocks.remove(before)
        block = _Block(item_id, size, self._fetch(item_id, size))
        self._blocks = [block, *self._blocks[: _BLOCKS_MAX - 1]]
        return block


class IdRange(NamedTuple):
    """All ids from one on that come before another one."""

    first: str
    end: str


def count_in_ranges(fetch_all: Callable[..., list[Any]], table: str, ranges: Sequence[IdRange]) -> list[int]:
    """For each of these ranges, the number of rows of a table whose `item_id` is in it. `fetch_all` runs a query."""
    count = f"SELECT count(*) FROM {table} WHERE item_id >= ranges.first AND item_id < ranges.beyond"
    found: list[int] = []
    for start in range(0, len(ranges), _RANGES):
        block = ranges[start : start + _RANGES]
        rows = ", ".join(f"({number}, ?, ?)" for number in range(len(block)))
        query = f"WITH ranges(number, first, beyond) AS (VALUES {rows}) SELECT ({count}) FROM ranges ORDER BY number"
        found += [number for (number,) in fetch_all(query, *(each for pair in block for each in pair))]
    return found
