"""A library whose run was killed before it had tables."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from inorder.library.schema import APPLICATION_ID
from tests.support.command_line import CommandLine


@pytest.mark.process
@pytest.mark.req("JRN-7", "PIP-7")
@pytest.mark.parametrize("pragma", ["", f"PRAGMA application_id={APPLICATION_ID}", "PRAGMA journal_mode=WAL"])
def test_a_file_without_tables_is_made_into_a_library_by_the_next_run(cli: CommandLine, pragma: str) -> None:
    (cli.folder / "docs").mkdir()
    (cli.folder / "docs" / "a.md").write_text("# Tides\n\nThe tide turns.\n")
    data = cli.folder / ".inorder"
    data.mkdir()
    Path(data / "library.sqlite").touch()
    with closing(sqlite3.connect(data / "library.sqlite")) as connection:
        connection.execute(pragma)
    said = cli.run("search", "tide")
    assert (said.code, said.err.count("\n")) == (2, 1), said.err
    assert "inorder: no library in " in said.err
    assert "/.inorder; make one with `inorder run SRC`" in said.err
    assert cli.run("run", "docs").code == 0
    assert "a.md" in cli.run("search", "tide").out
