"""DATA of an earlier version: every command says so in one line, and changes nothing."""

import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

import inorder
from inorder.stage.store.database import close_readers
from inorder.stage.store.format import INDEX_FORMAT, STORE_FORMAT
from inorder.stage.store.sink import StoreSink
from tests.documents.stage_runs import StageRuns
from tests.support.command_line import CommandLine

pytestmark = pytest.mark.req("CLI-3")
REMEDY = "remove DATA and run again, or use that version"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The result of a run: `docs`, and `data`."""
    runs = StageRuns(tmp_path_factory.mktemp("made"))
    runs.write("docs/a.md", "# Lamp\n\nThe lamp is lit.\n")
    runs.write("docs/b.py", "def light():\n    return 1\n")
    runs.doctags()
    runs.chunk()
    runs.embed(dense="hash:8")
    runs.index()
    close_readers()
    return runs.folder


@pytest.fixture
def data(made: Path, cli: CommandLine) -> Path:
    """DATA of the command line."""
    shutil.copytree(made / "docs", cli.folder / "docs")
    shutil.copytree(made / "data", cli.folder / "data")
    (cli.folder / "questions.jsonl").write_text('{"id": "1", "text": "lamp"}\n')
    (cli.folder / "answers.tsv").write_text("1\tdocs/a.md\t1\n")
    return cli.folder / "data"


def set_format(path: Path, version: int) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"PRAGMA user_version={version}")
        connection.commit()


def age_store(data: Path) -> str:
    set_format(data / "store/chunk.sqlite", STORE_FORMAT - 1)
    return f"data/store/chunk.sqlite was written by an earlier version of inorder (format 1, this is {STORE_FORMAT})"


def age_index(data: Path) -> str:
    set_format(data / "index.sqlite", INDEX_FORMAT - 1)
    return f"data/index.sqlite was written by an earlier version of inorder (format 5, this is {INDEX_FORMAT})"


def age_draft(data: Path) -> str:
    """An interrupted run has left a draft."""
    with closing(sqlite3.connect(data / "index.draft.sqlite")) as connection:
        connection.execute("CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL)")
    set_format(data / "index.draft.sqlite", 3)
    return f"data/index.draft.sqlite was written by an earlier version of inorder (format 3, this is {INDEX_FORMAT})"


def write_files(data: Path) -> str:
    """The results are files, as before there were stores."""
    shutil.rmtree(data / "store")
    (data / "doctags/docs").mkdir(parents=True)
    (data / "doctags/docs/a.md.doctags").write_text("<doctag></doctag>")
    return "data/doctags was written by an earlier version of inorder (files per document, this is a store)"


AGES = [age_store, age_index, age_draft, write_files]
COMMANDS = [
    "run docs --policy io",
    "doctags docs --policy io",
    "chunk --policy io",
    "embed --policy io",
    "index docs --policy io",
    "retry --policy io",
    "watch docs --policy io",
    "plan",
    "plan docs",
    "explain docs/a.md",
    "verify",
    "inspect",
    "inspect --duplicates",
    "failures",
    "manifest",
    "report",
    "show docs/a.md",
    "search lamp",
    "symbols light",
    "graph light",
    "eval questions.jsonl answers.tsv",
    "export all --to out",
    "export --to duckdb:///out.duckdb",
    "serve",
]


def read_tree(folder: Path) -> dict[str, bytes | None]:
    return {str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None for path in folder.rglob("*")}


@pytest.mark.parametrize("age", AGES, ids=lambda age: age.__name__)
@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_refuses_it_in_one_line_and_changes_nothing(
    cli: CommandLine, data: Path, command: str, age: Callable[[Path], str]
) -> None:
    expected = age(data)
    before = read_tree(cli.folder)
    found = cli.run_in_process(*command.split(), "--data", "data")
    assert (found.code, found.out) == (2, "")
    assert found.err.count("\n") == 1
    assert found.err.endswith(f"{expected}; {REMEDY}\n")
    assert read_tree(cli.folder) == before


@pytest.mark.parametrize("age", AGES, ids=lambda age: age.__name__)
def test_it_is_refused_in_python(data: Path, age: Callable[[Path], str]) -> None:
    expected = age(data)
    with pytest.raises(inorder.OperatorError) as caught:
        inorder.open(data)
    assert expected in str(caught.value)


def test_a_store_is_not_opened_for_writing(data: Path) -> None:
    path = data / "store/chunk.sqlite"
    set_format(path, STORE_FORMAT - 1)
    before = path.read_bytes()
    with pytest.raises(inorder.OperatorError, match=r"chunk\.sqlite was written by an earlier version"):
        StoreSink(str(data), "chunk", removes_failed=True)
    assert path.read_bytes() == before


@pytest.mark.parametrize("name", ["index.sqlite", "store/doctags.sqlite"])
def test_a_newer_one_is_refused_by_what_reads_it(cli: CommandLine, data: Path, name: str) -> None:
    set_format(data / name, 99)
    found = cli.run_in_process("run", "docs", "--policy", "io", "--data", "data")
    assert found.code == 2
    assert "newer" in found.err


def test_a_damaged_or_empty_database_is_not_taken_for_an_earlier_one(cli: CommandLine, data: Path) -> None:
    (data / "index.draft.sqlite").write_bytes(b"")
    (data / "store/other.sqlite").write_bytes(b"no database")
    assert cli.run_in_process("inspect", "--data", "data").code == 0
    assert cli.run_in_process("search", "lamp", "--data", "data").code == 0
