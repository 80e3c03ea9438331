"""The index as tools for assistants (Model Context Protocol)."""

import asyncio
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Literal

import msgspec
from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import ToolAnnotations

from inorder.cli.commands.find.presentation import add_boxes, describe_answer, read_index
from inorder.errors import InfrastructureError, IntegrityError, OperatorError, require
from inorder.index.contents import read_chunk_text, read_file_text
from inorder.index.query import parse_query
from inorder.index.ranking.snippets import cut
from inorder.index.search import SearchOptions
from inorder.index.search import search as find
from inorder.index.symbols import find_calls_to, find_definitions, list_symbols, look_up
from inorder.library.opening import find_index
from inorder.version import __version__

COUNT_MAX = 50
"""Entries of one page, at most."""
PAGE_CHARACTERS_MAX = 20_000
"""Characters of one page, at most: what an assistant reads comes out of its context."""
TOKENS_DEFAULT = 3000
CHARACTERS_PER_TOKEN = 4
"""About, in English. Where it is less, an answer has more tokens than were asked for."""
OFFSET_MAX = 1000
_LINE_CHARACTERS_MAX = 300
_INSTRUCTIONS = (
    "Search documents and source code, and read them. Ask `search` in words, or by name: sym:, def:, ref:, imports:. "
    "Every tool returns a page; call it again with offset = next_offset for the next one."
)


def make_server(data: str, may_index: Sequence[str] = ()) -> MCPServer:
    """A server for the index of DATA. Each call reads the index that is published at that moment. The folders of
    `may_index` can be indexed again."""
    server = MCPServer("inorder", version=__version__, instructions=_INSTRUCTIONS)
    tools = IndexTools(data)
    reads = ToolAnnotations(read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False)
    for tool in (tools.search, tools.read, tools.symbols, tools.callers):
        server.add_tool(tool, annotations=reads)
    if may_index:
        writes = ToolAnnotations(
            read_only_hint=False, destructive_hint=False, idempotent_hint=True, open_world_hint=False
        )
        server.add_tool(IndexUpdates(data, may_index).update_index, annotations=writes)
    return server


class IndexUpdates:
    """The tool that brings the index up to date, for the folders that the server was started with."""

    def __init__(self, data: str, folders: Sequence[str]) -> None:
        self._data = data
        self._folders = list(folders)

    async def update_index(self, folder: str = "") -> dict[str, Any]:
        """Index what has changed in a folder, one of those that the server was started with; empty: in all of them.
        Returns how many files are new, changed, removed or failed."""
        with _translate_errors():
            wanted = [os.path.abspath(folder)] if folder else self._folders
            allowed = ", ".join(self._folders)
            require(set(wanted) <= set(self._folders), f"{folder} is not one of the folders of --may-index: {allowed}")
        command = [sys.executable, "-m", "inorder", "run", *wanted, "--data", self._data, "--json"]
        ended = await asyncio.to_thread(subprocess.run, command, capture_output=True, stdin=subprocess.DEVNULL)
        try:
            found: dict[str, Any] = msgspec.json.decode(ended.stdout)
        except msgspec.DecodeError:
            raise ToolError(ended.stderr.decode(errors="replace").strip()[-_LINE_CHARACTERS_MAX:]) from None
        return found


class IndexTools:
    """The tools. What the assistant sees are their signatures and docstrings."""

    def __init__(self, data: str) -> None:
        self._data = data

    def search(
        self,
        query: str,
        count: int = 10,
        offset: int = 0,
        mode: Literal["auto", "hybrid", "lexical", "dense"] = "auto",
        path: str | list[str] = "",
        language: str | list[str] = "",
        kind: str | list[str] = "",
        type: str | list[str] = "",
        source: str | list[str] = "",
        only: Literal["", "code", "document"] = "",
        tokens_max: int = TOKENS_DEFAULT,
    ) -> dict[str, Any]:
        """Find chunks of documents and source code. `query`: words, or sym:NAME, def:NAME, ref:NAME, imports:MODULE.
        `path`: a glob over file paths; `kind`: function, class, section...; `type`: pdf, py...; `source`: the name of a
        folder that was indexed. Each takes several values; `!` before one leaves out. Hits have their text as far as
        about `tokens_max` tokens go, best first; give the chunk_id of a hit to `read` for the rest. Cite a hit by its
        `citation`. A hit that `is_weak` has no word of the query."""
        with _translate_errors():
            count, offset = _check_page(count, offset)
            wanted = SearchOptions(
                mode=mode,
                count=offset + count + 1,
                path=path,
                language=language,
                kind=kind,
                type=type,
                source=source,
                only=only,
            )
            answer = find(find_index(self._data), query, wanted)
            described = describe_answer(answer)
            add_boxes(described["hits"][offset:], answer.hits[offset:], self._data)
        found: dict[str, Any] = msgspec.to_builtins(described)
        found.pop("files")
        listed = found.pop("hits")
        texts = [""] * offset + _share_budget([hit["text"] for hit in listed[offset:]], tokens_max)
        hits = [_shorten_hit(hit, text) for hit, text in zip(listed, texts, strict=False)]
        places = found.pop("places")
        page = _make_page("places" if places else "hits", places or hits, offset, count)
        return {"hits": [], "places": []} | found | page

    def read(self, chunk_id: str = "", path: str = "", line: int = 1, offset: int = 0) -> dict[str, Any]:
        """Read the text of a chunk by its chunk_id, or of a whole file by its path (or the end of it), from a line on.
        `offset`: the character to continue from."""
        with _translate_errors(), read_index(self._data) as (connection, _):
            require(bool(chunk_id) != bool(path), "give either chunk_id or path")
            found = read_chunk_text(connection, chunk_id) if chunk_id else read_file_text(connection, path, line)
        begin = max(0, min(offset, len(found.text)))
        end = min(len(found.text), begin + PAGE_CHARACTERS_MAX)
        described: dict[str, Any] = msgspec.to_builtins(found)
        return described | {
            "text": found.text[begin:end],
            "characters": len(found.text),
            "offset": begin,
            "next_offset": end if end < len(found.text) else None,
        }

    def symbols(self, path: str = "", name: str = "", count: int = 50, offset: int = 0) -> dict[str, Any]:
        """List the functions, methods and classes of a source file, by its path or the end of it; or those whose name
        is `name` or begins with it."""
        with _translate_errors(), read_index(self._data) as (connection, _):
            count, offset = _check_page(count, offset)
            require(bool(path) != bool(name), "give either path or name")
            if path:
                found = list_symbols(connection, path)
            else:
                found = look_up(connection, parse_query(f"sym:{name}"), offset + count + 1)
            require(bool(found), f"no definitions of {path or name} in the index")
        return _make_page("symbols", msgspec.to_builtins(found), offset, count)

    def callers(self, name: str, count: int = 50, offset: int = 0) -> dict[str, Any]:
        """List the places that call a function, method or class, and where it is defined."""
        with _translate_errors(), read_index(self._data) as (connection, _):
            count, offset = _check_page(count, offset)
            definitions = find_definitions(connection, name, COUNT_MAX, is_exact=True)
            calls = find_calls_to(connection, name, offset + count + 1)
            require(bool(definitions or calls), f"no function, method or class {name} in the index")
        page = _make_page("callers", msgspec.to_builtins(calls), offset, count)
        return {"definitions": _make_page("some", msgspec.to_builtins(definitions), 0, COUNT_MAX)["some"]} | page


def _check_page(count: int, offset: int) -> tuple[int, int]:
    require(0 <= offset <= OFFSET_MAX, f"offset must be 0 to {OFFSET_MAX}; got {offset}")
    return max(1, min(count, COUNT_MAX)), offset


def _make_page(name: str, entries: Sequence[dict[str, Any]], offset: int, count: int) -> dict[str, Any]:
    """The entries from `offset` on, as many as were asked for and fit; and where the next page begins."""
    page: list[dict[str, Any]] = []
    size = 0
    for entry in entries[offset : offset + count]:
        entry = {key: _cut(value) if key == "detail" else value for key, value in entry.items()}
        size += len(msgspec.json.encode(entry))
        if page and size > PAGE_CHARACTERS_MAX:
            break
        page.append(entry)
    end = offset + len(page)
    return {name: page, "next_offset": end if end < len(entries) else None}


def _share_budget(texts: Sequence[str], tokens_max: int) -> list[str]:
    """The texts, best first, as far as about so many tokens go. One that is too long is cut between words."""
    left = CHARACTERS_PER_TOKEN * max(0, tokens_max)
    shared = []
    for text in texts:
        _, end = cut(text, left) if left else (0, 0)
        shared.append(text[:end])
        left -= end
    return shared


def _shorten_hit(hit: dict[str, Any], text: str) -> dict[str, Any]:
    """A hit with as much of its text, or with a snippet of short lines if there is nothing of it."""
    left_out = {"text", "marks", "ranks", "shares", "start", "end", "before", "after"}
    kept = {key: value for key, value in hit.items() if key not in left_out | ({"snippet"} if text else set())}
    shown = (
        {"text": text, "is_cut": len(text) < len(hit["text"])} if text else {"snippet": [*map(_cut, hit["snippet"])]}
    )
    boxes = {"boxes": _surround(hit["boxes"])} if "boxes" in hit else {}
    return kept | shown | {"context": _cut(hit["context"])} | boxes


def _surround(boxes: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """One box per page around all of these."""
    found: dict[int, dict[str, Any]] = {}
    for box in boxes:
        outer = found.setdefault(box["page"], box)
        smallest = {side: min(outer[side], box[side]) for side in ("left", "top")}
        largest = {side: max(outer[side], box[side]) for side in ("right", "bottom")}
        found[box["page"]] = outer | smallest | largest
    return list(found.values())


def _cut(text: str) -> str:
    return text if len(text) <= _LINE_CHARACTERS_MAX else f"{text[:_LINE_CHARACTERS_MAX]}…"


@contextmanager
def _translate_errors() -> Iterator[None]:
    """Raise our errors in the form whose text reaches the assistant."""
    try:
        yield
    except (OperatorError, InfrastructureError, IntegrityError) as error:
        raise ToolError(str(error)) from None
