"""Documents with vectors in a library that is changed again and again, in this process and without steps."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

from inorder.index.hits import Hit
from inorder.index.schema import read_meta
from inorder.index.search import SearchOptions, search
from inorder.index.vector_files import MatrixFile
from inorder.index.vectors.table import list_matrix_files
from inorder.library.connection import LibraryConnection, connect_library
from inorder.library.opening import find_index
from tests.index.documents import PROVIDER, make_indexed
from tests.index.published import Vectors, read_published
from tests.library.libraries import write
from tests.library.making import make_removal

Texts = Sequence[str] | None
"""The chunks of a document; None: it is removed."""


class Corpus:
    """The documents in the library of DATA."""

    def __init__(self, data: Path) -> None:
        self.data = data
        data.mkdir(parents=True)
        self.texts: dict[str, Sequence[str]] = {}

    def change(self, changes: Mapping[str, Texts], provider: str = PROVIDER, spec: str = "") -> None:
        """Write or remove documents, and publish that."""
        results = []
        for name, texts in sorted(changes.items()):
            self.texts.pop(name, None)
            if texts is None:
                results.append(make_removal(name))
            else:
                self.texts[name] = texts
                results.append(make_indexed(name, *texts, provider=provider, spec=spec))
        write(self.data, *results)

    def build_fresh(self, data: Path) -> "Corpus":
        """The same documents in a library that was written at once."""
        fresh = Corpus(data)
        fresh.change(self.texts)
        return fresh

    def read(self) -> tuple[str, Vectors]:
        """The content hash and the vectors."""
        return read_published(self.data)

    @contextmanager
    def open(self) -> Iterator[LibraryConnection]:
        """Open the library for reading."""
        with closing(connect_library(str(self.data))) as connection:
            yield connection

    def list_files(self) -> list[MatrixFile]:
        """The files with vectors."""
        with self.open() as connection:
            return list_matrix_files(connection, str(self.data))

    def read_provider(self) -> str:
        """The provider whose vectors are searched."""
        with self.open() as connection:
            return read_meta(connection, "vectors_provider")

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
