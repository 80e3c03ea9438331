"""A source that vanishes while it is listed: the run ends, and nothing looks deleted."""

from pathlib import Path

import pytest

from inorder.errors import OperatorError
from inorder.pipeline.sources.names import SourcePart
from inorder.pipeline.sources.walk import walk_part
from tests.support.command_line import CommandLine

IN_THREADS = ("--policy", "io", "--workers", "1", "-q")


def test_a_listing_of_a_folder_that_vanishes_does_not_come_to_its_end(tmp_path: Path) -> None:
    docs = tmp_path / "docs"
    docs.mkdir()
    for name in ("a.py", "b.py"):
        (docs / name).write_text("x = 1\n")
    found = walk_part(SourcePart("docs", str(docs)), ())
    assert next(found).item_id == "docs/a.py"
    docs.rename(tmp_path / "away")
    with pytest.raises(OperatorError, match="no such file or directory"):
        list(found)
    with pytest.raises(OperatorError, match="no such file or directory"):
        list(walk_part(SourcePart("docs", str(docs)), ()))


@pytest.mark.slow
def test_a_run_whose_source_vanishes_after_it_was_checked_removes_nothing(
    cli: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    cli.source("a.md", "# Lamp\n\nA lamp.\n")
    assert cli.run_in_process("run", "sources", *IN_THREADS).code == 0

    def vanish(data: object) -> None:
        cli.source_folder.rename(cli.folder / "away")

    monkeypatch.setattr("inorder.cli.pipeline.require_current_data", vanish)
    ended = cli.run_in_process("run", "sources", *IN_THREADS)
    assert ended.code == 2
    assert ended.err.startswith(f"inorder: no such file or directory: {cli.source_folder}; if it is gone for good")
    hits = cli.run("search", "lamp", "--json").json["hits"]
    assert [Path(hit["path"]).name for hit in hits] == ["a.md"]
