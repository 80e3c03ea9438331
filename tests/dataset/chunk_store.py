"""DATA with chunks alone, written as the stage writes them, without running it."""

import hashlib
import sqlite3
from pathlib import Path

from inorder.documents.chunk.chunks import Chunk, derive_chunk_id
from inorder.documents.chunk.storage import pack_chunks
from inorder.sinks.sqlite import _POSITION_TABLE
from inorder.stage.store.codec import compress
from inorder.stage.store.database import store_path
from inorder.stage.store.format import STORE_FORMAT
from inorder.stage.store.rows import SCHEMA


class StageStore:
    """The store of one stage."""

    def __init__(self, data: Path, stage: str, folder: str = "") -> None:
        self.data = data
        (data / "store").mkdir(parents=True, exist_ok=True)
        self._path = store_path(str(data), stage)
        with sqlite3.connect(self._path) as connection:
            connection.executescript(SCHEMA + _POSITION_TABLE)
            connection.execute(f"PRAGMA user_version={STORE_FORMAT}")
            connection.execute("INSERT OR IGNORE INTO origins VALUES (1, ?, 'cfg', '')", (folder or stage,))

    def put_content(self, item_id: str, content: bytes) -> None:
        self._put_rows([make_row(item_id, content)])

    def remove(self, *doc_ids: str) -> None:
        self._change("DELETE FROM items WHERE item_id = ?", [(doc_id,) for doc_id in doc_ids])

    def _put_rows(self, rows: list[tuple[object, ...]]) -> None:
        self._change("INSERT OR REPLACE INTO items VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", rows)

    def _change(self, statement: str, rows: list[tuple[object, ...]]) -> None:
        connection = sqlite3.connect(self._path)
        with connection:
            connection.executemany(statement, rows)
        connection.close()


def make_row(item_id: str, content: bytes) -> tuple[object, ...]:
    digest = hashlib.sha256(content).digest()
    return (item_id, 1, "", "", "{}", len(content), digest, *compress(content))


class ChunkStore(StageStore):
    """One chunk per document."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder / "data", "chunk")

    def put(self, **texts: str) -> None:
        rows = []
        for doc_id, text in texts.items():
            chunk = Chunk(
                chunk_id=derive_chunk_id(doc_id, 0, text),
                doc_id=doc_id,
                number=0,
                text=text,
                tokens=len(text.split()),
                start=0,
                end=len(text),
                section_path=[],
                pages=[],
                refs=["#/texts/0"],
            )
            rows.append(make_row(doc_id, pack_chunks(doc_id, [chunk])))
        self._put_rows(rows)


def make_store(folder: Path) -> ChunkStore:
    """Sixty small documents."""
    store = ChunkStore(folder)
    store.put(**{name_of(number): text_of(number) for number in range(60)})
    return store


def name_of(number: int) -> str:
    return f"docs_{number:03}"


def text_of(number: int) -> str:
    return f"The lamp {number} is lit at dusk. " * (5 + number % 7)
