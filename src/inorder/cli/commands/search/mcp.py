"""`inorder mcp`: the index as tools for assistants, over stdio (Model Context Protocol)."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import msgspec
from mcp.server import MCPServer

from inorder.cli.commands.search.presentation import describe_answer, read_index
from inorder.cli.parameters import DataOption
from inorder.errors import InfrastructureError, IntegrityError, OperatorError
from inorder.index.query import parse_query
from inorder.index.search import SearchOptions
from inorder.index.search import search as find
from inorder.index.symbols import call_graph, look_up
from inorder.version import __version__

_COUNT_MAX = 50


def mcp(data: DataOption = None) -> None:
    """Serve the index of DATA to coding assistants over stdio, as tools: search, symbol, read_chunk.

    Needs two extras: pip install 'inorder[ingest,mcp]'. In the settings of the assistant, enter the command `inorder`
    with the arguments `mcp --data DIR`.
    """
    with read_index(data) as (_, folder):
        server = make_server(folder)
    server.run("stdio")


def make_server(data: str) -> MCPServer:
    """A server for the index of DATA. Each call reads the index that is published at that moment."""
    server = MCPServer(
        "inorder",
        version=__version__,
        instructions="Search documents and source code. Ask in words, or by name: sym:, def:, ref:, imports:.",
    )

    @server.tool()
    def search(query: str, count: int = 10, mode: str = "auto", path: str = "", only: str = "") -> dict[str, Any]:
        """Find chunks of documents and source code. `query`: words, or sym:NAME, def:NAME, ref:NAME, imports:MODULE.
        `path`: a glob over file paths. `only`: code or document."""
        with _translate_errors():
            options = SearchOptions(mode=mode, count=max(1, min(count, _COUNT_MAX)), path=path, only=only)
            answer = find(data, query, options)
        found: dict[str, Any] = msgspec.to_builtins(describe_answer(answer))
        for hit in found["hits"]:
            del hit["text"]
        return found

    @server.tool()
    def symbol(name: str) -> dict[str, Any]:
        """Show where a function, method or class is defined, its callers, and what it calls."""
        with _translate_errors(), read_index(data) as (connection, _):
            found: dict[str, Any] = msgspec.to_builtins(call_graph(connection, name))
            if not found["definitions"]:
                found["similar"] = msgspec.to_builtins(look_up(connection, parse_query(f"sym:{name}"), 10))
            return found

    @server.tool()
    def read_chunk(chunk_id: str) -> dict[str, Any]:
        """Read the whole text of a chunk that a search has found, and where it is from."""
        with _translate_errors(), read_index(data) as (connection, _):
            row = connection.execute(
                "SELECT item_id, location(files.kind, item_id, path), files.kind, language, chunks.kind, name, "
                'context, start, "end", text FROM chunks JOIN files ON files.id = file WHERE chunk_id = ?',
                (chunk_id,),
            ).fetchone()
        if row is None:
            raise ValueError(f"no such chunk: {chunk_id}")
        names = ("item_id", "path", "only", "language", "kind", "name", "context", "start", "end", "text")
        return dict(zip(names, row, strict=True))

    return server


@contextmanager
def _translate_errors() -> Iterator[None]:
    """Raise our errors as ValueError, whose text reaches the assistant."""
    try:
        yield
    except (OperatorError, InfrastructureError, IntegrityError) as error:
        raise ValueError(str(error)) from None
