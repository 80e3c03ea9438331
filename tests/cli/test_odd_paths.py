"""Every byte string that Linux allows as a path: in sources, as DATA, and as the current folder."""

import io
import json
import os
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import inorder
from inorder.host.spelling import read_spelling, spell
from tests.pipeline.runs import Library
from tests.serve.conftest import make_client
from tests.support.command_line import CommandResult, clean_environment
from tests.support.in_process import run_in_process

pytestmark = [pytest.mark.req("SIL-3"), pytest.mark.process]

FOLDERS = [b"", b"dir\xfe", b"nl\ndir", b"-dir", b"back\\udcfe"]
NAMES = [
    b"bad\xff.md",
    b"two\nlines.md",
    b"-dash.md",
    b"n" * 252 + b".md",
    "café.md".encode(),
    b"percent%FF.md",
    b" a .md",
]
CODE = [b"m\xff.py", b"nl\n.py", b"-d.py"]
COMMANDS = [
    "search lamp",
    "search lamp --json",
    "search lamp --path *",
    "search --mode lexical light",
    "search def:lamp_0",
    "search ref:light --json",
    "symbols -- -d.py",
    "graph lamp_0",
    "failures",
    "inspect",
    "inspect --json",
    "verify",
    "sources --json",
    "mcp --install cursor --write",
    "manifest --state",
    "plan docs\udcfd",
    "report --output report.html",
    "report --json",
    "report --trace trace.json --output traced.html",
    "export --to parquet",
    "export --to jsonl --format jsonl",
    "export --to files --format files",
    "export search --to copy",
]


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A current folder with sources and DATA, all with names that are not UTF-8."""
    here = tmp_path_factory.mktemp("odd") / os.fsdecode(b"here\xfb\n")
    for folder in FOLDERS:
        place = os.path.join(os.fsencode(here), b"docs\xfd", folder)
        os.makedirs(place, exist_ok=True)
        for name in NAMES:
            with open(os.path.join(place, name), "w") as file:
                file.write(f"# Lamp\n\nA lamp of {folder!r} {name!r}.\n")
        for number, name in enumerate(CODE):
            with open(os.path.join(place, name), "w") as file:
                file.write(f"def lamp_{number}():\n    return light('{folder!r}')\n")
    before = os.getcwd()
    os.chdir(here)
    try:
        outcome = Library(Path(os.fsdecode(b"data\xfc"))).run(os.fsdecode(b"docs\xfd"))
    finally:
        os.chdir(before)
    assert outcome.failed == 0
    return here


def call(here: Path, *arguments: str) -> CommandResult:
    given = [*arguments[:1], "--data", os.fsdecode(b"data\xfc"), *arguments[1:]]
    return CommandResult(*run_in_process(given, here, clean_environment()))


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_works_there(here: Path, command: str) -> None:
    ended = call(here, *command.split(" "))
    assert ended.code == 0, ended.err
    assert "Error" not in ended.err
    ended.out.encode()


def test_every_file_is_found_and_its_path_can_be_read_back(here: Path) -> None:
    found = json.loads(call(here, "search", "--json", "--count", "100", "lamp").out)["hits"]
    paths = {os.fsencode(read_spelling(hit["path"])) for hit in found}
    assert paths == {os.path.join(b"docs\xfd", folder, name) for folder in FOLDERS for name in NAMES + CODE}
    assert all(os.path.exists(os.path.join(os.fsencode(here), path)) for path in paths)


def test_a_document_is_shown_by_its_bytes_its_spelling_and_its_id(here: Path) -> None:
    for path in (b"docs\xfd/dir\xfe/bad\xff.md", b"docs\xfd/back\\udcfe/bad\xff.md"):
        name = os.fsdecode(path)
        shown = [call(here, "show", "--", each) for each in (name, spell(name))]
        assert [each.code for each in shown] == [0, 0]
        folder = path.split(b"/")[1]
        assert all(repr(folder).replace("\\\\", "\\") in each.out.replace("\\\\", "\\") for each in shown)
    assert call(here, "show", "docs%FD/dir%FE/bad%FF.md").code == 0


def test_paths_on_the_command_line_may_be_spelled(here: Path) -> None:
    for command in ("inspect", "plan docs\\udcfd", "search lamp", "explain docs\\udcfd/dir\\udcfe/bad\\udcff.md"):
        name, *more = command.split()
        ended = CommandResult(*run_in_process([name, "--data", "data\\udcfc", *more], here, clean_environment()))
        assert ended.code == 0, ended.err
    assert "unchanged" in call(here, "explain", "docs\\udcfd/dir\\udcfe/bad\\udcff.md").out
    entry = json.loads((here / ".cursor" / "mcp.json").read_text())["mcpServers"]["inorder"]
    assert entry["args"][-1] == spell(str(here / os.fsdecode(b"data\xfc")))


def test_nothing_in_code_has_such_a_name(here: Path) -> None:
    ended = call(here, "graph", os.fsdecode(b"none\xff"))
    assert ended.code == 2
    assert "no function, method or class none\\udcff in the index" in ended.err


@pytest.mark.parametrize("command", ["show", "forget", "symbols", "explain"])
def test_a_name_that_nothing_has_is_spelled_once(here: Path, command: str) -> None:
    ended = call(here, command, os.fsdecode(b"dir/none\xff.md"))
    said = ended.out + ended.err
    assert ended.code == (0 if command == "explain" else 2), said
    assert "dir/none\\udcff.md" in said
    assert "u005c" not in said


def test_data_may_be_given_as_bytes(here: Path) -> None:
    with inorder.open(os.path.join(os.fsencode(here), b"data\xfc")) as data:
        assert len(list(data.documents())) == len(FOLDERS) * len(NAMES)
        with pytest.raises(inorder.errors.OperatorError, match="no document"):
            data.get(os.fsdecode(b"none\xff"))


def test_exports_have_the_same_ids(here: Path) -> None:
    assert call(here, "export", "--to", "one", "--format", "jsonl").code == 0
    assert call(here, "export", "--to", "two").code == 0
    [lines] = (here / "one" / "documents").glob("*.jsonl")
    ids = [json.loads(line)["doc_id"] for line in lines.read_text().splitlines()]
    [table] = (here / "two" / "documents").glob("*.parquet")
    assert pq.read_table(io.BytesIO(table.read_bytes())).column("doc_id").to_pylist() == ids
    assert len(ids) == len(FOLDERS) * len(NAMES)


def test_an_export_of_files_keeps_those_with_long_names(here: Path) -> None:
    assert call(here, "export", "--to", "kept", "--format", "files").code == 0
    before = sorted(path for path in (here / "kept" / "doctags").rglob("*") if path.is_file())
    assert len(before) == 2 * len(FOLDERS) * len(NAMES)
    again = call(here, "export", "--to", "kept", "--format", "files", "--json").json
    assert again["removed"] == 0
    assert sorted(path for path in (here / "kept" / "doctags").rglob("*") if path.is_file()) == before


@pytest.mark.parametrize("path", ["runs", "report", "data", "facets", "files", "search?q=lamp", "graph?name=lamp_0"])
def test_pages_get_every_answer(here: Path, monkeypatch: pytest.MonkeyPatch, path: str) -> None:
    monkeypatch.chdir(here)
    answer = make_client(here / os.fsdecode(b"data\xfc")).get(f"/api/{path}")
    assert answer.status_code == 200
    answer.json()


def test_metrics_name_the_folder_in_its_spelling(here: Path) -> None:
    data = here / os.fsdecode(b"data\xfc")
    answer = make_client(data).get("/metrics")
    assert answer.status_code == 200
    assert spell(data.name).replace("\\", "\\\\") in answer.text


def test_a_rerun_finds_nothing_to_do(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(here)
    outcome = Library(Path(os.fsdecode(b"data\xfc"))).run(os.fsdecode(b"docs\xfd"))
    assert outcome.steps == {} or all(totals.files == 0 for totals in outcome.steps.values())
    assert call(here, "verify").code == 0


@given(st.one_of(st.binary(), st.text(alphabet="\\udc0189abf5\udcff\udc80", max_size=20).map(os.fsencode)))
def test_every_path_can_be_read_back_from_its_spelling(path: bytes) -> None:
    name = os.fsdecode(path)
    spelled = spell(name)
    spelled.encode()
    assert os.fsencode(read_spelling(spelled)) == path
    if "\\" not in name and not any("\ud800" <= each <= "\udfff" for each in name):
        assert spelled == name
