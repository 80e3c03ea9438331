"""A local source: which folders are watched, which events count, and what a listing shows."""

import os
from pathlib import Path

import pytest

from inorder.watch.source import LocalSource


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    folder = tmp_path / "docs"
    (folder / "a" / "b").mkdir(parents=True)
    (folder / "a" / "one.md").write_text("one")
    return folder


def list_paths(source: LocalSource, root: Path) -> list[str]:
    return [os.path.relpath(folder.path, root) for folder in source.list_folders()]


def counts(source: LocalSource, folder: Path, name: str) -> bool:
    [found] = [each for each in source.list_folders() if each.path == str(folder)]
    return found.counts(name, (folder / name).is_dir())


def test_every_folder_that_a_run_enters_is_watched(docs: Path, tmp_path: Path) -> None:
    (docs / ".git").mkdir()
    (docs / "data" / "store").mkdir(parents=True)
    (docs / "ignored").mkdir()
    (docs / ".inorderignore").write_text("ignored/\n")
    (tmp_path / "elsewhere").mkdir()
    (docs / "link").symlink_to(tmp_path / "elsewhere")
    (docs / "loop").symlink_to(docs)
    source = LocalSource(str(docs), [str(docs / "data")])
    assert list_paths(source, docs) == [".", "a", "a/b"]


def test_events_of_files_that_a_run_reads_count(docs: Path) -> None:
    (docs / ".inorderignore").write_text("*.log\n")
    source = LocalSource(str(docs), [str(docs / "metrics.prom"), str(docs / "metrics.prom.new")])
    counting = ["new.md", "a", ".inorderignore", ".gitignore"]
    others = ["build.log", ".hidden", ".new.md.swp", "metrics.prom", "metrics.prom.new"]
    assert [name for name in [*counting, *others] if counts(source, docs, name)] == counting


def test_of_a_single_file_only_its_own_events_count(docs: Path) -> None:
    source = LocalSource(str(docs / "a" / "one.md"))
    assert list_paths(source, docs) == ["a"]
    assert counts(source, docs / "a", "one.md")
    assert not counts(source, docs / "a", "two.md")


def test_a_listing_shows_every_change(docs: Path) -> None:
    source = LocalSource(str(docs), [str(docs / "data")])
    listings = [source.identify_listing()]
    for change in (
        lambda: (docs / "a" / "two.md").write_text("two"),
        lambda: (docs / "a" / "two.md").write_text("three"),
        lambda: (docs / "a" / "two.md").rename(docs / "a" / "b" / "two.md"),
        lambda: (docs / "a" / "one.md").unlink(),
        lambda: (docs / ".inorderignore").write_text("a/b/\n"),
    ):
        change()
        listings.append(source.identify_listing())
    assert len(set(listings)) == len(listings)
    assert source.identify_listing() == listings[-1]


def test_a_listing_leaves_out_what_a_run_does_not_read(docs: Path) -> None:
    (docs / ".inorderignore").write_text("*.log\n")
    source = LocalSource(str(docs), [str(docs / "data")])
    before = source.identify_listing()
    (docs / "build.log").write_text("x")
    (docs / ".hidden").write_text("x")
    (docs / "data").mkdir()
    (docs / "data" / "x.md").write_text("x")
    assert source.identify_listing() == before


def test_a_missing_source_says_so_and_one_that_returns_is_another_one(docs: Path) -> None:
    source = LocalSource(str(docs))
    assert source.find_absence() == ""
    docs.rename(docs.with_name("away"))
    assert source.find_absence() == f"no such file or directory: {docs}"
    assert not source.is_replaced
    docs.mkdir()
    assert source.find_absence() == ""
    assert source.is_replaced
    source.adopt()
    assert not source.is_replaced


def test_an_empty_mount_point_is_a_missing_source(docs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mounted = {str(docs)}
    monkeypatch.setattr("os.path.ismount", lambda path: str(path) in mounted)
    source = LocalSource(str(docs))
    assert source.find_absence() == ""
    mounted.clear()
    assert source.find_absence() == f"nothing is mounted at {docs}"
