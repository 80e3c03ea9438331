"""An export of DATA that cannot be read: it says why, and removes nothing of the last export."""

import os
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from tests.pipeline.runs import Library, write
from tests.support.command_line import CommandResult, clean_environment
from tests.support.in_process import run_in_process

pytestmark = [pytest.mark.req("SIL-2"), pytest.mark.process]

PAGE = 8192


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with documents, their DATA, and an export of each kind."""
    folder = tmp_path_factory.mktemp("exported")
    write(folder / "docs", **{f"{n}.md": f"# Lamp {n}\n\n{'Words of a lamp. ' * 40}{n}\n" for n in range(30)})
    Library(folder / "data").run(folder / "docs")
    for format_ in ("parquet", "jsonl", "files"):
        assert export(folder, format_).code == 0
    return folder


@pytest.fixture
def folder(exported: Path, tmp_path: Path) -> Path:
    """The same, to be damaged."""
    shutil.copytree(exported, tmp_path / "copy")
    return tmp_path / "copy"


def export(folder: Path, format_: str) -> CommandResult:
    arguments = ("export", "--format", format_, "--to", str(folder / format_), "--data", str(folder / "data"))
    return CommandResult(*run_in_process(arguments, folder, clean_environment()))


def look(folder: Path) -> dict[str, bytes]:
    found = [path for path in folder.rglob("*") if path.is_file() and ".inorder" not in path.parts]
    return {str(path): path.read_bytes() for path in found}


def zero_page(library: Path, number: int) -> None:
    content = library.read_bytes()
    library.write_bytes(content[: number * PAGE] + bytes(PAGE) + content[(number + 1) * PAGE :])


def find_last_page(library: Path) -> int:
    return library.stat().st_size // PAGE - 1


def find_root(library: Path, table: str) -> int:
    """The page where a table begins."""
    with closing(sqlite3.connect(library)) as database:
        [root] = database.execute("SELECT rootpage FROM sqlite_master WHERE name = ?", (table,)).fetchone()
    return int(root) - 1


@pytest.mark.parametrize("format_", ["parquet", "jsonl", "files"])
@pytest.mark.parametrize(
    "damage",
    [
        os.unlink,
        lambda library: os.truncate(library, library.stat().st_size // 2 // PAGE * PAGE),
        lambda library: os.truncate(library, 100),
        lambda library: os.truncate(library, 0),
        lambda library: zero_page(library, find_root(library, "results")),
        lambda library: zero_page(library, find_root(library, "results_by_key")),
        lambda library: zero_page(library, find_root(library, "items")),
        lambda library: zero_page(library, find_last_page(library)),
    ],
    ids=["lost", "cut in half", "cut short", "emptied", "results", "results by key", "items", "last page"],
)
def test_nothing_is_removed_because_data_cannot_be_read(
    folder: Path, damage: Callable[[Path], object], format_: str
) -> None:
    before = look(folder / format_)
    assert before
    damage(folder / "data" / "library.sqlite")
    ended = export(folder, format_)
    assert ended.code == 6
    assert ended.err.count("\n") == 1
    assert "library.sqlite" in ended.err
    assert look(folder / format_) == before
