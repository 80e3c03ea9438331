"""The stats of files of a folder are read together."""

import os
from array import array
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inorder.documents.discovery import FileBatch, discover_batches
from inorder.files.stats import INODES, read_stats
from inorder.stage.file_stat import RACY_NS, FileStat
from inorder.stage.sources import Roots

pytestmark = pytest.mark.req("STL-1")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Some files. One has a name that is not valid Unicode, and one was changed before 1970."""
    for number, name in enumerate(["a.md", "größe.md", "\udcff.md", "old.md"]):
        (tmp_path / name).write_bytes(b"x" * number * 1000)
    os.utime(tmp_path / "old.md", ns=(-5, -1_999_999_999))
    return tmp_path


def test_the_stat_of_each_file_is_that_of_the_system(folder: Path) -> None:
    names = sorted(os.listdir(folder))
    read_ns = 10**18
    stats = read_stats(f"{folder}/", names)
    assert stats is not None
    batch = FileBatch("docs/", f"{folder}/", names, stats, read_ns)
    found = [(file.path, file.size, file.stat) for file in batch]
    infos = [os.stat(folder / name) for name in names]
    assert found == [
        (f"{folder}/{name}", info.st_size, FileStat.make(info, read_ns))
        for name, info in zip(names, infos, strict=True)
    ]
    assert [*batch.sizes] == [info.st_size for info in infos]


def test_there_are_none_if_one_is_not_a_regular_file_or_gone(folder: Path) -> None:
    (folder / "link.md").symlink_to(folder / "a.md")
    (folder / "folder.md").mkdir()
    os.mkfifo(folder / "pipe.md")
    for name in ("link.md", "folder.md", "pipe.md", "gone.md"):
        assert read_stats(f"{folder}/", ["a.md", name]) is None
    assert read_stats(f"{folder}/gone/", ["a.md"]) is None


@given(st.integers(0, INODES - 1))
def test_any_inode_is_kept(inode: int) -> None:
    kept = inode if inode < INODES // 2 else inode - INODES
    [file] = FileBatch("docs/", "/docs/", ["a.md"], array("q", [1, 2, 3, kept]), 4)
    assert file.stat == FileStat(1, 2, 3, inode, 4)


@pytest.mark.parametrize("times", [(0, RACY_NS), (RACY_NS, 0)])
def test_files_are_racy_after_a_change_of_either_time(times: tuple[int, int]) -> None:
    stats = array("q", [1, 0, 0, 7, 1, *times, 8])
    assert FileBatch("docs/", "/docs/", ["a.md", "b.md"], stats, 2 * RACY_NS - 1).is_racy
    assert not FileBatch("docs/", "/docs/", ["a.md", "b.md"], stats, 2 * RACY_NS).is_racy


def test_only_the_batch_with_a_link_is_taken_apart(tmp_path: Path) -> None:
    for number in range(60):
        (tmp_path / f"{number:02}.md").touch()
    (tmp_path / "30.md").unlink()
    (tmp_path / "30.md").symlink_to(tmp_path / "31.md")
    found = [*discover_batches(Roots([tmp_path]))]
    assert [len(each) if isinstance(each, FileBatch) else 1 for each in found] == [25, *[1] * 25, 10]
    paths = [file.path for each in found for file in (each if isinstance(each, FileBatch) else [each])]
    assert paths == [f"{tmp_path}/{number:02}.md" for number in range(60)]
