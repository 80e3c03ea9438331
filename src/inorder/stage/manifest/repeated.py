"""Rows of a manifest that stand for others: those of items that were up to date already when they were written.

In a run in which few of many items have changed, the rows of all others would be those of the run before, again and
again. One line names them instead, by their places in the text of the manifest. A reader sees the rows themselves, with
the seqs of this run. Only rows of items that were up to date are named, and only where they are written: never a line
that names others. So every row is found in one step, however many runs there are.
"""

from collections.abc import Callable, Iterator

import msgspec

from inorder.errors import IntegrityError

from .rows import SCHEMA_VERSION, replace_seq

REPEATED_ID = "__repeated__"
REPEATED = "repeated"

ReadAt = Callable[[int, int], bytes]
"""Reads bytes of the text of a manifest, from an offset on."""


class RowRange(msgspec.Struct, frozen=True, array_like=True):
    """Rows that follow each other in a manifest."""

    offset: int
    """Where the first one begins."""
    size: int
    """The length of all, with their newlines."""
    count: int

    @property
    def end(self) -> int:
        """The offset of the line after them."""
        return self.offset + self.size


class RepeatedRows(msgspec.Struct, frozen=True, kw_only=True):
    """A line that stands for rows of earlier runs. It has the fields that every row has."""

    stage: str
    doc_id: str = REPEATED_ID
    status: str = REPEATED
    schema_version: int = SCHEMA_VERSION
    seq: int
    """Of the first row."""
    count: int
    """The number of rows."""
    pieces: list[RowRange]


_DECODER = msgspec.json.Decoder(RepeatedRows)
_MARK = b'"doc_id":"%b","status":"%b"' % (REPEATED_ID.encode(), REPEATED.encode())


def is_repeated(line: bytes) -> bool:
    """Whether a line may stand for others."""
    return line.startswith(b'{"stage":') and line.find(_MARK, 0, 512) >= 0


def decode_repeated(line: bytes) -> RepeatedRows | None:
    """Decode a line that stands for others; None: it is a row itself, or damaged."""
    if not is_repeated(line):
        return None
    try:
        found = _DECODER.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
    return found if found.doc_id == REPEATED_ID and found.count == sum(piece.count for piece in found.pieces) else None


def read_piece(piece: RowRange, read_at: ReadAt) -> list[bytes]:
    """The rows of a piece, without their newlines. Raises IntegrityError if it does not have them."""
    lines = read_at(piece.offset, piece.size).split(b"\n")
    if len(lines) != piece.count + 1 or lines.pop():
        raise IntegrityError(f"there are no {piece.count} rows at byte {piece.offset} of the manifest")
    return lines


def expand_rows(found: RepeatedRows, read_at: ReadAt) -> Iterator[tuple[int, bytes]]:
    """Yield the rows, with the seqs that they have here, each with the offset at which it is written."""
    seq = found.seq
    for piece in found.pieces:
        offset = piece.offset
        for line in read_piece(piece, read_at):
            yield offset, replace_seq(line, seq)
            offset += len(line) + 1
            seq += 1
