"""A run of `index` knows by the names of all files that they are documents: no file is looked up in the database."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from inorder.index.stage import IndexItems
from inorder.stage import file_stat
from tests.documents.stage_runs import StageRuns

pytestmark = [pytest.mark.req("STL-1"), pytest.mark.req("RUN-17")]


class Runs(StageRuns):
    """All stages, and how often all files were looked up."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        super().__init__(folder)
        self.looked_up = 0
        are_documents = IndexItems._are_documents

        def count(items: IndexItems, *arguments: object) -> bool:
            self.looked_up += 1
            return are_documents(items, *arguments)  # type: ignore[arg-type]

        monkeypatch.setattr(IndexItems, "_are_documents", count)
        monkeypatch.setattr(file_stat, "RACY_NS", -(10**12))
        for name in "abc":
            self.write(f"docs/{name}.md", f"# Title {name}\n\nWords of {name}.\n")
        self.run_all()
        self.run_all()

    def run_all(self) -> tuple[int, list[str]]:
        """Run all stages. Returns how often all files were looked up, and the files in the index."""
        self.looked_up = 0
        self.doctags()
        self.chunk()
        self.embed(dense="none")
        self.index()
        with closing(sqlite3.connect(self.data / "index.sqlite")) as index:
            return self.looked_up, [name for (name,) in index.execute("SELECT item_id FROM files ORDER BY item_id")]


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Runs:
    return Runs(tmp_path, monkeypatch)


def test_nothing_is_looked_up_if_the_names_are_the_same(runs: Runs) -> None:
    assert runs.run_all() == (0, ["docs/a.md", "docs/b.md", "docs/c.md"])
    runs.write("docs/b.md", "# Other\n\nOther words.\n")
    assert runs.run_all() == (0, ["docs/a.md", "docs/b.md", "docs/c.md"])
    assert runs.done("index") == {"docs/b.md"}


def test_source_code_that_was_added_is_indexed(runs: Runs) -> None:
    runs.write("docs/d.py", "def light():\n    return 1\n")
    looked_up, files = runs.run_all()
    assert looked_up
    assert files == ["docs/a.md", "docs/b.md", "docs/c.md", "docs/d.py"]


def test_a_document_that_is_none_any_more_is_noticed_under_its_name(runs: Runs) -> None:
    (runs.docs / "b.md").write_bytes(b"\0\1\2\3" * 100)
    looked_up, files = runs.run_all()
    assert looked_up
    assert files == ["docs/a.md", "docs/c.md"]
    assert "docs/b.md" in runs.rows("index")


def test_a_copy_that_becomes_a_document_of_its_own_is_indexed(runs: Runs) -> None:
    runs.write("docs/e.md", (runs.docs / "a.md").read_text())
    assert runs.run_all()[1] == ["docs/a.md", "docs/b.md", "docs/c.md"]
    runs.run_all()
    runs.write("docs/e.md", "# Its own\n\nText.\n")
    assert runs.run_all()[1] == ["docs/a.md", "docs/b.md", "docs/c.md", "docs/e.md"]


def test_other_sources_have_other_names(runs: Runs) -> None:
    runs.write("code/f.py", "def light():\n    return 1\n")
    runs.index("docs", "code")
    assert "code/f.py" in runs.rows("index")
