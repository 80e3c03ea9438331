"""Documents with vectors whose index is changed again and again, in this process and without the other stages."""

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from inorder.index.connection import open_index
from inorder.index.drafts.publishing import published_path
from inorder.index.hits import Hit
from inorder.index.rows import encode_rows
from inorder.index.search import SearchOptions, search
from inorder.index.vectors.files import MatrixFile
from inorder.index.vectors.table import list_matrix_files
from inorder.library.opening import find_index
from inorder.sinks.base import Entry
from tests.index.documents import PROVIDER, add_document, make_rows
from tests.index.published import Vectors, read_whole_index
from tests.index.test_draft import built, success

Texts = Sequence[str] | None
"""The chunks of a document; None: it is removed."""


class Corpus:
    """The documents in the index of DATA."""

    def __init__(self, data: Path) -> None:
        self.data = data
        data.mkdir(parents=True)
        self.texts: dict[str, Sequence[str]] = {}

    def change(self, changes: Mapping[str, Texts], provider: str = PROVIDER, *, has_vectors: bool = True) -> None:
        """Write or remove documents, and update the index."""
        entries = [self._make_entry(seq, name, changes[name]) for seq, name in enumerate(sorted(changes))]
        for name, texts in changes.items():
            self.texts.pop(name, None)
            if texts is not None:
                self.texts[name] = texts
                if has_vectors:
                    add_document(self.data, name, *texts, provider=provider)
        built(self.data, entries)
        open_index.cache_clear()

    def _make_entry(self, seq: int, name: str, texts: Texts) -> Entry:
        entry = success(seq, name, None)
        if texts is not None:
            entry.payload.delivery = encode_rows(make_rows(name, *texts))
        return entry

    def build_fresh(self, data: Path) -> "Corpus":
        """The same documents in an index that was built at once."""
        fresh = Corpus(data)
        fresh.change(self.texts)
        return fresh

    def read(self) -> tuple[str, Vectors]:
        """The content hash and the vectors."""
        return read_whole_index(self.data)

    @contextmanager
    def open(self) -> Iterator[sqlite3.Connection]:
        """Open the published database."""
        connection = sqlite3.connect(published_path(str(self.data)), isolation_level=None)
        try:
            yield connection
        finally:
            connection.close()

    def list_files(self) -> list[MatrixFile]:
        """The files with vectors."""
        with self.open() as connection:
            return list_matrix_files(connection, str(self.data))

    def search(self, question: str, mode: str) -> list[tuple[str, int, float, dict[str, float], dict[str, int]]]:
        """Everything about the hits that must not depend on history."""
        hits: Sequence[Hit] = search(find_index(str(self.data)), question, SearchOptions(mode=mode, count=50)).hits
        return [(hit.item_id, hit.number, hit.score, hit.shares, hit.ranks) for hit in hits]


def make_corpus(data: Path, count: int = 20) -> Corpus:
    """Documents `00`, `01` and so on, with one chunk each, in one file."""
    corpus = Corpus(data)
    corpus.change({f"{number:02}": [f"tide {number}"] for number in range(count)})
    [_] = corpus.list_files()
    return corpus
