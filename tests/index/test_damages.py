"""A damaged index in a library: a search says so in one line, and `verify` finds it."""

import re
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tests.index.project import Project

ONE_TERM = "x'01000800010000000000000000000000010000000000000000000000000020616e7377657220ff01'"
"""A block with the term `answer` in chunk 255."""
DAMAGES = [
    "UPDATE term_blocks SET data = x'00'",
    "UPDATE term_blocks SET data = 'text'",
    "UPDATE term_blocks SET data = substr(data, 1, length(data) - 1)",
    "UPDATE term_blocks SET data = CAST(x'0000' || substr(data, 3) AS BLOB)",
    "UPDATE term_blocks SET data = CAST(x'ffff' || substr(data, 3) AS BLOB)",
    "UPDATE term_blocks SET segment = 77",
    pytest.param(f"UPDATE term_blocks SET data = {ONE_TERM}", id="a chunk that its segment does not have"),
    "UPDATE segments SET chunks = x'0102'",
    "UPDATE segments SET body_lengths = x'00'",
    "DELETE FROM segments",
    "UPDATE vectors SET chunks = x'00'",
    "DELETE FROM vectors",
    "DELETE FROM vector_files",
    "UPDATE vector_files SET dead = 1",
]


@pytest.fixture(scope="module")
def searchable(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A library with a document, its vectors, and code."""
    project = Project(tmp_path_factory.mktemp("searchable"))
    project.write("a.md", "# Alpha\n\nThe first answer.\n")
    project.write("code.py", "def answer():\n    return 42\n")
    project.build()
    return project


@pytest.mark.slow
@pytest.mark.req("CLI-3", "CLI-6")
@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_index_is_one_clear_line(searchable: Project, tmp_path: Path, damage: str) -> None:
    project = Project(tmp_path)
    shutil.copytree(searchable.data, project.data)
    with closing(sqlite3.connect(project.data / "library.sqlite", isolation_level=None)) as database:
        database.execute(damage)
    ended = project.call("search", "answer")
    assert ended.returncode == 6
    assert re.fullmatch(
        r"inorder: .*library\.sqlite is damaged \(.*\); remove it and run `inorder run SRC` again: .*\n", ended.stderr
    )
    assert project.call("verify").returncode == 6
