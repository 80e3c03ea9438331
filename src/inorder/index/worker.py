"""The worker of stage `index`: it gives the content of an item to the step, and delivers the rows."""

import hashlib
from functools import partial
from typing import Any

from inorder.code.calls import NO_CALLS
from inorder.code.model import FileCalls
from inorder.documents.chunk.storage import read_chunks
from inorder.engines.attempt import get_attempt
from inorder.host.memory import pause_collector
from inorder.runtime.identity import hash_strings
from inorder.sources.remote_input import RemoteInput, get_fetcher
from inorder.stage.context import StageContext
from inorder.stage.contracts import Skip, StageError, WorkItem
from inorder.stage.freshness import get_sha256
from inorder.stage.store.reading import read_content

from .parse_marks import is_marked, mark_parsing
from .rows import DOCUMENT, FileRows, encode_rows
from .step import make_code_rows, make_document_rows

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
    if not isinstance(source, RemoteInput):
        return ""
    return reason_to_skip(item.meta["path"], source.fetch_head(get_fetcher(), HEAD_BYTES))


def _make_document_rows(item: WorkItem) -> FileRows:
    try:
        chunks = read_chunks(item.inputs["chunks"])
    except StageError:
        raise
    except Exception as error:
        raise StageError(f"cannot read the chunks: {type(error).__name__}: {error}", category="input") from None
    sha256 = hash_strings(*(get_sha256(each, None) for each in item.inputs.values()))
    return make_document_rows(item.item_id, chunks, sha256=sha256, cfg_hash=item.cfg_hash)


def _make_code_rows(item: WorkItem, context: StageContext) -> tuple[FileRows, FileCalls]:
    source = item.inputs["source"]
    data = read_content(source)
    sha256 = hash_strings(source.sha256 if isinstance(source, RemoteInput) else hashlib.sha256(data).hexdigest())
    make_rows = partial(make_code_rows, item.item_id, item.meta["path"], data, sha256=sha256, cfg_hash=item.cfg_hash)
    # If the marker is still set, an earlier attempt crashed or timed out in the grammar.
    marker = f"{context.data}/.staging/{context.stage}/parsing-{hash_strings(item.item_id)}"
    if get_attempt() != 1 and is_marked(marker):
        rows, calls = make_rows(uses_grammar=False)
    else:
        with mark_parsing(marker):
            rows, calls = make_rows()
    if rows.note:
        context.warn(rows.note)
    return rows, calls
