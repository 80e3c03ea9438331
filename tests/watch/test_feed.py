"""The feed of changes, with real events of real folders, and listings where there are none."""

import os
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from inorder.errors import InfrastructureError
from inorder.host.clock import SystemClock
from inorder.testing import VirtualClock
from inorder.watch import feed as feed_module
from inorder.watch.changes import HINTS_MAX, PATHS_MAX, SourceChanges
from inorder.watch.feed import RECHECK_MS, SourceFeed
from inorder.watch.source import LocalSource
from tests.support.gates import GUARD_S, no_thread_leaks

GUARD_MS = int(GUARD_S * 1000)
LIMIT = "the limit fs.inotify.max_user_watches is reached"


class Folder:
    """A folder with documents, and the feed of its changes."""

    def __init__(self, root: Path, clock: SystemClock | VirtualClock) -> None:
        self.root = root
        root.mkdir()
        self.said: list[str] = []
        self.source = LocalSource(str(root), [str(root / "data")])
        self.feed = SourceFeed([self.source], [], clock, 5_000, self.said.append)

    def write(self, name: str, text: str = "x") -> None:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def wait_for(self, *names: str) -> None:
        """Come back once changes of all these paths were reported."""
        wanted = {str(self.root / name) for name in names}
        while wanted:
            found = self.feed.wait(GUARD_MS)
            assert found.count, f"no event of {wanted}"
            wanted -= set(found.paths)

    def list_until(self, name: str) -> set[str]:
        """Write a file, and return all paths that are reported until it is."""
        self.write(name)
        seen: set[str] = set()
        while str(self.root / name) not in seen:
            found = self.feed.wait(GUARD_MS)
            assert found.count >= len(found.paths) > 0
            assert found.hints is not None
            assert found.hints >= set(found.paths)
            seen.update(found.hints)
        return {os.path.relpath(path, self.root) for path in seen}


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Folder]:
    with no_thread_leaks():
        made = Folder(tmp_path / "docs", SystemClock())
        made.feed.prepare()
        yield made
        made.feed.close()


def test_new_changed_renamed_and_deleted_files_are_reported(folder: Folder) -> None:
    folder.write("a.md")
    folder.wait_for("a.md")
    folder.write("a.md", "more")
    folder.wait_for("a.md")
    (folder.root / "a.md").rename(folder.root / "b.md")
    folder.wait_for("a.md", "b.md")
    (folder.root / "b.md").unlink()
    folder.wait_for("b.md")


def test_an_editor_that_saves_by_renaming_is_reported_under_the_name_of_the_file(folder: Folder) -> None:
    folder.write("a.md")
    folder.wait_for("a.md")
    folder.write(".a.md.tmp", "saved")
    os.replace(folder.root / ".a.md.tmp", folder.root / "a.md")
    found = folder.feed.wait(GUARD_MS)
    assert set(found.paths) == {str(folder.root / "a.md")}


def test_a_new_folder_is_watched_from_the_next_run_on(folder: Folder) -> None:
    folder.write("new/a.md")
    folder.wait_for("new")
    folder.feed.prepare()
    folder.write("new/b.md")
    folder.wait_for("new/b.md")


def test_a_folder_that_comes_outdates_the_watched_ones(folder: Folder) -> None:
    assert not folder.feed._is_outdated
    (folder.root / "new").mkdir()
    folder.wait_for("new")
    assert folder.feed._is_outdated


def test_what_lies_in_data_and_what_is_hidden_or_ignored_is_not_reported(folder: Folder) -> None:
    folder.write(".inorderignore", "*.log\n")
    folder.wait_for(".inorderignore")
    folder.write("data/journal/x")
    folder.write(".git/index")
    folder.feed.prepare()
    folder.write("build.log")
    folder.write("data/journal/x", "more")
    assert folder.list_until("marker.md") <= {"marker.md", ".inorderignore"}


def test_a_folder_that_vanishes_and_returns_is_watched_again(folder: Folder) -> None:
    folder.write("a.md")
    folder.wait_for("a.md")
    shutil.rmtree(folder.root)
    assert folder.feed.find_absences() == [f"no such file or directory: {folder.root}"]
    folder.root.mkdir()
    folder.wait_for(".")
    folder.feed.prepare()
    folder.write("b.md")
    folder.wait_for("b.md")


def test_a_folder_that_is_moved_away_and_back_is_watched_again(folder: Folder) -> None:
    folder.root.rename(folder.root.with_name("away"))
    assert folder.feed.find_absences() == [f"no such file or directory: {folder.root}"]
    folder.root.with_name("away").rename(folder.root)
    assert folder.feed.find_absences() == []
    folder.feed.prepare()
    folder.write("b.md")
    folder.wait_for("b.md")


@pytest.mark.slow
def test_a_burst_that_overflows_the_queue_of_the_system_is_reported_and_of_bounded_size(folder: Folder) -> None:
    for number in range(5_000):  # of four events each; the queue has room for 16,384
        (folder.root / f"{number}.md").touch()
    found = folder.feed.wait(GUARD_MS)
    assert found.count >= len(found.paths) == PATHS_MAX
    assert found.hints is None or len(found.hints) <= HINTS_MAX


def test_a_single_file_is_watched_through_its_folder(tmp_path: Path) -> None:
    path = tmp_path / "a.md"
    path.write_text("x")
    feed = SourceFeed([LocalSource(str(path))], [], SystemClock(), 5_000, print)
    feed.prepare()
    try:
        (tmp_path / "other.md").write_text("x")
        (tmp_path / "saved").write_text("y")
        os.replace(tmp_path / "saved", path)
        assert set(feed.wait(GUARD_MS).paths) == {str(path)}
    finally:
        feed.close()


class VirtualEvent(threading.Event):
    """An event for which nothing waits: the virtual clock goes on instead."""

    def __init__(self, clock: VirtualClock) -> None:
        super().__init__()
        self._clock = clock

    def wait(self, timeout: float | None = None) -> bool:
        assert timeout is not None
        if not self.is_set():
            self._clock.advance_to(self._clock.true_ms + int(timeout * 1000))
        return self.is_set()


def make_virtual(root: Path) -> Folder:
    """A folder whose feed waits on a virtual clock."""
    clock = VirtualClock()
    made = Folder(root, clock)
    made.feed._arrived = VirtualEvent(clock)
    made.feed.prepare()
    return made


@pytest.fixture
def polled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Folder:
    """A folder on a machine whose limit of watches is reached."""
    monkeypatch.setattr(feed_module, "find_inotify_problem", lambda folder: LIMIT)
    return make_virtual(tmp_path / "docs")


def test_a_limit_that_is_reached_is_announced_and_the_sources_are_listed_instead(polled: Folder) -> None:
    assert polled.said == [f"{LIMIT}; the sources are listed every 5 s instead"]
    assert polled.feed.is_polling
    assert polled.feed.wait(60_000) == SourceChanges()
    polled.write("a/b.md")
    assert polled.feed.wait(60_000) == SourceChanges(1, (str(polled.root),))
    polled.feed.prepare()
    assert polled.feed.wait(60_000) == SourceChanges()
    assert len(polled.said) == 1


@pytest.mark.req("SIL-3")
def test_a_folder_whose_path_is_not_utf8_is_listed_instead(tmp_path: Path) -> None:
    made = make_virtual(tmp_path / os.fsdecode(b"docs\xff"))
    try:
        [said] = made.said
        assert f"no events of {made.root}, whose path is not UTF-8; the sources are listed every 5 s instead" in said
        assert made.feed.wait(60_000) == SourceChanges()
        made.write(os.fsdecode(b"a\xfe.md"))
        assert made.feed.wait(60_000) == SourceChanges(1, (str(made.root),))
    finally:
        made.feed.close()


@pytest.mark.req("SIL-3")
def test_a_file_whose_name_is_not_utf8_is_seen(folder: Folder) -> None:
    folder.write(os.fsdecode(b"a\xfe.md"))
    assert folder.feed.wait(GUARD_MS).count == 1
    assert "the sources are listed every 5 s instead" in folder.said[0]


def test_a_change_without_an_event_is_found_by_the_listing_that_is_made_from_time_to_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(SourceFeed, "_on_paths", lambda feed, paths: None)
    made = make_virtual(tmp_path / "docs")
    try:
        made.write("a.md")
        assert made.feed.wait(RECHECK_MS - 1_000) == SourceChanges()
        assert made.feed.wait(1_000) == SourceChanges(1, (str(made.root),))
    finally:
        made.feed.close()


def test_a_notifier_that_fails_is_announced_and_replaced_by_listings(folder: Folder) -> None:
    folder.feed._on_failure("the events of the system have ended")
    assert folder.feed.wait(GUARD_MS).count == 1
    assert folder.said == ["the events of the system have ended; the sources are listed every 5 s instead"]
    assert folder.feed.is_polling


class ScriptedStore:
    """A remote source whose listings are given."""

    address = "s3://bucket/docs"

    def __init__(self, *listings: str | Exception) -> None:
        self._listings = list(listings)

    def find_absence(self) -> str:
        return ""

    def identify_listing(self) -> str:
        listing = self._listings.pop(0) if len(self._listings) > 1 else self._listings[0]
        if isinstance(listing, Exception):
            raise listing
        return listing


class RemoteFeed:
    """The feed of a remote source, on a virtual clock."""

    def __init__(self, *listings: str | Exception) -> None:
        self.said: list[str] = []
        self.listed: list[tuple[int | None, bool]] = []
        clock = VirtualClock()
        listed = self.listed
        self.feed = SourceFeed(
            [], [ScriptedStore(*listings)], clock, 5_000, self.said.append, lambda *at: listed.append(at)
        )
        self.feed._arrived = VirtualEvent(clock)

    def count_changes(self, seconds: int) -> list[int]:
        """Wait one second after the other. Returns in which there was a change."""
        return [number for number in range(1, seconds + 1) if self.feed.wait(1_000).count]


def test_a_remote_source_is_listed_at_its_interval_and_a_change_is_reported_once() -> None:
    remote = RemoteFeed("one", "one", "two", "two")
    remote.feed.prepare()
    assert remote.count_changes(20) == [10]
    assert remote.listed == [(5_000, True), (10_000, True), (15_000, True), (20_000, True), (25_000, True)]
    remote.feed.prepare()
    assert len(remote.listed) == 5, "the listing before the run shows what the next one is compared with"


def test_a_listing_that_fails_is_no_change_and_is_announced_once() -> None:
    problem = InfrastructureError("cannot list s3://bucket/docs: the store failed")
    remote = RemoteFeed("one", problem, problem, "one", "one")
    remote.feed.prepare()
    assert remote.count_changes(25) == [15], "a change may have been missed"
    assert remote.said == [str(problem)]
