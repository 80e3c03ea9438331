"""Documents of DATA as the stages before `index` leave them: chunks and dense vectors, made without these stages."""

from pathlib import Path

from inorder.documents.chunk.chunks import Chunk
from inorder.documents.chunk.storage import write_chunks
from inorder.documents.embed.providers.registry import open_dense
from inorder.documents.embed.storage import write_dense
from inorder.documents.layout import CHUNKS, vectors_path
from inorder.index.rows import DOCUMENT, ChunkRow, FileRows

PROVIDER = "hash:64"


def add_document(data: Path, name: str, *texts: str, provider: str = PROVIDER) -> None:
    """A document with these chunks, and the vector of each."""
    chunks = [
        Chunk(
            chunk_id=f"{name}-{number}-{text}",
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
    path = data / CHUNKS / f"{name}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    write_chunks(path, "jsonl", chunks, "cfg")
    vectors = data / vectors_path("dense", name)
    vectors.parent.mkdir(parents=True, exist_ok=True)
    matrix = open_dense(provider).embed(list(texts))
    write_dense(vectors, [chunk.chunk_id for chunk in chunks], matrix, provider, provider, "cfg")


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
            ChunkRow(f"{name}-{number}-{text}", "section", "", name, 0, len(text), "", text)
            for number, text in enumerate(texts)
        ],
    )
