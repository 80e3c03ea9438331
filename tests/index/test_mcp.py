"""The index as tools, asked by a real client over stdio."""

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("mcp", reason="the extra mcp is not installed")

from mcp import ClientSession, StdioServerParameters, stdio_client

from tests.index.test_draft import built, success


def asked(data: Path, *questions: tuple[str, dict[str, Any]]) -> tuple[list[str], list[Any]]:
    """Start the server, list its tools, and call some."""

    async def ask() -> tuple[list[str], list[Any]]:
        program = StdioServerParameters(command=sys.executable, args=["-m", "inorder", "mcp", "--data", str(data)])
        async with stdio_client(program) as (reading, writing), ClientSession(reading, writing) as session:
            await session.initialize()
            tools = [tool.name for tool in (await session.list_tools()).tools]
            return tools, [await session.call_tool(name, arguments) for name, arguments in questions]

    return asyncio.run(asyncio.wait_for(ask(), 60))


def said(result: Any) -> Any:
    return json.loads(result.content[0].text)


@pytest.mark.process
@pytest.mark.req("IDX-5")
def test_an_assistant_can_search_look_up_a_symbol_and_read_a_chunk(tmp_path: Path) -> None:
    built(tmp_path, [success(0, "src/a.py", "def lamp(): wick()"), success(1, "src/b.py", "def other(): pass")])
    tools, [found, symbol, missing] = asked(
        tmp_path,
        ("search", {"query": "where is the wick", "count": 1}),
        ("symbol", {"name": "lamp"}),
        ("read_chunk", {"chunk_id": "nowhere"}),
    )
    assert set(tools) == {"search", "symbol", "read_chunk"}
    [hit] = said(found)["hits"]
    assert hit["item_id"] == "src/a.py"
    assert hit["path"] == "/src/src/a.py"
    assert len(said(symbol)["definitions"]) == 2
    assert missing.is_error
    _, [chunk] = asked(tmp_path, ("read_chunk", {"chunk_id": hit["chunk_id"]}))
    assert said(chunk)["text"] == "def lamp(): wick()"
