"""The status of a watch: what its file says at every moment, and that a killed watch is recognised."""

from pathlib import Path
from typing import Any

import pytest

from inorder.errors import BusyError, InfrastructureError
from inorder.host.filesystem import SystemFilesystem
from inorder.watch.changes import SourceChanges
from inorder.watch.status import StatusWriter, WatchedRun, WatchPlace, WatchStatus
from tests.watch.scripted import DONE, Script

ONE = SourceChanges(1, ("a",))


class Reader:
    """An observer that reads the status after every event, as another process would."""

    def __init__(self, place: WatchPlace) -> None:
        self._place = place
        self.read: list[WatchStatus] = []

    def look(self, *arguments: Any) -> None:
        found = self._place.read()
        assert found is not None
        self.read.append(found)

    on_changes = on_run_started = on_run_ended = on_waiting = on_retry = look

    @property
    def states(self) -> list[str]:
        return [status.state for status in self.read]


class Watched:
    """A scripted watch that writes its status."""

    def __init__(self, data: Path, script: Script) -> None:
        self.place = WatchPlace(str(data))
        self.lock = self.place.lock()
        self.script = script
        self.writer = StatusWriter(self.place, SystemFilesystem(), script.clock, ["docs"])
        self.reader = Reader(self.place)
        script.observers = [self.writer, self.reader]

    def watch(self, **options: Any) -> None:
        self.script.watch(**options)


def test_without_a_watch_there_is_no_status(tmp_path: Path) -> None:
    assert WatchPlace(str(tmp_path)).read() is None


def test_the_status_follows_the_watch(tmp_path: Path) -> None:
    script = Script([(5_000, ONE), (9_000, ONE)], [DONE, InfrastructureError("no space left"), DONE])
    watched = Watched(tmp_path, script)
    watched.watch(settle_s=0.5)
    assert watched.reader.states == [
        *("running", "watching"),
        *("watching", "running", "watching", "retrying"),
        *("running", "watching"),
        *("watching", "running", "watching"),
    ]
    origin_ms = script.clock.wall_ms() - script.clock.now_ms()
    changed, failed = watched.reader.read[2], watched.reader.read[5]
    assert (changed.pending_changes, changed.last_change_ms) == (1, origin_ms + 5_000)
    assert changed.last_run == WatchedRun(number=1, ended_ms=origin_ms + 100, duration_ms=100, exit_code=0)
    assert (failed.last_error, failed.next_retry_ms) == ("no space left", origin_ms + 6_600)
    assert (failed.pending_changes, failed.sources, failed.since_ms) == (0, ["docs"], origin_ms)
    later = watched.reader.read[7]
    assert (later.last_error, later.next_retry_ms) == ("no space left", None)
    watched.writer.end()
    ended = watched.place.read()
    assert ended is not None
    assert (ended.state, ended.is_alive, ended.ended_ms) == ("ended", False, script.clock.wall_ms())


def test_a_missing_source_is_shown_until_it_is_back(tmp_path: Path) -> None:
    script = Script([], [DONE])
    script.absent = lambda now_ms: ["no such file or directory: docs"] if 900 <= now_ms < 9_000 else []
    watched = Watched(tmp_path, script)
    watched.watch()
    assert watched.reader.states == ["running", "watching", "waiting", "watching", "running", "watching"]
    assert watched.reader.read[2].last_error == "no such file or directory: docs"


def test_a_watch_that_was_killed_is_recognised(tmp_path: Path) -> None:
    watched = Watched(tmp_path, Script())
    watched.watch()
    alive = watched.place.read()
    watched.lock.release()
    killed = watched.place.read()
    assert alive is not None
    assert killed is not None
    assert (alive.is_alive, killed.state, killed.is_alive) == (True, "killed", False)


def test_a_stream_of_changes_is_written_at_most_once_per_second(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = Script([(1_000 + number, ONE) for number in range(5_000)], [DONE])
    watched = Watched(tmp_path, script)
    written: list[str] = []
    monkeypatch.setattr("inorder.watch.status.write_atomic", lambda disk, path, data: written.append(path))
    script.observers = [watched.writer]
    watched.watch(settle_s=0.5)
    assert len(written) < 15


def test_a_second_watch_is_refused(tmp_path: Path) -> None:
    place = WatchPlace(str(tmp_path))
    lock = place.lock()
    with pytest.raises(BusyError, match="is watched already by process"):
        place.lock()
    lock.release()
    place.lock().release()


def test_a_status_that_cannot_be_read_is_none(tmp_path: Path) -> None:
    place = WatchPlace(str(tmp_path))
    place.lock().release()
    Path(place.path).write_text("{")
    assert place.read() is None


def test_a_disk_that_is_full_does_not_end_the_watch(tmp_path: Path) -> None:
    class FullDisk(SystemFilesystem):
        def open(self, path: str) -> Any:
            raise OSError(28, "no space left on device")

    script = Script([(1_000, ONE)], [DONE])
    script.observers = [StatusWriter(WatchPlace(str(tmp_path)), FullDisk(), script.clock, ["docs"])]
    assert script.watch() == 143


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"state": "\xff"}'])
def test_a_status_that_is_damaged_is_none(tmp_path: Path, content: bytes) -> None:
    place = WatchPlace(str(tmp_path))
    Path(place.path).parent.mkdir(parents=True, exist_ok=True)
    Path(place.path).write_bytes(content)
    assert place.read() is None
