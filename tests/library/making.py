"""Results of visits, made without steps: what the tests of the library write."""

from collections.abc import Sequence

import numpy as np

from inorder.core.transitions import State
from inorder.errors import Category, Failure
from inorder.index.rows import ChunkRow, FileRows, ImportRow, SymbolRow
from inorder.library.rows import (
    CHUNK,
    INDEX,
    FileIdentity,
    FileResult,
    StepFailure,
    StepResult,
    StoredVectors,
    hash_content,
    make_dense_result,
    make_step_result,
    pack_rows,
)
from inorder.sinks.base import Entry

DOCTAGS = "doctags"
WIDTH = 4


def make_vectors(texts: Sequence[str], spec: str = "hash:4") -> StoredVectors:
    """A vector for each text, which follows from it."""
    rows = [np.frombuffer(hash_content(f"{spec} {text}".encode()), np.uint8)[:WIDTH] + 1.0 for text in texts]
    matrix = np.array(rows, "<f4").reshape(-1, WIDTH)
    matrix /= np.linalg.norm(matrix, axis=1, keepdims=True)
    return StoredVectors("hash", spec, WIDTH, matrix.astype("<f4").tobytes())


def make_document(
    item_id: str,
    *texts: str,
    settings: str = "s1",
    spec: str = "",
    is_held: bool = False,
    steps: Sequence[str] = (DOCTAGS, CHUNK, INDEX),
) -> FileResult:
    """A document with a chunk for each text, and with vectors if there is a provider."""
    content = "\n".join(texts).encode()
    digest = hash_content(content)
    file = FileIdentity(item_id, "document", signature=digest, sha256=digest * 2, size=len(content))
    document = make_step_result(DOCTAGS, settings, digest, b"document of " + content, duration_ms=1.0)
    chunks = make_step_result(
        CHUNK, settings, document.output, b"chunks of " + settings.encode(), texts=texts, extras={"chunks": len(texts)}
    )
    rows = pack_rows(
        FileRows(
            item_id=item_id,
            kind="document",
            language="en",
            lines=0,
            note="",
            chunks=[
                ChunkRow(
                    f"{hash_content(f'{item_id} {number} {text}'.encode()).hex()}",
                    "section",
                    "",
                    item_id,
                    0,
                    1,
                    "1",
                    text,
                )
                for number, text in enumerate(texts)
            ],
        )
    )
    index = StepResult(INDEX, settings, chunks.output, bytes.fromhex(rows.digest))
    found = [each for each in (document, chunks, index) if each.step in steps]
    if spec:
        found.append(make_dense_result(settings, chunks.output, make_vectors(texts, spec), [1.0] * len(texts)))
    return FileResult(file, found, rows if INDEX in steps else None, is_held=is_held)


def make_code(item_id: str, text: str, *names: str) -> FileResult:
    """A source file with one chunk and a definition for each name."""
    digest = hash_content(text.encode())
    rows = pack_rows(
        FileRows(
            item_id=item_id,
            kind="code",
            language="python",
            lines=1,
            note="",
            chunks=[
                ChunkRow(
                    hash_content(f"{item_id} {text}".encode()).hex(), "function", names[0], item_id, 1, 1, "", text
                )
            ],
            symbols=[SymbolRow(name, name, "function", 1, 1, f"def {name}()") for name in names],
            imports=[ImportRow("os", "", 1)],
        )
    )
    file = FileIdentity(item_id, "code", signature=digest, sha256=digest * 2, size=len(text))
    return FileResult(file, [StepResult(INDEX, "c1", digest, bytes.fromhex(rows.digest))], rows)


def make_removal(item_id: str) -> FileResult:
    """A file that is gone."""
    return FileResult(FileIdentity(item_id), is_removed=True)


def make_failure(
    result: FileResult, step: str, removes: Sequence[str] = (), *, is_outside: bool = False, settings: str = "s1"
) -> FileResult:
    """The same visit, in which a step failed."""
    names = [each.step for each in result.steps]
    at = names.index(step) if step in names else len(names)
    failed = StepFailure(step, settings, b"input", "input", "cannot be read", "trace", 1, is_outside, list(removes))
    kept = result.steps[:at]
    has_rows = INDEX in [each.step for each in kept]
    return FileResult(result.file, kept, result.rows if has_rows else None, failed)


def success(seq: int, result: FileResult) -> Entry:
    """A successful item."""
    return Entry(seq, State.TERMINAL_SUCCESS, payload=result)


def failed(seq: int, result: FileResult | None = None) -> Entry:
    """A failed item, with what its worker handed over before."""
    failure = Failure(category=Category.INPUT, message="cannot be read")
    return Entry(seq, State.TERMINAL_FAIL, payload=result, failure=failure)
