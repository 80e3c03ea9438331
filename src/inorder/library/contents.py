"""Read what a searchable file owns: its rows, and the texts of its chunks. Compare what is stored with its hashes."""

import os
import sqlite3
import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from inorder.errors import IntegrityError
from inorder.index.calls import pack_calls, read_callees, read_calls
from inorder.index.lexical.schema import DamagedIndexError
from inorder.index.rows import ChunkRow, FileRows, ImportRow, SymbolRow, hash_rows
from inorder.stage.sources import quote_id

from .codec import Content, unpack_content, unpack_texts
from .rows import CHUNK, hash_step
from .schema import TEXT_BLOCKS_MAX

_BLOCKS_MAX = 16
_last_error = threading.local()
"""Why a text could not be read: SQLite hides what a function raises. Fetched where the error of SQLite is caught."""


def take_text_error() -> IntegrityError | None:
    """Return why a query in this thread could not read a text, once; None: it did not fail for that."""
    error: IntegrityError | None = getattr(_last_error, "error", None)
    _last_error.error = None
    return error


def encode_path(path: str) -> str | bytes | None:
    """Return a path as it is stored: as text, or as bytes if it is not valid Unicode."""
    if not path:
        return None
    try:
        path.encode()
    except UnicodeEncodeError:
        return os.fsencode(path)
    return path


def decode_path(stored: Any) -> str:
    """Return a path from what is stored."""
    return os.fsdecode(stored) if isinstance(stored, bytes) else stored or ""


def has_index(connection: sqlite3.Connection) -> bool:
    """Whether there is an index: there is none if runs have left out the step `index`."""
    query = "SELECT EXISTS (SELECT 1 FROM searchable) OR NOT EXISTS (SELECT 1 FROM results)"
    return bool(connection.execute(query).fetchone()[0])


def read_roots(connection: sqlite3.Connection) -> dict[str, str]:
    """Return where each source lies, by its name as the ids of its files have it."""
    return {
        quote_id(decode_path(name)): decode_path(path)
        for name, path in connection.execute("SELECT name, path FROM sources")
    }


class ChunkTexts:
    """Texts of chunks. The latest blocks stay in memory: hits in one document are often near to each other."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._blocks: OrderedDict[int, list[str]] = OrderedDict()

    def read(self, owner: int, number: int) -> str:
        """Return the text of a chunk. Raises IntegrityError if it is missing or damaged."""
        wanted = owner * TEXT_BLOCKS_MAX + number
        row = self._connection.execute("SELECT MAX(id) FROM texts WHERE id <= ?", (wanted,)).fetchone()
        id_ = row[0] if row and row[0] is not None else -1
        texts = self._read_block(id_) if id_ // TEXT_BLOCKS_MAX == owner else []
        if wanted - id_ >= len(texts):
            raise IntegrityError(f"the text of chunk {number} of result {owner} is missing; run `inorder verify`")
        return texts[wanted - id_]

    def read_all(self, owner: int) -> list[str]:
        """Return all texts of an owner."""
        first = owner * TEXT_BLOCKS_MAX
        rows = self._connection.execute(
            "SELECT data, checksum FROM texts WHERE id BETWEEN ? AND ? ORDER BY id",
            (first, first + TEXT_BLOCKS_MAX - 1),
        ).fetchall()
        return [text for data, checksum in rows for text in unpack_texts(data, checksum)]

    def _read_block(self, id_: int) -> list[str]:
        found = self._blocks.get(id_)
        if found is None:
            query = "SELECT data, checksum FROM texts WHERE id = ?"
            found = self._blocks[id_] = unpack_texts(*self._connection.execute(query, (id_,)).fetchone())
            while len(self._blocks) > _BLOCKS_MAX:
                self._blocks.popitem(last=False)
        else:
            self._blocks.move_to_end(id_)
        return found

    def forget(self) -> None:
        """Forget all blocks: their ids may have been used again."""
        self._blocks.clear()


def register_texts(connection: sqlite3.Connection) -> Callable[[], None]:
    """Let queries call `chunk_text(file, number)`, as the view `chunks` does. Returns a function that makes it forget
    what it has read, to be called when the library has changed."""
    texts = ChunkTexts(connection)
    owners: dict[int, int] = {}

    def read(file: int, number: int) -> str:
        try:
            return find(file, number)
        except IntegrityError as error:
            _last_error.error = error
            raise

    def find(file: int, number: int) -> str:
        owner = owners.get(file)
        if owner is None:
            row = connection.execute("SELECT texts FROM searchable WHERE id = ?", (file,)).fetchone()
            owner = owners[file] = -1 if row is None else row[0]
        return texts.read(owner, number)

    def forget() -> None:
        texts.forget()
        owners.clear()

    connection.create_function("chunk_text", 2, read)
    return forget


def read_rows(connection: sqlite3.Connection, file: int) -> FileRows:
    """Return everything that a searchable file owns, without the terms. `file` is its number."""
    item_id, texts, kind, language, lines, note = connection.execute(
        "SELECT item_id, texts, searchable.kind, language, lines, note FROM searchable "
        "JOIN items ON items.id = item WHERE searchable.id = ?",
        (file,),
    ).fetchone()
    chunks = connection.execute(
        'SELECT chunk_id, kind, name, context, start, "end", pages FROM chunk_rows WHERE file = ? ORDER BY number',
        (file,),
    ).fetchall()
    symbols = connection.execute(
        'SELECT name, qualified, kind, start, "end", signature FROM symbols WHERE file = ? ORDER BY number', (file,)
    )
    imports = connection.execute("SELECT module, names, line FROM imports WHERE file = ? ORDER BY number", (file,))
    found = ChunkTexts(connection).read_all(texts)
    if len(found) != len(chunks):
        raise IntegrityError(f"{item_id}: there are {len(found)} texts for {len(chunks)} chunks")
    return FileRows(
        item_id=item_id,
        kind=kind,
        language=language,
        lines=lines,
        note=note,
        chunks=[ChunkRow(*[*row, text]) for row, text in zip(chunks, found, strict=True)],
        symbols=[SymbolRow(*row) for row in symbols],
        imports=[ImportRow(*row) for row in imports],
        calls=read_calls(connection, file),
    )


def find_result_damage(connection: sqlite3.Connection, id_: int, step: str, output: bytes) -> str:
    """Return how a result differs from what was written; empty: it does not."""
    query = "SELECT codec, size, checksum, data FROM results WHERE id = ?"
    try:
        texts = ChunkTexts(connection).read_all(id_) if step == CHUNK else []
        content = unpack_content(Content(*connection.execute(query, (id_,)).fetchone()))
    except IntegrityError as error:
        return str(error)
    return "" if hash_step(content, texts) == output else "its hash is not that of its content"


def find_rows_damage(connection: sqlite3.Connection, id_: int, digest: str) -> str:
    """Return how the rows of a file in the index differ from what was written; empty: they do not."""
    try:
        found = read_rows(connection, id_)
        if hash_rows(found) != digest:
            return "its rows do not match its digest"
        if sorted(read_callees(connection, id_)) != sorted(pack_calls(found.calls).callees):
            return "the names that it calls do not match its calls"
    except (IntegrityError, DamagedIndexError) as error:
        return str(error)
    return ""
