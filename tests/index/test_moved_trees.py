"""A source in a Git working tree whose commit has changed since it was indexed."""

import os
from pathlib import Path

from inorder.index.staleness import _find_moved_trees

INDEXED_NS = 1_700_000_000 * 10**9


def make_tree(folder: Path, moved_s: int) -> None:
    log = folder / ".git" / "logs" / "HEAD"
    log.parent.mkdir(parents=True)
    log.touch()
    os.utime(log, (1_700_000_000 + moved_s, 1_700_000_000 + moved_s))


def test_the_tree_around_a_source_counts_wherever_the_source_is_in_it(tmp_path: Path) -> None:
    make_tree(tmp_path, 5)
    (tmp_path / "src" / "deep").mkdir(parents=True)
    for source in (tmp_path, tmp_path / "src", tmp_path / "src" / "deep"):
        assert list(_find_moved_trees(str(source), INDEXED_NS)) == [str(tmp_path)]


def test_only_the_innermost_tree_counts(tmp_path: Path) -> None:
    make_tree(tmp_path, 5)
    make_tree(tmp_path / "vendored", -5)
    assert list(_find_moved_trees(str(tmp_path / "vendored"), INDEXED_NS)) == []


def test_a_linked_tree_is_followed_to_its_log(tmp_path: Path) -> None:
    make_tree(tmp_path / "main", 5)
    linked = tmp_path / "linked"
    linked.mkdir()
    (linked / ".git").write_text("gitdir: ../main/.git\n")
    assert list(_find_moved_trees(str(linked), INDEXED_NS)) == [str(linked)]
