"""Documents of DATA as the stages before `index` leave them: chunks and dense vectors, made without these stages."""

from pathlib import Path

from inorder.documents.chunk.chunks import Chunk, derive_chunk_id
from inorder.documents.chunk.storage import pack_chunks
from inorder.documents.embed.providers.registry import open_dense
from inorder.documents.embed.stored import pack_dense
from inorder.index.rows import DOCUMENT, ChunkRow, FileRows
from tests.dataset.chunk_store import StageStore

PROVIDER = "hash:64"


def add_document(data: Path, name: str, *texts: str, provider: str = PROVIDER) -> None:
    """A document with these chunks, and the vector of each."""
    chunks = [
        Chunk(
            chunk_id=derive_chunk_id(name, number, text),
            doc_id=name,
            number=number,
            text=text,
            tokens=len(text.split()),
            start=0,
            end=len(text),
            section_path=[],
            pages=[],
            refs=[],
        )
        for number, text in enumerate(texts)
    ]
    StageStore(data, "chunk").put_content(name, pack_chunks(name, chunks))
    matrix = open_dense(provider).embed(list(texts))
    content = pack_dense([chunk.chunk_id for chunk in chunks], matrix, provider, provider)
    StageStore(data, "embed").put_content(f"dense/{name}", content)


def remove_chunks(data: Path, name: str) -> None:
    """Remove the chunks of a document, as the stage does when the document is gone."""
    StageStore(data, "chunk").remove(name)


def make_rows(name: str, *texts: str) -> FileRows:
    """What the same document owns in the index."""
    return FileRows(
        item_id=name,
        kind=DOCUMENT,
        path=name,
        language="",
        lines=0,
        note="",
        sha256="\n".join(texts),
        cfg_hash="cfg",
        chunks=[
            ChunkRow(derive_chunk_id(name, number, text), "section", "", name, 0, len(text), "", text)
            for number, text in enumerate(texts)
        ],
    )
