"""The index as tools, asked by a real client over stdio."""

import asyncio
import json
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("mcp", reason="the extra mcp is not installed")

from mcp import ClientSession, StdioServerParameters, stdio_client
from mcp.server.mcpserver.exceptions import ToolError

from inorder.cli.commands.find import index_tools
from inorder.cli.commands.find.index_tools import IndexTools, make_server
from tests.pipeline.folders import FolderRuns
from tests.support.command_line import clean_environment
from tests.support.in_process import run_in_process

LONG = "".join(f"def step_{number}():\n    return lamp({number})\n\n\n" for number in range(70))


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> FolderRuns:
    runs = FolderRuns(tmp_path_factory.mktemp("mcp"), dense="none")
    runs.write("src/lamp.py", "def lamp(number):\n    return wick(number)\n")
    runs.write("src/steps.py", LONG)
    runs.write("docs/lamp.md", "# Lamps\n\nThe wick is trimmed.\n\n# Oil\n\nOil burns.\n")
    runs.run("src", "docs")
    return runs


@pytest.fixture
def tools(runs: FolderRuns) -> IndexTools:
    return IndexTools(str(runs.data))


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
    assert not result.is_error, result
    return json.loads(result.content[0].text)


@pytest.mark.process
@pytest.mark.req("IDX-5")
def test_an_assistant_can_search_read_and_look_up_symbols_and_callers(runs: FolderRuns) -> None:
    tools, [found, symbols, callers, text, missing, nothing] = asked(
        runs.data,
        ("search", {"query": "where is the wick", "count": 1, "only": "code"}),
        ("symbols", {"path": "src/lamp.py"}),
        ("callers", {"name": "lamp", "count": 2}),
        ("read", {"path": "lamp.py"}),
        ("read", {"chunk_id": "nowhere"}),
        ("search", {"query": "?"}),
    )
    assert tools == ["search", "read", "symbols", "callers"]
    [hit] = said(found)["hits"]
    assert hit["item_id"] == "src/lamp.py"
    assert hit["location"] == f"{runs.folder}/src/lamp.py:2"
    assert [symbol["name"] for symbol in said(symbols)["symbols"]] == ["lamp"]
    assert [place["line"] for place in said(callers)["callers"]] == [2, 6]
    assert said(callers)["next_offset"] == 2
    assert said(text)["text"] == "def lamp(number):\n    return wick(number)"
    assert missing.is_error
    assert "no such chunk: nowhere" in missing.content[0].text
    assert "the query contains no word to search for" in nothing.content[0].text


@pytest.mark.slow
def test_pages_of_hits_follow_each_other_and_end(tools: IndexTools) -> None:
    seen: list[str] = []
    offset: int | None = 0
    while offset is not None:
        page = tools.search("lamp", count=2, offset=offset, only="code")
        assert len(page["hits"]) <= 2
        seen += [hit["chunk_id"] for hit in page["hits"]]
        offset = page["next_offset"]
    assert len(seen) == len(set(seen)) > 4


def test_hits_have_their_text_as_far_as_the_tokens_go(tools: IndexTools) -> None:
    every = tools.search("lamp wick", tokens_max=3000)["hits"]
    assert every[0]["text"]
    assert not every[0]["is_cut"]
    few = tools.search("lamp wick", tokens_max=5)["hits"]
    assert [hit["chunk_id"] for hit in few] == [hit["chunk_id"] for hit in every]
    assert len(few[0]["text"]) <= 20
    assert few[0]["is_cut"]
    assert every[0]["text"].startswith(few[0]["text"])
    assert "text" not in few[-1]
    assert few[-1]["snippet"]
    assert few[0]["citation"]


def test_an_assistant_is_told_that_the_tools_only_read(runs: FolderRuns) -> None:
    tools = asyncio.run(make_server(str(runs.data)).list_tools())
    assert all(tool.annotations.read_only_hint for tool in tools)
    [search] = [tool for tool in tools if tool.name == "search"]
    assert search.input_schema["properties"]["only"]["enum"] == ["", "code", "document"]


@pytest.mark.parametrize(
    ("assistant", "place", "servers"),
    [
        ("claude-code", ".mcp.json", "mcpServers"),
        ("cursor", ".cursor/mcp.json", "mcpServers"),
        ("vscode", ".vscode/mcp.json", "servers"),
    ],
)
def test_the_entry_for_an_assistant_starts_the_server(
    runs: FolderRuns, assistant: str, place: str, servers: str
) -> None:
    asked_for = ("mcp", "--install", assistant, "--data", "data")
    code, out, err = run_in_process(asked_for, runs.folder, clean_environment())
    assert (code, err) == (0, f"this goes into {place}\n")
    entry = json.loads(out)[servers]["inorder"]
    assert entry["args"][-3:] == ["mcp", "--data", str(runs.data)]
    assert Path(entry["command"]).is_absolute()


def test_the_entry_for_codex_is_toml(runs: FolderRuns) -> None:
    code, out, err = run_in_process(("mcp", "--install", "codex", "--data", "data"), runs.folder, clean_environment())
    assert (code, err) == (0, "this goes into ~/.codex/config.toml\n")
    assert tomllib.loads(out)["mcp_servers"]["inorder"]["args"][-1] == str(runs.data)


def test_the_entry_for_an_unknown_assistant_is_refused(runs: FolderRuns) -> None:
    code, _, err = run_in_process(("mcp", "--install", "eliza"), runs.folder, clean_environment())
    assert code == 2
    assert "--install must be one of claude-code, codex, cursor, vscode; got 'eliza'" in err


def test_pages_of_callers_and_symbols_follow_each_other_and_end(tools: IndexTools) -> None:
    first = tools.callers("lamp")
    second = tools.callers("lamp", offset=first["next_offset"])
    assert (len(first["callers"]), len(second["callers"]), second["next_offset"]) == (50, 20, None)
    assert [place["name"] for place in first["definitions"]] == ["lamp"]
    names = [tools.symbols(path="steps.py", offset=offset) for offset in (0, 50)]
    assert [len(page["symbols"]) for page in names] == [50, 20]
    assert tools.symbols(name="step_", count=3)["next_offset"] == 3


def test_a_long_file_is_read_in_pages_and_from_a_line(tools: IndexTools, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(index_tools, "PAGE_CHARACTERS_MAX", 500)
    text, offset = "", 0
    while offset is not None:
        page = tools.read(path="src/steps.py", offset=offset)
        assert len(page["text"]) <= 500
        text, offset = text + page["text"], page["next_offset"]
    assert text.rstrip() == LONG.rstrip()
    assert "def step_0" not in tools.read(path="src/steps.py", line=278)["text"]


def test_a_document_is_read_as_a_whole_or_by_chunk(tools: IndexTools) -> None:
    [hit] = tools.search("trimmed", only="document")["hits"]
    assert "The wick is trimmed." in tools.read(chunk_id=hit["chunk_id"])["text"]
    whole = tools.read(path="docs/lamp.md")
    assert "The wick is trimmed." in whole["text"]
    assert "Oil burns." in whole["text"]


def test_a_page_that_would_be_too_long_ends_early(tools: IndexTools, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(index_tools, "PAGE_CHARACTERS_MAX", 1000)
    page = tools.callers("lamp")
    assert 1 <= len(page["callers"]) < 50
    assert page["next_offset"] == len(page["callers"])
    monkeypatch.setattr(index_tools, "PAGE_CHARACTERS_MAX", 1)
    assert len(tools.callers("lamp")["callers"]) == 1


@pytest.mark.parametrize(
    ("tool", "arguments", "complaint"),
    [
        ("read", {}, "give either chunk_id or path"),
        ("read", {"path": "nowhere.py"}, "no file nowhere.py in the index"),
        ("read", {"path": "lamp.py", "line": 99}, "lamp.py has 2 lines; got line 99"),
        ("symbols", {}, "give either path or name"),
        ("symbols", {"name": "nowhere"}, "no definitions of nowhere in the index"),
        ("callers", {"name": "nowhere"}, "no function, method or class nowhere in the index"),
        ("search", {"query": "lamp", "offset": 5000}, "offset must be 0 to 1000"),
        ("search", {"query": "lamp", "mode": "magic"}, "--mode must be one of"),
        ("read", {"path": "\ud800"}, "no file"),
    ],
)
def test_a_mistake_is_one_line_for_the_assistant(
    tools: IndexTools, tool: str, arguments: dict[str, Any], complaint: str
) -> None:
    with pytest.raises(ToolError, match=complaint):
        getattr(tools, tool)(**arguments)
