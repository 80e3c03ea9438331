"""A folder that cannot be read is a failed item, and nothing below it counts as deleted."""

import errno
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from inorder.files import listing
from tests.documents.stage_runs import StageRuns

pytestmark = pytest.mark.req("ROB-1", "RUN-17")


class ClosedFolders(StageRuns):
    """Runs in which the system refuses to list some folders."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        super().__init__(folder)
        self.closed: set[str] = set()
        read = listing._read

        def read_listing(path: str) -> listing.FolderListing:
            if path in self.closed:
                raise OSError(errno.EIO, "Input/output error", path)
            return read(path)

        monkeypatch.setattr(listing, "_read", read_listing)

    def run_all(self) -> set[str]:
        """Run all stages. Returns the files in the index."""
        self.doctags()
        self.chunk()
        self.embed(dense="hash:16")
        self.index("docs")
        with closing(sqlite3.connect(self.data / "index.sqlite")) as index:
            return {item_id for (item_id,) in index.execute("SELECT item_id FROM files")}


def test_what_is_below_a_folder_that_cannot_be_read_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runs = ClosedFolders(tmp_path, monkeypatch)
    inner, outer = {"docs/disk/lamp.md", "docs/disk/lamp.py"}, {"docs/horn.md", "docs/horn.py"}
    for name in inner | outer:
        text = "# A lamp\n\nIt burns.\n" if name.endswith(".md") else "def light():\n    return 1\n"
        runs.write(name, f"{text}{'' if name.endswith('.md') else '# '}{name}\n")
    assert runs.run_all() == inner | outer
    runs.closed.add(str(runs.docs / "disk"))
    (runs.docs / "horn.md").unlink()
    assert runs.run_all() == {"docs/horn.py", *inner}
    assert runs.rows("doctags")["docs/disk"]["error"]["message"] == "the folder cannot be read: Input/output error"
    runs.closed.clear()
    (runs.docs / "disk" / "lamp.md").unlink()
    (runs.docs / "disk" / "lamp.py").unlink()
    assert runs.run_all() == {"docs/horn.py"}
