"""DATA with chunks alone, written as a run writes them, without one."""

from pathlib import Path

from inorder.documents.chunk.chunks import Chunk, derive_chunk_id
from inorder.library.rows import CHUNK, FileIdentity, FileResult, hash_content, make_step_result
from inorder.library.values import pack_chunk_rows
from tests.library.libraries import write
from tests.library.making import make_removal


def make_chunks(doc_id: str, *texts: str) -> list[Chunk]:
    """The chunks of a document."""
    return [
        Chunk(
            chunk_id=derive_chunk_id(doc_id, number, text),
            doc_id=doc_id,
            number=number,
            text=text,
            tokens=len(text.split()),
            start=0,
            end=len(text),
            section_path=[],
            pages=[],
            refs=["#/texts/0"],
        )
        for number, text in enumerate(texts)
    ]


def make_chunk_result(doc_id: str, *texts: str) -> FileResult:
    """A document of which there are only its chunks."""
    content, stored = pack_chunk_rows(make_chunks(doc_id, *texts))
    digest = hash_content("\n".join(texts).encode())
    file = FileIdentity(doc_id, "document", signature=digest, sha256=digest * 2)
    return FileResult(file, [make_step_result(CHUNK, "cfg", digest, content, texts=stored)])


class ChunkStore:
    """One chunk per document."""

    def __init__(self, folder: Path) -> None:
        self.data = folder / "data"
        self.data.mkdir(parents=True)

    def put(self, **texts: str) -> None:
        """Add or replace documents."""
        write(self.data, *(make_chunk_result(doc_id, text) for doc_id, text in texts.items()))

    def remove(self, *doc_ids: str) -> None:
        """Remove documents."""
        write(self.data, *map(make_removal, doc_ids))


def make_store(folder: Path) -> ChunkStore:
    """Sixty small documents."""
    store = ChunkStore(folder)
    store.put(**{name_of(number): text_of(number) for number in range(60)})
    return store


def name_of(number: int) -> str:
    return f"docs_{number:03}"


def text_of(number: int) -> str:
    return f"The lamp {number} is lit at dusk. " * (5 + number % 7)
