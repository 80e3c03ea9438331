"""Directory listings that several walks share."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from inorder.code.discovery import discover as discover_code
from inorder.documents.discovery import discover as discover_documents
from inorder.files import listing
from inorder.files.listing import list_folder, share_listings
from inorder.stage.sources import Roots


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """Hidden files, ignore files of both kinds at two depths, links, odd names, an empty folder."""
    root = tmp_path / "root"
    for folder in ("a/deep", "b", "empty", ".hidden", "node_modules/x", "__pycache__"):
        (root / folder).mkdir(parents=True)
    for name in (
        "one.md",
        "Zwei.md",
        "a/two.py",
        "a/ignored.log",
        "a/kept.log",
        "a/deep/x.txt",
        "b/skipped.txt",
        ".hidden/h.txt",
        "node_modules/x/y.js",
        "__pycache__/z.pyc",
        "b/with space.txt",
        "b/umläut.txt",
    ):
        (root / name).write_text("text\n", encoding="utf-8")
    (root / ".gitignore").write_text("*.log\n")
    (root / "a" / ".gitignore").write_text("!kept.log\n")
    (root / "b" / ".inorderignore").write_text("skipped.txt\n")
    (root / "link").symlink_to("a")
    (root / "b" / "loop").symlink_to("..")
    with open(os.fsencode(root / "b") + b"/undecodable-\xff.txt", "wb") as file:
        file.write(b"text\n")
    return root


@pytest.mark.parametrize("discover", [discover_documents, discover_code])
def test_a_shared_walk_finds_the_same_files_in_the_same_order(tree: Path, discover: Callable[..., Any]) -> None:
    def list_paths() -> list[tuple[str, str]]:
        return [(file.path, file.problem) for file in discover(roots)]

    roots = Roots([tree])
    alone = list_paths()
    with share_listings():
        shared = [list_paths() for _ in range(2)]
    assert len(alone) > 3
    assert shared == [alone, alone]


def test_the_names_of_a_large_folder_take_a_few_bytes_each_while_they_are_shared(tree: Path) -> None:
    for number in range(500):
        (tree / "b" / f"document-{number:07}.md").touch()
    alone = list_folder(str(tree / "b"))
    with share_listings():
        assert list_folder(str(tree / "b")) == alone
        assert list_folder(str(tree / "b")) == alone
        assert sum(map(len, (listing._shared or {}).values())) < 5 * 500


def test_a_listing_is_read_once_while_it_is_shared_and_again_afterwards(tree: Path) -> None:
    with share_listings():
        before = list_folder(str(tree))
        (tree / "new.txt").write_text("new")
        with share_listings():
            assert list_folder(str(tree)) == before
        assert list_folder(str(tree)) == before
    assert "new.txt" in list_folder(str(tree)).files


def test_an_empty_folder_has_no_entries_the_second_time_too(tree: Path) -> None:
    with share_listings():
        assert [list_folder(str(tree / "empty")) for _ in range(2)] == [([], [])] * 2


def test_a_folder_that_cannot_be_read_is_an_error_every_time(tree: Path) -> None:
    with share_listings():
        for _ in range(2):
            with pytest.raises(FileNotFoundError):
                list_folder(str(tree / "nowhere"))
