"""What a worker of `index` does with one item: from a file to the rows it owns."""

import hashlib
import os
import re
import uuid
from pathlib import Path
from typing import Any

from inorder.documents.chunk.storage import read_chunks
from inorder.runtime.identity import digest_of
from inorder.stage.contracts import Skip, StageError, WorkItem

from .rows import CODE, DOCUMENT, CallRow, ChunkRow, FileRows, ImportRow, SymbolRow, packed

_NAMESPACE = uuid.UUID("0f4c8d0e-3c57-5a4e-8a1f-5e9b6f0d2c11")
_WORD = re.compile(r"[^\W_]+")


def dense_beside(data: str, doc_id: str) -> str:
    """Where the dense vectors of a document lie, if there are any."""
    return f"{data}/vectors/dense/{doc_id}.parquet"


def work(item: WorkItem, context: Any) -> Any:
    """One file."""
    task = item.meta["task"]
    if task == "gone":
        return {"removed": True}
    if item.meta.get("skip"):
        return Skip(item.meta["skip"])
    rows = _document(item) if task == "document" else _code(item, context)
    context.deliver(packed(rows))
    return {
        "kind": rows.kind,
        "language": rows.language,
        "lines": rows.lines,
        "chunks": len(rows.chunks),
        "symbols": len(rows.symbols),
        "calls": len(rows.calls),
    }


def _document(item: WorkItem) -> FileRows:
    paths = [os.fspath(path) for path in item.inputs.values()]
    try:
        chunks = read_chunks(paths[0])
    except Exception as error:
        raise StageError(f"the chunks cannot be read: {type(error).__name__}: {error}", category="input") from None
    return FileRows(
        item_id=item.item_id,
        kind=DOCUMENT,
        path=item.item_id,
        language="",
        lines=0,
        note="",
        sha256=digest_of(*(_sha256(Path(path).read_bytes()) for path in paths)),
        cfg_hash=item.cfg_hash,
        chunks=[
            ChunkRow(
                chunk_id=chunk.chunk_id,
                kind="section",
                name="",
                context=" > ".join([*chunk.section_path, _in_words(item.item_id)]),
                start=chunk.start,
                end=chunk.end,
                words=" ".join(str(page) for page in chunk.pages),
                text=chunk.text,
            )
            for chunk in chunks
        ],
    )


def _code(item: WorkItem, context: Any) -> FileRows:
    path = item.meta["path"]
    data = Path(item.inputs["source"]).read_bytes()
    parsed = _parsed(path, data, f"{context.data}/.staging/{context.stage}/parsing-{digest_of(item.item_id)}")
    if parsed.note:
        context.warn(parsed.note)
    return FileRows(
        item_id=item.item_id,
        kind=CODE,
        path=path,
        language=parsed.language or "",
        lines=parsed.line_count,
        note=parsed.note,
        sha256=digest_of(_sha256(data)),
        cfg_hash=item.cfg_hash,
        chunks=[
            ChunkRow(
                chunk_id=_chunk_id(item.item_id, chunk.start_line, chunk.text),
                kind=chunk.kind,
                name=chunk.qualified_name or chunk.name,
                context=_in_words(item.item_id),
                start=chunk.start_line,
                end=chunk.end_line,
                words=_hidden_words(chunk.identifiers, chunk.text),
                text=chunk.text,
            )
            for chunk in parsed.chunks
        ],
        symbols=[
            SymbolRow(each.name, each.qualified_name, each.kind, each.start_line, each.end_line, each.signature)
            for each in parsed.symbols
        ],
        imports=[ImportRow(each.module, ", ".join(each.names), each.line) for each in parsed.imports],
        calls=[CallRow(each.caller, each.callee, each.line, each.column) for each in parsed.calls],
    )


def _parsed(path: str, data: bytes, mark: str) -> Any:
    """What a grammar makes of a file. One that has killed a worker, or kept it too long, is cut by lines the next time:
    the mark that its worker has left says so."""
    from inorder.code.parse import parse, parse_lines

    if os.path.exists(mark):
        return parse_lines(path, data, "its grammar crashed or took too long: cut by lines")
    Path(mark).touch()
    parsed = parse(path, data)
    os.unlink(mark)
    return parsed


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _chunk_id(item_id: str, line: int, text: str) -> str:
    return str(uuid.uuid5(_NAMESPACE, f"{item_id}\0{line}\0{text}"))


def _hidden_words(identifiers: str, text: str) -> str:
    """The parts of names that a search would not find in the text itself, where words end at marks and at `_`."""
    if not identifiers:
        return ""
    plain = set(_WORD.findall(text.lower()))
    return " ".join(word for word in identifiers.split() if "_" not in word and word not in plain)


def _in_words(path: str) -> str:
    """The parts of a path, so that a file is found by its name."""
    return " ".join(_WORD.findall(path))
