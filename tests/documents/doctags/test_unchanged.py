"""Documents that have not changed since the last run: their files are not opened."""

import os
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

import inorder
from inorder.documents.discovery import DocumentFile
from inorder.documents.doctags import listing
from inorder.documents.doctags import stage as doctags
from inorder.documents.doctags.stage import DoctagsSettings, make
from inorder.stage import file_stat
from inorder.stage.store.database import open_store

pytestmark = pytest.mark.req("STL-1")


class Documents:
    """A folder of documents, and runs of `doctags` over it."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.sources = folder / "docs"
        self.sources.mkdir()
        self.data = folder / "data"
        self.settings = DoctagsSettings()
        self.opened: list[str] = []
        read_head = doctags.read_head

        def read(path: str, count: int) -> bytes:
            self.opened.append(os.path.basename(path))
            return read_head(path, count)

        monkeypatch.setattr(doctags, "read_head", read)

    def run(self) -> inorder.StageOutcome:
        self.opened.clear()
        stage = make(self.settings)
        options = inorder.StageOptions(data=self.data, policy="io", workers=1, progress="none", fsync="off")
        return inorder.run_stage(stage.plan([self.sources], self.data), stage.worker, options)

    def list_ids(self) -> list[str]:
        store = open_store(str(self.data), "doctags")
        assert store is not None
        return [item.item_id for item in store.iterate()]


@pytest.fixture
def documents(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Documents:
    """Three documents that were written long ago, after the first run."""
    monkeypatch.setattr(file_stat, "RACY_NS", -(10**12))
    made = Documents(tmp_path, monkeypatch)
    for name in "abc":
        (made.sources / f"{name}.md").write_text(f"# Title {name}\n")
    assert made.run().succeeded == 3
    assert made.opened == ["a.md", "b.md", "c.md"]
    return made


def test_no_file_is_opened_if_nothing_has_changed(documents: Documents) -> None:
    for _ in range(2):
        outcome = documents.run()
        assert (outcome.skipped, outcome.scheduled, documents.opened) == (3, 3, [])


def test_a_file_that_was_just_written_is_read_again(documents: Documents, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_stat, "RACY_NS", 10**15)
    for _ in range(3):
        assert documents.run().skipped == 3
        assert documents.opened == ["a.md", "b.md", "c.md"]


def change_content(documents: Documents) -> None:
    """The same size and the same modification time."""
    path = documents.sources / "b.md"
    before = path.stat()
    path.write_text("# Title x\n")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def add_file(documents: Documents) -> None:
    (documents.sources / "d.md").write_text("# Title d\n")


def remove_file(documents: Documents) -> None:
    (documents.sources / "b.md").unlink()


def rename_file(documents: Documents) -> None:
    (documents.sources / "b.md").rename(documents.sources / "e.md")


def ignore_file(documents: Documents) -> None:
    (documents.sources / ".inorderignore").write_text("b.md\n")


def change_settings(documents: Documents) -> None:
    documents.settings = msgspec.structs.replace(documents.settings, split_pages=7)


@pytest.mark.parametrize(
    ("change", "succeeded", "ids"),
    [
        pytest.param(change_content, 1, "abc", id="content"),
        pytest.param(add_file, 1, "abcd", id="added"),
        pytest.param(remove_file, 0, "ac", id="removed"),
        pytest.param(rename_file, 1, "ace", id="renamed"),
        pytest.param(ignore_file, 0, "ac", id="ignored"),
        pytest.param(change_settings, 0, "abc", id="settings"),
    ],
)
def test_whatever_changes_is_noticed(
    documents: Documents, change: Callable[[Documents], None], succeeded: int, ids: str
) -> None:
    documents.run()
    change(documents)
    outcome = documents.run()
    assert len(documents.opened) == (3 if change is change_settings else succeeded)
    assert outcome.succeeded == succeeded
    assert documents.list_ids() == [f"docs/{name}.md" for name in ids]
    documents.run()  # if something was removed, its row is not repeated
    documents.run()
    assert documents.opened == []


def test_another_version_of_a_reader_reads_its_documents_again(
    documents: Documents, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings_of = doctags.settings_of
    monkeypatch.setattr(doctags, "settings_of", lambda settings, kind: settings_of(settings, kind) | {"reader": "new"})
    assert documents.run().succeeded == 3


def test_files_that_have_changed_are_kept_if_they_are_few(
    documents: Documents, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If they are many, no longer: all files are checked."""
    monkeypatch.setattr(listing, "_UNMATCHED_MAX", 2)
    for name in "defgh":
        (documents.sources / f"{name}.md").write_text(f"# Title {name}\n")
    documents.run()
    documents.run()
    for changed, opened in (("ab", "ab"), ("abc", "abcdefgh"), ("c", "c")):
        for name in changed:
            (documents.sources / f"{name}.md").write_text(f"# Other {name} than {documents.opened}\n")
        outcome = documents.run()
        assert (outcome.succeeded, outcome.skipped) == (len(changed), 8 - len(changed))
        assert documents.opened == [f"{name}.md" for name in opened]


def test_files_of_a_comparison_are_released_if_they_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listing, "_UNMATCHED_MAX", 2)
    known = listing.FileListing()
    for number in range(9):
        known.add(DocumentFile(f"{number}", f"/{number}", 1, "unreadable"))
    compared = listing.ListingComparison(known.encode())
    for number in range(9):
        compared.add(DocumentFile(f"new {number}", f"/{number}", 1, "unreadable"))
        assert compared.is_exceeded == (number >= 2)
        assert len(compared.list_unmatched()) == (0 if compared.is_exceeded else number + 1)
