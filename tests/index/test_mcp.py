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
from tests.documents.pdf_files import draw_lines, draw_pdf
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


@pytest.mark.parametrize(
    ("conditions", "names"),
    [
        ({"type": "md"}, {"docs/lamp.md"}),
        ({"type": ["md", "py"], "path": "!*steps.py"}, {"docs/lamp.md", "src/lamp.py"}),
        ({"source": "src", "kind": ["function"], "path": "*lamp.py"}, {"src/lamp.py"}),
        ({"kind": "!function", "source": ["docs"]}, {"docs/lamp.md"}),
    ],
)
def test_a_search_can_be_restricted(tools: IndexTools, conditions: dict[str, Any], names: set[str]) -> None:
    assert {hit["item_id"] for hit in tools.search("lamp wick", **conditions)["hits"]} == names


@pytest.mark.slow
def test_hits_on_pages_have_boxes_and_weak_ones_are_marked(tmp_path: Path) -> None:
    own = FolderRuns(tmp_path, dense="hash")
    (own.docs / "lamp.pdf").write_bytes(draw_pdf(draw_lines(*(f"The keeper trims wick {each}." for each in range(8)))))
    own.run("docs")
    [hit] = IndexTools(str(own.data)).search("keeper wick")["hits"]
    assert (hit["pages"], hit["is_weak"]) == ([1], False)
    [box] = hit["boxes"]
    assert box["page"] == 1
    assert 0 < box["left"] < box["right"] < 1
    assert 0 < box["top"] < box["bottom"] < 1
    command = ("search", "--json", "keeper wick", "--data", str(own.data))
    [found] = json.loads(run_in_process(command, own.folder, clean_environment())[1])["hits"]
    assert {each["page"] for each in found["boxes"]} == {1}
    assert min(each["top"] for each in found["boxes"]) == box["top"]
    assert max(each["bottom"] for each in found["boxes"]) == box["bottom"]


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


@pytest.mark.parametrize(
    ("assistant", "place", "servers"),
    [("claude-code", ".mcp.json", "mcpServers"), ("vscode", ".vscode/mcp.json", "servers")],
)
def test_an_entry_is_merged_into_the_file_of_a_project_once(
    runs: FolderRuns, tmp_path: Path, assistant: str, place: str, servers: str
) -> None:
    path = tmp_path / place
    path.parent.mkdir(exist_ok=True)
    before = json.dumps({"inputs": ["\u00e4"], servers: {"other": {"command": "x"}, "inorder": {"command": "old"}}})
    path.write_text(before)
    command = ("mcp", "--install", assistant, "--write", "--may-index", "docs", "--data", str(runs.data))
    code, out, err = run_in_process(command, tmp_path, clean_environment())
    assert (code, out, err) == (0, "", f"written to {place}; what it was is in {place}.bak\n")
    found = json.loads(path.read_text())
    assert found["inputs"] == ["\u00e4"]
    assert found[servers]["other"] == {"command": "x"}
    assert found[servers]["inorder"]["args"][-4:] == ["--data", str(runs.data), "--may-index", str(tmp_path / "docs")]
    assert path.with_name(f"{path.name}.bak").read_text() == before
    assert run_in_process(command, tmp_path, clean_environment()) == (0, "", f"{place} has this entry already\n")


def test_an_entry_is_written_where_there_is_no_file(runs: FolderRuns, tmp_path: Path) -> None:
    command = ("mcp", "--install", "cursor", "--write", "--data", str(runs.data))
    assert run_in_process(command, tmp_path, clean_environment())[::2] == (0, "written to .cursor/mcp.json\n")
    assert json.loads((tmp_path / ".cursor/mcp.json").read_text())["mcpServers"]["inorder"]
    assert [path.name for path in (tmp_path / ".cursor").iterdir()] == ["mcp.json"]


@pytest.mark.parametrize("content", ["{ // a comment\n}", "[]", '{"mcpServers": []}', "\xff", "[" * 100_000])
def test_a_file_that_cannot_be_parsed_is_left_as_it_is(runs: FolderRuns, tmp_path: Path, content: str) -> None:
    path = tmp_path / ".mcp.json"
    path.write_text(content, encoding="latin-1")
    command = ("mcp", "--install", "claude-code", "--write", "--data", str(runs.data))
    code, _, err = run_in_process(command, tmp_path, clean_environment())
    assert code == 2
    assert "nothing was written" in err
    assert len(err.splitlines()) == 1
    assert path.read_text(encoding="latin-1") == content
    assert [each.name for each in tmp_path.iterdir()] == [".mcp.json"]


def test_a_table_of_codex_is_appended_and_another_one_refused(
    runs: FolderRuns, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    path = tmp_path / ".codex" / "config.toml"
    path.parent.mkdir()
    path.write_text('# kept\nmodel = "x"\n')
    command = ["mcp", "--install", "codex", "--write", "--data", str(runs.data)]
    environment = clean_environment() | {"HOME": str(tmp_path)}
    assert run_in_process(tuple(command), tmp_path, environment)[0] == 0
    assert path.read_text().startswith('# kept\nmodel = "x"\n\n[mcp_servers.inorder]\n')
    assert tomllib.loads(path.read_text())["mcp_servers"]["inorder"]["args"][-1] == str(runs.data)
    assert "already" in run_in_process(tuple(command), tmp_path, environment)[2]
    code, _, err = run_in_process((*command, "--may-index", "docs"), tmp_path, environment)
    assert (code, "another entry inorder" in err) == (2, True)


def test_write_needs_install(runs: FolderRuns) -> None:
    code, _, err = run_in_process(("mcp", "--write", "--data", str(runs.data)), runs.folder, clean_environment())
    assert (code, "--write needs --install" in err) == (2, True)


@pytest.mark.process
@pytest.mark.slow
def test_an_assistant_indexes_only_folders_that_the_server_was_started_with(tmp_path: Path) -> None:
    own = FolderRuns(tmp_path, dense="none")
    own.write("docs/lamp.md", "A lamp.\n")
    own.run("docs")
    own.write("docs/horn.md", "A horn.\n")
    data, docs = str(own.data), str(own.folder / "docs")

    async def update(folder: str) -> tuple[bool, str]:
        start = StdioServerParameters(
            command=sys.executable, args=["-m", "inorder", "mcp", "--data", data, "--may-index", docs]
        )
        async with stdio_client(start) as (read, write), ClientSession(read, write) as session:
            await session.initialize()
            listed = {tool.name: tool.annotations for tool in (await session.list_tools()).tools}
            assert listed["update_index"].read_only_hint is False
            assert listed["search"].read_only_hint is True
            result = await session.call_tool("update_index", {"folder": folder})
            return bool(result.is_error), result.content[0].text

    is_error, text = asyncio.run(update(str(tmp_path)))
    assert is_error
    assert "is not one of the folders of --may-index" in text
    is_error, text = asyncio.run(update(docs))
    assert not is_error, text
    assert [hit["path"] for hit in IndexTools(data).search("horn")["hits"]] != []
    assert [tool.name for tool in asyncio.run(make_server(data).list_tools())] == [
        "search",
        "read",
        "symbols",
        "callers",
    ]


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
