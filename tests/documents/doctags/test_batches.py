"""Files of a folder are compared with the last listing as batches."""

import os
from collections.abc import Set
from pathlib import Path

import pytest

from inorder.documents import discovery
from inorder.documents.discovery import DocumentFile, FileBatch, discover_batches
from inorder.documents.doctags import listing
from inorder.stage import file_stat
from inorder.stage.sources import Roots

pytestmark = pytest.mark.req("STL-1")


class Folder:
    """A folder whose files are listed as batches."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.mkdir()
        self.listing = b""

    def write(self, *names: str) -> None:
        for name in names:
            (self.path / name).write_text(f"text of {name}")

    def list_found(self) -> list[FileBatch | DocumentFile]:
        return [*discover_batches(Roots([self.path]))]

    def keep(self, apart: Set[int] = frozenset()) -> None:
        """Keep a listing of the files."""
        listed = listing.FileListing()
        for found in self.list_found():
            for file in found if isinstance(found, FileBatch) else [found]:
                listed.add(file)
                if len(listed) - 1 in apart:
                    listed.mark_apart()
            if isinstance(found, FileBatch):
                listed.end_batch(len(found), listing.hash_batch(found))
        self.listing = listed.encode()

    def compare(self) -> listing.ListingComparison:
        compared = listing.ListingComparison(self.listing)
        for found in self.list_found():
            compared.add(found)
        compared.finish()
        return compared


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Folder:
    """Nine files, none of them racy, in batches of three."""
    monkeypatch.setattr(file_stat, "RACY_NS", -(10**12))
    monkeypatch.setattr(discovery, "_BATCH_FILES_MAX", 3)
    found = Folder(tmp_path / "docs")
    found.write(*(f"{number}.md" for number in range(9)))
    found.keep()
    return found


def list_unmatched(compared: listing.ListingComparison) -> list[tuple[int, str]]:
    return [(place, os.path.basename(file.path)) for place, file in compared.list_unmatched()]


def test_no_file_of_a_batch_that_has_not_changed_is_compared(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder.path / "4.md").write_text("another text")
    added: list[str] = []
    add = listing.FileListing.add
    monkeypatch.setattr(listing.FileListing, "add", lambda this, file: [added.append(file.path), add(this, file)][1])
    compared = folder.compare()
    assert [os.path.basename(path) for path in added] == ["3.md", "4.md", "5.md"]
    assert (list_unmatched(compared), compared.list_dropped()) == ([(4, "4.md")], {4})


def test_a_listing_with_batches_is_that_of_all_files(folder: Folder) -> None:
    before = folder.listing
    assert folder.compare().listing.encode() == before
    (folder.path / "4.md").write_text("another text")
    compared = folder.compare()
    folder.keep()
    assert compared.listing.encode() == folder.listing != before


def test_files_that_are_new_or_gone_move_the_others_to_other_batches(folder: Folder) -> None:
    (folder.path / "1.md").unlink()
    folder.write("51.md")
    compared = folder.compare()
    assert (list_unmatched(compared), compared.list_dropped()) == ([(6, "51.md")], {1})


def test_the_same_batch_elsewhere_is_another_one(folder: Folder) -> None:
    os.rename(folder.path, f"{folder.path}2")
    folder.path = Path(f"{folder.path}2")
    compared = folder.compare()
    assert not compared.follows(folder.listing) or len(list_unmatched(compared)) == 9


def test_files_of_a_batch_whose_items_are_apart_stay_apart(folder: Folder) -> None:
    folder.keep(apart={1, 7})
    assert folder.compare().listing.apart == [1, 7]
    (folder.path / "0.md").unlink()
    compared = folder.compare()
    assert compared.listing.apart == [0, 6]
    assert compared.list_dropped() == {0}


def test_a_batch_with_a_racy_file_has_no_digest(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_stat, "RACY_NS", 10**12)
    folder.keep()
    compared = folder.compare()
    assert compared.listing.is_racy
    assert compared.is_exceeded or len(list_unmatched(compared)) == 9


def test_a_link_makes_the_files_of_its_batch_single_ones(folder: Folder) -> None:
    (folder.path / "4.md").unlink()
    (folder.path / "4.md").symlink_to("3.md")
    kinds = [len(found) if isinstance(found, FileBatch) else 1 for found in folder.list_found()]
    assert kinds == [3, 1, 1, 1, 3]
    folder.keep()
    assert list_unmatched(folder.compare()) == []
