"""Source code: a file with its symbols, and what calls what."""

import os
from hashlib import sha256
from typing import Annotated

import msgspec

from inorder.files.encoding import decode
from inorder.index.contents import read_file_text
from inorder.index.rows import CODE
from inorder.index.search import use_index
from inorder.index.symbols import CodeLocation, call_graph, list_symbols
from inorder.library.opening import find_index
from inorder.serve.catalog import Catalog
from inorder.serve.isolated import ResultCache, run_isolated
from inorder.serve.options import TEXT_BYTES_MAX
from inorder.serve.problems import RequestError
from inorder.serve.sources import read_source

from .endpoint import DataParams, ItemParams
from .files import FileView, describe_file
from .originals import require_code

_HIGHLIGHT_BYTES_MAX = 512 * 1024
_highlighted = ResultCache()

HighlightedLine = list[tuple[str, str]]


class LineRange(msgspec.Struct, frozen=True, kw_only=True):
    """A chunk of the file: a range of lines."""

    number: int
    kind: str
    name: str
    start: int
    end: int


class SourceView(msgspec.Struct, frozen=True, kw_only=True):
    """A source file: its lines as tokens, its definitions and its chunks."""

    id: str
    path: str
    state: FileView | None
    language: str
    lines: list[HighlightedLine]
    symbols: list[CodeLocation]
    chunks: list[LineRange]
    note: str


class GraphParams(DataParams, frozen=True, kw_only=True):
    """Which definition."""

    name: Annotated[str, msgspec.Meta(min_length=1, max_length=500, description="Name, or qualified name.")]


class GraphView(msgspec.Struct, frozen=True, kw_only=True):
    """The definitions of a name, the calls to it, and the calls that it makes; at most 200 of each."""

    name: str
    definitions: list[CodeLocation]
    callers: list[CodeLocation]
    callees: list[CodeLocation]


def answer_source(catalog: Catalog, params: ItemParams) -> SourceView:
    """A source file as it is now, or as it was indexed if it is gone."""
    data = catalog.get(params.data).path
    indexed_sha256 = require_code(catalog, params)
    text, note = _read_text(data, params.id, indexed_sha256)
    with use_index(find_index(data)) as index:
        execute = index.connection.execute
        sql = "SELECT id, language, location(kind, item_id, path) FROM files WHERE item_id = ? AND kind = ?"
        number, language, path = execute(sql, (params.id, CODE)).fetchone()
        symbols = [each for each in list_symbols(index.connection, params.id) if each.item_id == params.id]
        sql = 'SELECT number, kind, name, start, "end" FROM chunks WHERE file = ? ORDER BY number'
        chunks = execute(sql, (number,)).fetchall()
    return SourceView(
        id=params.id,
        path=path,
        state=describe_file(data, params.id),
        language=language,
        lines=_highlight(text, os.path.basename(path)),
        symbols=symbols,
        chunks=[
            LineRange(number=at, kind=kind, name=name, start=start, end=end) for at, kind, name, start, end in chunks
        ],
        note=note,
    )


def answer_graph(catalog: Catalog, params: GraphParams) -> GraphView:
    """What calls a function, and what it calls."""
    with use_index(find_index(catalog.get(params.data).path)) as index:
        return msgspec.convert(call_graph(index.connection, params.name), GraphView)


def _read_text(data: str, item_id: str, indexed_sha256: str) -> tuple[str, str]:
    """The text of a file, and what the reader should know of it."""
    try:
        content = read_source(data, CODE, item_id, TEXT_BYTES_MAX)
    except RequestError as error:
        with use_index(find_index(data)) as index:
            found = read_file_text(index.connection, item_id)
        return found.text, f"{error}; shown as it was indexed"
    decoded = decode(content)
    is_changed = indexed_sha256 != sha256(content).hexdigest()
    note = "the file has changed since it was indexed; lines may have moved" if is_changed else ""
    return decoded.text.replace("\r\n", "\n").replace("\r", "\n"), note


def _highlight(text: str, file_name: str) -> list[HighlightedLine]:
    content = text.encode("utf-8", "replace")
    if len(content) <= _HIGHLIGHT_BYTES_MAX:
        try:
            made = _highlighted.get(
                (sha256(content).digest(), file_name), lambda: run_isolated("highlight", file_name, content)
            )
            return msgspec.json.decode(made, type=list[HighlightedLine])
        except RequestError:
            pass
    return [[("", line)] if line else [] for line in text.split("\n")]
