"""A source that vanishes while it is listed: the run ends, and nothing looks deleted."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from inorder.code.discovery import discover as discover_code
from inorder.documents.discovery import discover as discover_documents
from inorder.errors import OperatorError
from inorder.stage.sources import Roots
from tests.support.command_line import CommandLine

Discover = Callable[[Roots], Iterator[Any]]
IN_THREADS = ("--policy", "io", "--workers", "1", "-q")


@pytest.mark.parametrize("discover", [discover_documents, discover_code])
def test_a_listing_of_a_folder_that_vanishes_does_not_come_to_its_end(tmp_path: Path, discover: Discover) -> None:
    docs = tmp_path / "docs"
    docs.mkdir()
    for name in ("a.py", "b.py"):
        (docs / name).write_text("x = 1\n")
    found = discover(Roots([docs]))
    assert next(found).item_id == "docs/a.py"
    docs.rename(tmp_path / "away")
    with pytest.raises(OperatorError, match="no such file or directory"):
        list(found)
    with pytest.raises(OperatorError, match="no such file or directory"):
        list(discover(Roots([docs])))


def test_a_run_whose_source_vanishes_after_it_was_checked_removes_nothing(
    cli: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    cli.source("a.md", "# Lamp\n\nA lamp.\n")
    assert cli.run_in_process("run", "sources", *IN_THREADS).code == 0

    def vanish(data: object) -> None:
        cli.source_folder.rename(cli.folder / "away")

    monkeypatch.setattr("inorder.cli.builtin.require_current_data", vanish)
    ended = cli.run_in_process("run", "sources", *IN_THREADS)
    assert (ended.code, ended.err) == (2, f"inorder: no such file or directory: {cli.source_folder}\n")
    hits = cli.run("search", "lamp", "--json").json["hits"]
    assert [Path(hit["path"]).name for hit in hits] == ["a.md"]
