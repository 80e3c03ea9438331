"""A folder that cannot be read is a failed file, and nothing below it counts as deleted."""

import errno
from pathlib import Path

import pytest

from inorder.files import listing
from inorder.pipeline.sources import walk
from tests.documents.stage_runs import StageRuns
from tests.pipeline.runs import Library

pytestmark = pytest.mark.req("ROB-1", "RUN-17")


class ClosedFolders(StageRuns):
    """Runs in which the system refuses to list some folders."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        super().__init__(folder)
        self.closed: set[str] = set()
        read = walk.list_folder

        def read_listing(path: str) -> listing.FolderListing:
            if path.rstrip("/") in self.closed:
                raise OSError(errno.EIO, "Input/output error", path)
            return read(path)

        monkeypatch.setattr(walk, "list_folder", read_listing)

    def run_all(self) -> set[str]:
        """Run all steps. Returns the files that can be searched."""
        self.run(dense="hash:16")
        return {*Library(self.data).list_searchable()}


@pytest.mark.slow
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
    assert runs.reasons() == {"docs/disk": "the folder cannot be read: Input/output error"}
    runs.closed.clear()
    (runs.docs / "disk" / "lamp.md").unlink()
    (runs.docs / "disk" / "lamp.py").unlink()
    assert runs.run_all() == {"docs/horn.py"}
    assert runs.reasons() == {}
