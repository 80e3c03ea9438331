"""The tools that `inorder mcp` offers. Each opens the index as it is published at that moment."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import msgspec
from mcp.server import MCPServer

from inorder.cli.commands.search import answered, index_of
from inorder.errors import InfrastructureError, IntegrityError, OperatorError
from inorder.index.connection import open_index
from inorder.index.query import parse_query
from inorder.index.search import Filters
from inorder.index.symbols import call_graph, look_up
from inorder.version import __version__

_COUNT_MAX = 50
_TROUBLE = (OperatorError, InfrastructureError, IntegrityError)


def server_of(data: str) -> MCPServer:
    """A server for the index of this folder."""
    server = MCPServer(
        "inorder",
        version=__version__,
        instructions="Search documents and source code. Ask in words, or by name: sym:, def:, ref:, imports:.",
    )

    @server.tool()
    def search(query: str, count: int = 10, mode: str = "hybrid", path: str = "", only: str = "") -> dict[str, Any]:
        """Find chunks of documents and source code. `query`: words, or sym:NAME, def:NAME, ref:NAME, imports:MODULE.
        `path`: a glob over file names. `only`: code or document."""
        open_index.cache_clear()
        filters = Filters(path=path, only=only)
        with _asking():
            answer = answered(query, mode, max(1, min(count, _COUNT_MAX)), filters, data)
        found: dict[str, Any] = msgspec.to_builtins(answer.described())
        for hit in found["hits"]:
            del hit["text"]
        return found

    @server.tool()
    def symbol(name: str) -> dict[str, Any]:
        """Where a function, method or class is defined, who calls it, and what it calls."""
        open_index.cache_clear()
        with _asking(), index_of(data) as (connection, _):
            found: dict[str, Any] = msgspec.to_builtins(call_graph(connection, name))
            if not found["definitions"]:
                found["similar"] = msgspec.to_builtins(look_up(connection, parse_query(f"sym:{name}"), 10))
            return found

    @server.tool()
    def read_chunk(chunk_id: str) -> dict[str, Any]:
        """The whole text of a chunk that a search has found, with where it is from."""
        open_index.cache_clear()
        with _asking(), index_of(data) as (connection, _):
            row = connection.execute(
                "SELECT item_id, location(files.kind, item_id, path), files.kind, language, chunks.kind, name, "
                'context, start, "end", text FROM chunks JOIN files ON files.id = file WHERE chunk_id = ?',
                (chunk_id,),
            ).fetchone()
        if row is None:
            raise ValueError(f"there is no chunk {chunk_id}")
        names = ("item_id", "path", "only", "language", "kind", "name", "context", "start", "end", "text")
        return dict(zip(names, row, strict=True))

    return server


@contextmanager
def _asking() -> Iterator[None]:
    """What is wrong becomes an error that the assistant can read."""
    try:
        yield
    except _TROUBLE as error:
        raise ValueError(str(error)) from None
