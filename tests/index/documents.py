"""Documents of a library with chunks, rows of the index and dense vectors, made without steps."""

from collections.abc import Sequence

from inorder.documents.embed.providers.registry import open_dense
from inorder.index.rows import DOCUMENT, ChunkRow, FileRows
from inorder.library.rows import (
    CHUNK,
    INDEX,
    FileIdentity,
    FileResult,
    StepResult,
    StoredVectors,
    hash_content,
    make_dense_result,
    make_step_result,
    pack_rows,
)
from inorder.library.values import pack_chunk_rows
from tests.dataset.chunk_store import make_chunks

PROVIDER = "hash:64"


def make_rows(name: str, texts: Sequence[str]) -> FileRows:
    """What a document with these chunks owns in the index."""
    return FileRows(
        item_id=name,
        kind=DOCUMENT,
        language="",
        lines=0,
        note="",
        chunks=[
            ChunkRow(chunk.chunk_id, "section", "", name, 0, len(chunk.text), "", chunk.text)
            for chunk in make_chunks(name, *texts)
        ],
    )


def make_indexed(name: str, *texts: str, provider: str = PROVIDER, spec: str = "") -> FileResult:
    """A document with these chunks, and the vector of each if there is a provider. `spec` is the name that the
    vectors have, if it is another one."""
    content, stored = pack_chunk_rows(make_chunks(name, *texts))
    digest = hash_content("\n".join(texts).encode())
    chunks = make_step_result(CHUNK, "cfg", digest, content, texts=stored)
    rows = pack_rows(make_rows(name, texts))
    steps = [chunks, StepResult(INDEX, "cfg", chunks.output, bytes.fromhex(rows.digest))]
    if provider:
        matrix = open_dense(provider).embed(list(texts))
        vectors = StoredVectors(provider, spec or provider, matrix.shape[1], matrix.astype("<f4").tobytes())
        steps.append(make_dense_result("cfg", chunks.output, vectors, [1.0] * len(texts)))
    return FileResult(FileIdentity(name, "document", signature=digest, sha256=digest * 2), steps, rows)
