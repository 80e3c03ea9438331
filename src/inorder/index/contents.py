"""Read texts from the index: a chunk, or a whole file."""

import sqlite3
from typing import Any

import msgspec

from inorder.errors import OperatorError, require

from .rows import CODE
from .symbols import FILE_NAMED, name_values

_COLUMNS = (
    'item_id, location(files.kind, item_id, path), files.kind, language, chunks.name, context, start, "end", text'
)


class IndexedText(msgspec.Struct, kw_only=True):
    """A text and where it is from."""

    item_id: str
    path: str
    """As seen from the current folder."""
    only: str
    """`code` or `document`."""
    language: str
    name: str
    context: str
    start: int
    end: int
    """Lines of source code, or characters of a document."""
    text: str


def read_chunk_text(connection: sqlite3.Connection, chunk_id: str) -> IndexedText:
    """The text of a chunk."""
    rows = _select(connection, "chunk_id = ? LIMIT 1", (chunk_id,))
    require(bool(rows), f"no such chunk: {chunk_id}")
    return rows[0]


def read_file_text(connection: sqlite3.Connection, path: str, line: int = 1) -> IndexedText:
    """The text of a file, as it was indexed: source code from the chunk with this line on, a document as a whole. The
    file is named by its path, its item id, or the end of its item id."""
    rows = _select(connection, f"{FILE_NAMED} ORDER BY item_id, number", name_values(path))
    if not rows:
        raise OperatorError(f"no file {path} in the index")
    items = list(dict.fromkeys(row.item_id for row in rows))
    require(len(items) == 1, f"{path} may be any of {len(items)} files, such as {', '.join(items[:3])}")
    kept = [row for row in rows if row.only != CODE or row.end >= line]
    require(bool(kept), f"{path} has {max(row.end for row in rows)} lines; got line {line}")
    separator = "\n" if kept[0].only == CODE else "\n\n"
    text = separator.join(row.text.removesuffix("\n") for row in kept)
    return msgspec.structs.replace(kept[0], name="", context="", end=kept[-1].end, text=text)


def _select(connection: sqlite3.Connection, condition: str, values: tuple[Any, ...]) -> list[IndexedText]:
    rows = connection.execute(f"SELECT {_COLUMNS} FROM chunks JOIN files ON files.id = file WHERE {condition}", values)
    return [IndexedText(**dict(zip(IndexedText.__struct_fields__, row, strict=True))) for row in rows]
