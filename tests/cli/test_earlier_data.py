"""DATA of an earlier version: every command says so in one line, and changes nothing."""

from pathlib import Path

import pytest

import inorder
from tests.support.command_line import CommandLine

pytestmark = pytest.mark.req("CLI-3")
REMEDY = "remove DATA and run again, or use that version"
FILES = ["index.sqlite", "index.draft.sqlite", "store/doctags.sqlite", "store/chunk.sqlite", "store/embed.sqlite"]
"""What only earlier versions have written."""


@pytest.fixture(params=FILES)
def earlier(request: pytest.FixtureRequest, cli: CommandLine) -> str:
    """The path of a file in DATA."""
    (cli.folder / "docs").mkdir()
    (cli.folder / "docs/a.md").write_text("# Lamp\n\nThe lamp is lit.\n")
    (cli.folder / "questions.jsonl").write_text('{"id": "1", "text": "lamp"}\n')
    (cli.folder / "answers.tsv").write_text("1\tdocs/a.md\t1\n")
    path = cli.folder / "data" / request.param
    path.parent.mkdir(parents=True)
    path.write_bytes(b"SQLite format 3\0")
    (cli.folder / "data/manifests").mkdir()
    (cli.folder / "data/manifests/doctags.jsonl").write_text("")
    return f"data/{request.param}"


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


@pytest.mark.slow
@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_refuses_it_in_one_line_and_changes_nothing(cli: CommandLine, earlier: str, command: str) -> None:
    before = read_tree(cli.folder)
    found = cli.run_in_process(*command.split(), "--data", "data")
    assert (found.code, found.out) == (2, "")
    assert found.err.count("\n") == 1
    assert found.err.endswith(f"{earlier} was written by an earlier version of inorder; {REMEDY}\n")
    assert read_tree(cli.folder) == before


def test_it_is_refused_in_python(cli: CommandLine, earlier: str) -> None:
    with pytest.raises(inorder.OperatorError) as caught:
        inorder.open(cli.folder / "data")
    assert f"{earlier} was written by an earlier version of inorder" in str(caught.value)
