"""Texts in the index: those of documents are compressed.

A compressed text is a number and a frame of Zstandard. The number is that of the codec, or of a dictionary in the table
`dictionaries`, which is made of the first texts of documents that a database gets. Source code stays as it is: it is
written by one thread, which compressing would slow down.
"""

import sqlite3

from inorder.errors import IntegrityError

from .codec import (
    DICTIONARIES,
    RAW,
    SAMPLES,
    SMALL_BYTES,
    ZSTD,
    Dictionary,
    compress,
    decompress_frame,
    train,
)

_TEXT_BYTES_MAX = 2**28
StoredText = str | bytes


class TextPacker:
    """Compresses the texts of documents for one database, in the transactions of its writer."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        row = connection.execute("SELECT number, data FROM dictionaries").fetchone()
        self._dictionary = None if row is None else Dictionary(*row)
        self._samples: list[bytes] | None = [] if row is None else None
        """None: there is a dictionary, or the texts have too little in common for one."""

    def pack(self, connection: sqlite3.Connection, text: str) -> StoredText:
        """The text as it is stored."""
        content = text.encode("utf-8", "surrogatepass")
        is_small = len(content) <= SMALL_BYTES
        if is_small and self._samples is not None:
            self._take_sample(connection, content)
        codec, packed = compress(content, self._dictionary if is_small else None)
        return text if codec == RAW else bytes([codec]) + packed

    def _take_sample(self, connection: sqlite3.Connection, content: bytes) -> None:
        if self._samples is None:
            return
        self._samples.append(content)
        if len(self._samples) == SAMPLES:
            self._dictionary = train(DICTIONARIES, self._samples)
            self._samples = None
            if self._dictionary is not None:
                row = self._dictionary.number, self._dictionary.data
                connection.execute("INSERT INTO dictionaries VALUES (?, ?)", row)


class TextReader:
    """Decompresses the texts of one database."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._dictionaries: dict[int, Dictionary] = {}

    def read(self, stored: StoredText) -> str:
        """The text. Raises IntegrityError if it is damaged."""
        if isinstance(stored, str):
            return stored
        number, packed = stored[0], stored[1:]
        if number == ZSTD:
            content = decompress_frame(packed, _TEXT_BYTES_MAX)
        else:
            content = self._find_dictionary(number).decompress(packed, _TEXT_BYTES_MAX)
        return content.decode("utf-8", "surrogatepass")

    def _find_dictionary(self, number: int) -> Dictionary:
        found = self._dictionaries.get(number)
        if found is None:
            row = self._connection.execute("SELECT data FROM dictionaries WHERE number = ?", (number,)).fetchone()
            if row is None:
                raise IntegrityError(f"the index has no dictionary {number}; remove it and run `inorder index` again")
            found = self._dictionaries[number] = Dictionary(number, row[0])
        return found
