"""The entries of a directory are listed in an order that does not depend on the machine."""

import os
from pathlib import Path

import pytest

from inorder.files.listing import list_folder


def test_names_come_in_the_order_of_their_bytes_and_links_are_no_folders(tmp_path: Path) -> None:
    names = ["b.md", "Zwei.md", "with space", "uml\u00e4ut", os.fsdecode(b"undecodable-\xff")]
    for name in names:
        (tmp_path / name).touch()
    for name in ("z", "\u00e4"):
        (tmp_path / name).mkdir()
    (tmp_path / "link").symlink_to("z")
    assert list_folder(str(tmp_path)) == (sorted([*names, "link"], key=os.fsencode), ["z", "\u00e4"])


def test_an_empty_folder_has_no_entries(tmp_path: Path) -> None:
    assert list_folder(str(tmp_path)) == ([], [])


def test_a_folder_that_cannot_be_read_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        list_folder(str(tmp_path / "nowhere"))
