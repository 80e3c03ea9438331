"""Read all results of one generation, for readers that take longer than a transaction: an export, or an iteration.

Nothing is locked between two reads, so that the write-ahead log stays short. What is published later is not seen. What
a later generation has replaced can be seen until it is removed, which `count` shows: it is lower then.
"""

from collections.abc import Iterator
from typing import NamedTuple

import msgspec

from inorder.errors import IntegrityError
from inorder.index.rows import FileRows
from inorder.index.schema import read_meta

from .codec import Content, unpack_content
from .contents import ChunkTexts, read_rows
from .reader import PAGE, LibraryReader
from .rows import CHUNK, DENSE, StoredVectors, unpack_dense
from .schema import STEPS_MAX, TEXT_BLOCKS_MAX

_EXPANSION = 2.5
"""The size of texts as a multiple of what they take in the library, about."""
_VISIBLE = "since <= :epoch AND until > :epoch"
_KEY = f"results.key = items.id * {STEPS_MAX} + (SELECT id FROM steps WHERE name = :step)"
_LIST = (
    "SELECT item_id, results.size, output, results.id FROM items CROSS JOIN results "
    f"ON {_KEY} AND {_VISIBLE} WHERE item_id > :after ORDER BY item_id LIMIT {PAGE}"
)
_READ = (
    "SELECT results.id, output, results.input, items.sha256, "
    "(SELECT hash FROM states JOIN settings ON settings.id = states.settings "
    "WHERE states.id = results.key AND states.output = results.output), "
    "(SELECT 1 FROM states WHERE states.id = results.key AND states.output = results.output), "
    "codec, results.size, checksum, data FROM items CROSS JOIN results "
    f"ON {_KEY} AND {_VISIBLE} WHERE item_id = :item_id"
)
_COUNT = f"SELECT COUNT(*) FROM items CROSS JOIN results ON {_KEY} AND {_VISIBLE}"
_INDEXED = (
    "FROM items CROSS JOIN searchable ON item = items.id AND searchable.since <= :epoch AND searchable.until > :epoch "
    f"LEFT JOIN results ON results.key = items.id * {STEPS_MAX} + (SELECT id FROM steps WHERE name = '{DENSE}') "
    "AND results.since <= :epoch AND results.until > :epoch"
)
_FILE = "item_id, searchable.kind, digest, COALESCE(hex(results.output), ''), chunks"


class ListedOutput(NamedTuple):
    """A result that is not read."""

    item_id: str
    size: int
    """About its size, with the texts of chunks."""
    output: str
    """The hash of what it is, as hexadecimal digits."""


class ResultContent(msgspec.Struct, frozen=True):
    """What a step made of a file."""

    item_id: str
    content: bytes
    output: bytes
    input: bytes | None
    """The hash of the chunks that vectors were made of."""
    settings: str
    """The hash of its settings; empty: a later result has other ones."""
    sha256: str
    """Of the file; empty: the file has changed since then."""
    texts: list[str]
    """Of the chunks, for the step `chunk`."""


class IndexedFile(NamedTuple):
    """A file that can be searched."""

    item_id: str
    kind: str
    digest: str
    """Identifies its rows in the index."""
    vectors: str
    """Identifies its dense vectors; empty: it has none."""
    chunks: int
    """How many chunks it has."""


class IndexedContent(NamedTuple):
    """What can be searched of a file."""

    file: IndexedFile
    rows: FileRows
    """Without the terms."""
    vectors: StoredVectors | None
    """The dense vectors of its chunks; None: it has none that were made of these chunks."""


class GenerationReader:
    """The results of the generation that is visible when it is opened, or of that with the number `epoch`, which was
    visible before. Thread-safe. Raises as `connect_library` does."""

    def __init__(self, data: str, epoch: int | None = None) -> None:
        self._library = LibraryReader(data)
        with self._library.snapshot() as connection:
            [present] = connection.execute("SELECT epoch FROM generation").fetchone()
            self.epoch: int = present if epoch is None else epoch
            self.provider = read_meta(connection, "vectors_provider")
            """The provider whose vectors are searched when the reader is opened; empty: there is none."""
            self.width = int(read_meta(connection, "vectors_width") or 0) if self.provider else 0
            """The length of these vectors."""
            self.content_hash = read_meta(connection, "content_hash")
            """Identifies what can be searched when the reader is opened."""

    def close(self) -> None:
        """Close the library. Idempotent."""
        self._library.close()

    def count(self, step: str) -> int:
        """Return how many files have a result of a step. It falls when a later generation has replaced some."""
        with self._library.snapshot() as connection:
            return int(connection.execute(_COUNT, {"step": step, "epoch": self.epoch}).fetchone()[0])

    def list_results(self, step: str, after: str = "") -> Iterator[ListedOutput]:
        """Yield the results of a step in the order of ids, those that follow `after`."""
        while True:
            with self._library.snapshot() as connection:
                rows = connection.execute(_LIST, {"step": step, "epoch": self.epoch, "after": after}).fetchall()
                sizes = [size + (self._measure_texts(owner) if step == CHUNK else 0) for _, size, _, owner in rows]
            for (item_id, _, output, _), size in zip(rows, sizes, strict=True):
                yield ListedOutput(item_id, size, output.hex())
            if len(rows) < PAGE:
                return
            after = rows[-1][0]

    def _measure_texts(self, owner: int) -> int:
        first = owner * TEXT_BLOCKS_MAX
        with self._library.snapshot() as connection:
            [size] = connection.execute(
                "SELECT COALESCE(SUM(length(data)), 0) FROM texts WHERE id BETWEEN ? AND ?",
                (first, first + TEXT_BLOCKS_MAX - 1),
            ).fetchone()
        return int(size * _EXPANSION)

    def read(self, step: str, item_id: str) -> ResultContent | None:
        """Return what a step made of a file; None: nothing, or it was removed. Raises IntegrityError if it is not what
        was stored."""
        with self._library.snapshot() as connection:
            values = {"step": step, "epoch": self.epoch, "item_id": item_id}
            row = connection.execute(_READ, values).fetchone()
            if row is None:
                return None
            owner, output, input_, sha256, settings, is_latest, *content = row
            try:
                texts = ChunkTexts(connection).read_all(owner) if step == CHUNK else []
                found = unpack_content(Content(*content))
            except IntegrityError as error:
                raise IntegrityError(self._library.describe_damage(item_id, step, error)) from error
            hexadecimal = sha256.hex() if sha256 and is_latest else ""
            return ResultContent(item_id, found, output, input_, settings or "", hexadecimal, texts)

    def read_output(self, step: str, item_id: str) -> bytes | None:
        """Return the hash of what a step made of a file; None: nothing."""
        query = f"SELECT output FROM items CROSS JOIN results ON {_KEY} AND {_VISIBLE} WHERE item_id = :item_id"
        with self._library.snapshot() as connection:
            row = connection.execute(query, {"step": step, "epoch": self.epoch, "item_id": item_id}).fetchone()
            return None if row is None else bytes(row[0])

    def has(self, step: str, item_id: str) -> bool:
        """Whether a file has a result of a step."""
        query = f"SELECT 1 FROM items CROSS JOIN results ON {_KEY} AND {_VISIBLE} WHERE item_id = :item_id"
        with self._library.snapshot() as connection:
            values = {"step": step, "epoch": self.epoch, "item_id": item_id}
            return connection.execute(query, values).fetchone() is not None

    def count_indexed(self) -> int:
        """Return how many files can be searched. It falls when a later generation has replaced some."""
        query = "SELECT COUNT(*) FROM searchable WHERE since <= :epoch AND until > :epoch"
        with self._library.snapshot() as connection:
            return int(connection.execute(query, {"epoch": self.epoch}).fetchone()[0])

    def list_indexed(self, after: str, count: int) -> list[IndexedFile]:
        """Return the first files that can be searched, in the order of ids, of those that follow `after`."""
        query = f"SELECT {_FILE} {_INDEXED} WHERE item_id > :after ORDER BY item_id LIMIT :count"
        values = {"epoch": self.epoch, "after": after, "count": count}
        with self._library.snapshot() as connection:
            return [IndexedFile(*row) for row in connection.execute(query, values)]

    def read_indexed(self, item_id: str) -> IndexedContent | None:
        """Return what can be searched of a file; None: nothing, or it was removed. Raises IntegrityError if it is not
        what was stored."""
        query = (
            f"SELECT {_FILE}, searchable.id, searchable.input, results.input, codec, results.size, checksum, data "
            f"{_INDEXED} WHERE item_id = :item_id"
        )
        with self._library.snapshot() as connection:
            row = connection.execute(query, {"epoch": self.epoch, "item_id": item_id}).fetchone()
            if row is None:
                return None
            file, (number, made_of, embedded, *content) = IndexedFile(*row[:5]), row[5:]
            rows = read_rows(connection, number)
            try:
                vectors = unpack_dense(Content(*content)) if embedded == made_of else None
            except IntegrityError as error:
                raise IntegrityError(self._library.describe_damage(item_id, DENSE, error)) from error
        is_whole = vectors is not None and vectors.count == len(rows.chunks)
        return IndexedContent(file, rows, vectors if is_whole else None)

    def list_copies(self, originals: list[str] | None = None) -> list[tuple[str, str]]:
        """Return the id of each copy of these files, or of all, and that of the file, in order."""
        return self._library.list_copies(originals)

    def find_original(self, item_id: str) -> str | None:
        """Return the file that a file is a copy of; None: it is none."""
        found = self._library.get_file(item_id)
        return None if found is None or not found.copy_of else found.copy_of
