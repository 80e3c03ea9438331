"""Rows of a manifest that stand for others: those of items that are up to date.

In a run in which few of many items have changed, the rows of all others would be those of the run before, again and
again. One line names them instead, by their places in the text of the manifest. A reader sees the rows that the run
would have written: those that are named, with the seqs of this run, and as those of items that are up to date. Rows are
named only where they are written: never a line that names others. So every row is found in one step, however many runs
there are.
"""

from collections.abc import Callable, Iterator

import msgspec

from inorder.errors import IntegrityError

from .rows import SCHEMA_VERSION, repeat_row

REPEATED_ID = "__repeated__"
REPEATED = "repeated"

ReadAt = Callable[[int, int], bytes]
"""Reads bytes of the text of a manifest, from an offset on; fewer only at its end."""
_BLOCK_BYTES = 2**20


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
    keeps_results: bool = True
    """Whether rows of items that are up to date have what their workers returned, and the hash of the inputs."""


_DECODER = msgspec.json.Decoder(RepeatedRows)
_MARK = b'"doc_id":"%b","status":"%b"' % (REPEATED_ID.encode(), REPEATED.encode())


def is_repeated(line: bytes) -> bool:
    """Whether a line may stand for others."""
    return line.startswith(b'{"stage":') and line.find(_MARK, 0, 512) >= 0


def has_repeated(text: bytes) -> bool:
    """Whether some of these lines may stand for others."""
    return _MARK in text


def decode_repeated(line: bytes) -> RepeatedRows | None:
    """Decode a line that stands for others; None: it is a row itself, or damaged."""
    if not is_repeated(line):
        return None
    try:
        found = _DECODER.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
    return found if found.doc_id == REPEATED_ID and found.count == sum(piece.count for piece in found.pieces) else None


def read_piece(piece: RowRange, read_at: ReadAt) -> Iterator[list[bytes]]:
    """Yield the rows of a piece, without their newlines, in blocks. Raises IntegrityError if it does not have them."""
    count, rest = 0, b""
    for at in range(piece.offset, piece.end, _BLOCK_BYTES):
        lines = (rest + read_at(at, min(_BLOCK_BYTES, piece.end - at))).split(b"\n")
        rest = lines.pop()
        count += len(lines)
        if count > piece.count:
            break
        yield lines
    if count != piece.count or rest:
        raise IntegrityError(f"there are no {piece.count} rows at byte {piece.offset} of the manifest")


def expand_rows(found: RepeatedRows, read_at: ReadAt) -> Iterator[tuple[int, bytes]]:
    """Yield the rows that the run would have written, each with the offset of the row that it is made from."""
    seq = found.seq
    for piece in found.pieces:
        offset = piece.offset
        for lines in read_piece(piece, read_at):
            for line in lines:
                yield offset, repeat_row(line, seq, keeps_result=found.keeps_results)
                offset += len(line) + 1
                seq += 1
