"""The worker of stage `index`: from one file to the rows that it owns."""

import hashlib
import re
import uuid
from typing import Any

from inorder.code.calls import NO_CALLS
from inorder.code.model import FileCalls
from inorder.documents.chunk.storage import read_chunks
from inorder.engines.attempt import get_attempt
from inorder.host.memory import pause_collector
from inorder.runtime.identity import hash_strings
from inorder.sources.remote_input import RemoteInput
from inorder.stage.context import StageContext
from inorder.stage.contracts import Skip, StageError, WorkItem
from inorder.stage.freshness import get_sha256
from inorder.stage.store.reading import read_content

from .lexical.languages import detect_language
from .parse_marks import is_marked, mark_parsing
from .rows import CODE, DOCUMENT, LANGUAGE_CHUNKS, ChunkRow, FileRows, ImportRow, SymbolRow, encode_rows

_NAMESPACE = uuid.UUID("0f4c8d0e-3c57-5a4e-8a1f-5e9b6f0d2c11").bytes
_VARIANTS = {f"{digit:x}": f"{digit & 3 | 8:x}" for digit in range(16)}
"""The digit of a UUID that has two bits of the hash, by the digit of the hash."""
_WORD = re.compile(r"[^\W_]+")
REMOVE = "remove"
"""The task of an item whose file no longer exists. The other tasks are the kinds of files."""


def work(item: WorkItem, context: StageContext) -> Any:
    """Index one file, or remove one that no longer exists."""
    task = item.meta["task"]
    if task == REMOVE:
        return {"removed": True}
    known = predict_outcome(item)
    if isinstance(known, StageError):
        raise known
    if known is not None:
        return known
    if isinstance(item.inputs.get("source"), RemoteInput) and (reason := _find_reason_to_skip(item)):
        return {"removed": True, "note": reason}
    with pause_collector():
        rows, calls = (_make_document_rows(item), NO_CALLS) if task == DOCUMENT else _make_code_rows(item, context)
        context.deliver(encode_rows(rows, calls))
    context.measure(lines=rows.lines, chunks=len(rows.chunks))
    return {
        "kind": rows.kind,
        "language": rows.language,
        "lines": rows.lines,
        "chunks": len(rows.chunks),
        "symbols": len(rows.symbols),
        "calls": calls.count,
    }


def predict_outcome(item: WorkItem) -> Skip | StageError | None:
    """The outcome of a file that cannot be read, or is not indexed; None: it must be read."""
    if item.meta.get("problem"):
        return StageError(item.meta["problem"], category="input")
    return Skip(item.meta["skip"]) if item.meta.get("skip") else None


def _find_reason_to_skip(item: WorkItem) -> str:
    """Why an object is not indexed, by its first bytes; empty if it is."""
    from inorder.code.discovery import HEAD_BYTES
    from inorder.code.generated import reason_to_skip

    source = item.inputs["source"]
    return reason_to_skip(item.meta["path"], source.read_head(HEAD_BYTES)) if isinstance(source, RemoteInput) else ""


def _make_document_rows(item: WorkItem) -> FileRows:
    try:
        chunks = read_chunks(item.inputs["chunks"])
    except StageError:
        raise
    except Exception as error:
        raise StageError(f"cannot read the chunks: {type(error).__name__}: {error}", category="input") from None
    return FileRows(
        item_id=item.item_id,
        kind=DOCUMENT,
        path=item.item_id,
        language=detect_language("\n".join(chunk.text for chunk in chunks[:LANGUAGE_CHUNKS])),
        lines=0,
        note="",
        sha256=hash_strings(*(get_sha256(each, None) for each in item.inputs.values())),
        cfg_hash=item.cfg_hash,
        chunks=[
            ChunkRow(
                chunk_id=chunk.chunk_id,
                kind="section",
                name="",
                context=" > ".join([*chunk.section_path, _split_path(item.item_id)]),
                start=chunk.start,
                end=chunk.end,
                pages=" ".join(str(page) for page in chunk.pages),
                text=chunk.text,
            )
            for chunk in chunks
        ],
    )


def _make_code_rows(item: WorkItem, context: StageContext) -> tuple[FileRows, FileCalls]:
    path = item.meta["path"]
    source = item.inputs["source"]
    data = read_content(source)
    parsed = _parse(path, data, f"{context.data}/.staging/{context.stage}/parsing-{hash_strings(item.item_id)}")
    if parsed.note:
        context.warn(parsed.note)
    path_words = _split_path(item.item_id)
    rows = FileRows(
        item_id=item.item_id,
        kind=CODE,
        path=path,
        language=parsed.language or "",
        lines=parsed.line_count,
        note=parsed.note,
        sha256=hash_strings(source.sha256 if isinstance(source, RemoteInput) else _sha256(data)),
        cfg_hash=item.cfg_hash,
        chunks=[
            ChunkRow(
                chunk_id=derive_chunk_id(item.item_id, chunk.start_line, chunk.text),
                kind=chunk.kind,
                name=chunk.qualified_name or chunk.name,
                context=path_words,
                start=chunk.start_line,
                end=chunk.end_line,
                pages="",
                text=chunk.text,
            )
            for chunk in parsed.chunks
        ],
        symbols=[
            SymbolRow(each.name, each.qualified_name, each.kind, each.start_line, each.end_line, each.signature)
            for each in parsed.symbols
        ],
        imports=[ImportRow(each.module, ", ".join(each.names), each.line) for each in parsed.imports],
    )
    return rows, parsed.calls


def _parse(path: str, data: bytes, marker: str) -> Any:
    """Parse a file with the grammar of its language. `marker` is set while that happens. If it is still set, an earlier
    attempt crashed or timed out in the grammar: then the file is split by lines instead."""
    from inorder.code.parse import parse, parse_lines

    if get_attempt() != 1 and is_marked(marker):
        return parse_lines(path, data, "its grammar crashed or took too long: cut by lines")
    with mark_parsing(marker):
        return parse(path, data)


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def derive_chunk_id(item_id: str, line: int, text: str) -> str:
    """A UUID of version 5. The class UUID takes twice as long as the hash."""
    name = f"{item_id}\0{line}\0{text}".encode()
    digits = hashlib.sha1(_NAMESPACE + name, usedforsecurity=False).hexdigest()
    variant = _VARIANTS[digits[16]]
    return f"{digits[:8]}-{digits[8:12]}-5{digits[13:16]}-{variant}{digits[17:20]}-{digits[20:32]}"


def _split_path(path: str) -> str:
    """The words of a path, so that a search for its name finds the file."""
    return " ".join(_WORD.findall(path))
