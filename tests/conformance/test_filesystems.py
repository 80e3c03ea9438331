"""What every filesystem must do without a power loss.

Another one joins by one line in `KINDS`. Errors are compared by errno, because callers act on it.
"""

import errno
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from inorder.host.filesystem import Filesystem, PathInfo, SystemFilesystem, write_atomic
from inorder.sim.disk.disk import Disk
from tests.support.system_calls import SystemCalls


@dataclass(frozen=True)
class Place:
    """A filesystem, and an empty folder on it."""

    system: Filesystem
    folder: str

    def path(self, name: str) -> str:
        return f"{self.folder}/{name}"

    def make(self, name: str, data: bytes = b"") -> str:
        """A file with this in it; its path."""
        file = self.system.open(self.path(name))
        file.append(data)
        file.close()
        return self.path(name)

    def make_folder(self, name: str) -> str:
        self.system.make_directory(self.path(name))
        return self.path(name)

    def names(self, name: str = ".") -> list[str]:
        return self.system.list(self.path(name))


def _disk(tmp_path: Path) -> Place:
    disk = Disk()
    disk.make_directory("/some/folder")
    return Place(disk, "/some/folder")


KINDS: dict[str, Callable[[Path], Place]] = {
    "system": lambda tmp_path: Place(SystemFilesystem(), str(tmp_path)),
    "simulated": _disk,
}


@pytest.fixture(params=KINDS)
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    return KINDS[request.param](tmp_path)


def errno_of(act: Callable[..., object], *arguments: object) -> str:
    """The name of the error with which this fails."""
    with pytest.raises(OSError) as caught:  # noqa: PT011 - which one is what the test compares
        act(*arguments)
    assert caught.value.errno is not None
    return errno.errorcode[caught.value.errno]


# ---- one file


def test_opening_a_missing_name_makes_an_empty_file(place: Place) -> None:
    with_nothing = place.system.open(place.path("new"))
    assert with_nothing.size == 0
    assert place.system.read(place.path("new")) == b""
    assert place.names() == ["new"]


def test_opening_a_file_again_changes_nothing_in_it(place: Place) -> None:
    path = place.make("file", b"as it was")
    assert place.system.open(path).size == 9
    assert place.system.read(path) == b"as it was"


def test_what_is_appended_comes_after_what_was_there(place: Place) -> None:
    path = place.make("file", b"one ")
    file = place.system.open(path)
    file.append(b"two ")
    file.append(b"")
    file.append(b"three")
    assert place.system.read(path) == b"one two three"
    assert file.size == 13


def test_a_read_gives_the_piece_asked_for_and_less_only_at_the_end(place: Place) -> None:
    file = place.system.open(place.make("file", b"0123456789"))
    assert file.read(0, 10) == b"0123456789"
    assert file.read(3, 4) == b"3456"
    assert file.read(8, 100) == b"89"
    assert file.read(10, 1) == b""
    assert file.read(1000, 5) == b""
    assert file.read(3, 0) == b""


def test_a_read_before_the_beginning_is_refused(place: Place) -> None:
    file = place.system.open(place.make("file", b"0123456789"))
    assert errno_of(file.read, -1, 4) == "EINVAL"


def test_a_file_is_cut_and_goes_on_from_there(place: Place) -> None:
    path = place.make("file", b"0123456789")
    file = place.system.open(path)
    file.truncate(4)
    assert file.size == 4
    file.append(b"new")
    assert place.system.read(path) == b"0123new"
    file.truncate(0)
    assert place.system.read(path) == b""


@pytest.mark.parametrize("size", [10, 11, 10_000])
def test_a_cut_never_makes_a_file_longer(place: Place, size: int) -> None:
    path = place.make("file", b"0123456789")
    place.system.open(path).truncate(size)
    assert place.system.read(path) == b"0123456789"


def test_a_cut_before_the_beginning_is_refused(place: Place) -> None:
    assert errno_of(place.system.open(place.make("file", b"0123")).truncate, -1) == "EINVAL"


def test_every_handle_of_a_file_sees_and_writes_the_same_file(place: Place) -> None:
    path = place.path("shared")
    one, other = place.system.open(path), place.system.open(path)
    one.append(b"aaaa")
    other.append(b"bbbb")
    assert one.read(0, 100) == other.read(0, 100) == b"aaaabbbb"
    other.truncate(2)
    one.append(b"c")
    assert (one.size, other.size) == (3, 3)
    assert place.system.read(path) == b"aac"


def test_a_closed_file_is_of_no_use_and_closing_it_twice_is_closing_it_once(place: Place) -> None:
    file = place.system.open(place.path("file"))
    file.append(b"data")
    file.close()
    file.close()
    for act in (lambda: file.read(0, 1), lambda: file.append(b"x"), lambda: file.truncate(0), file.sync):
        assert errno_of(act) == "EBADF"
    assert errno_of(lambda: file.size) == "EBADF"
    assert place.system.read(place.path("file")) == b"data"


def test_a_closed_file_is_not_mistaken_for_one_opened_after_it(place: Place) -> None:
    closed = place.system.open(place.path("closed"))
    closed.close()
    later = place.system.open(place.path("later"))
    assert errno_of(closed.append, b"x") == "EBADF"
    closed.close()
    later.append(b"still open")
    assert later.size == 10


def test_a_sync_reaches_the_disk_and_changes_nothing_that_can_be_seen(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    log: list[tuple[str, str]] = []
    if isinstance(place.system, Disk):
        place.system.on_operation = lambda number, name, path: log.append((name, os.path.relpath(path, place.folder)))
    else:
        log = SystemCalls(monkeypatch, place.folder).log
    file = place.system.open(place.path("file"))
    file.append(b"data")
    file.sync()
    file.sync()
    place.system.sync_directory(place.folder)
    synced = [("sync", "file"), ("sync", "file"), ("sync_directory", ".")]
    assert log == [("create", "file"), ("append", "file"), *synced]
    assert place.system.read(place.path("file")) == b"data"
    assert place.names() == ["file"]


# ---- names


def test_a_rename_moves_a_file_with_its_bytes(place: Place) -> None:
    place.system.rename(place.make("old", b"data"), place.path("new"))
    assert place.names() == ["new"]
    assert place.system.read(place.path("new")) == b"data"


def test_a_rename_goes_from_one_folder_to_another(place: Place) -> None:
    place.make_folder("there")
    place.system.rename(place.make("file", b"data"), place.path("there/file"))
    assert (place.names(), place.names("there")) == (["there"], ["file"])
    assert place.system.read(place.path("there/file")) == b"data"


def test_a_rename_takes_the_place_of_the_file_that_had_the_name(place: Place) -> None:
    place.make("taken", b"a longer one")
    place.system.rename(place.make("file", b"data"), place.path("taken"))
    assert place.names() == ["taken"]
    assert place.system.read(place.path("taken")) == b"data"


def test_a_rename_to_its_own_name_changes_nothing(place: Place) -> None:
    path = place.make("file", b"data")
    place.system.rename(path, path)
    assert place.system.read(path) == b"data"


def test_an_open_file_follows_its_rename(place: Place) -> None:
    file = place.system.open(place.make("old", b"before "))
    place.system.rename(place.path("old"), place.path("new"))
    place.make("old", b"another")
    file.append(b"after")
    assert place.system.read(place.path("new")) == b"before after"
    assert place.system.read(place.path("old")) == b"another"


def test_an_open_file_outlives_its_name(place: Place) -> None:
    path = place.make("file", b"data")
    file = place.system.open(path)
    place.system.unlink(path)
    file.append(b" and more")
    file.sync()
    assert file.read(0, 100) == b"data and more"
    assert place.names() == []
    assert place.system.open(path).size == 0


def test_an_open_file_outlives_the_one_renamed_over_it(place: Place) -> None:
    displaced = place.system.open(place.make("file", b"old"))
    place.system.rename(place.make("other", b"new"), place.path("file"))
    assert displaced.read(0, 10) == b"old"
    assert place.system.read(place.path("file")) == b"new"


def test_a_folder_is_made_with_those_above_it_and_only_once(place: Place) -> None:
    place.make_folder("a/b/c")
    place.make("a/b/c/file", b"data")
    place.make_folder("a/b/c")
    place.make_folder("a/b")
    assert (place.names("a"), place.names("a/b"), place.names("a/b/c")) == (["b"], ["c"], ["file"])


def test_a_list_is_sorted_and_names_files_and_folders_of_this_folder_alone(place: Place) -> None:
    for name in ("b", "a", "B", "10", "9", "z.new"):
        place.make(name)
    place.make_folder("m/deep")
    assert place.names() == ["10", "9", "B", "a", "b", "m", "z.new"]


@pytest.mark.parametrize("name", ["größe", "файл", "文件", "🗂", "e\u0301\u00e9", "a b", "new\nline", "\udcff"])
def test_names_are_any_characters_and_come_back_as_they_were_given(place: Place, name: str) -> None:
    path = place.make(name, b"data")
    assert place.names() == [name]
    assert place.system.read(path) == b"data"
    place.system.rename(path, place.path(f"{name}.2"))
    assert place.names() == [f"{name}.2"]


def test_a_path_may_be_written_in_more_than_one_way(place: Place) -> None:
    place.make_folder("a")
    place.make("a/file", b"data")
    for name in ("a/file", "./a/file", "a//file", "a/./file", "a/../a/file"):
        assert place.system.read(place.path(name)) == b"data"
    assert place.system.list(place.path("a/")) == ["file"]


def test_facts_tell_files_from_folders_and_from_nothing(place: Place) -> None:
    place.make("file", b"data")
    place.make_folder("folder")
    assert place.system.stat(place.path("file")) == PathInfo(4, is_directory=False)
    assert place.system.stat(place.path("folder")) == PathInfo(0, is_directory=True)
    assert place.system.stat(place.folder) == PathInfo(0, is_directory=True)
    for name in ("missing", "missing/file", "file/below"):
        assert place.system.stat(place.path(name)) is None
    assert place.system.stat("") is None


# ---- names that will not do

BAD_PATHS = {
    "nothing there": "missing",
    "no such folder": "missing/name",
    "below a file": "file/name",
    "far below a file": "file/a/b",
    "a folder": "folder",
    "too long": "n" * 256,
    "too many bytes": "ö" * 128,
    "too long, in no folder": f"missing/{'n' * 256}",
}


@pytest.mark.parametrize(
    ("verb", "answers"),
    [
        ("open", ["-", "ENOENT", "ENOTDIR", "ENOTDIR", "EISDIR", "ENAMETOOLONG", "ENAMETOOLONG", "ENOENT"]),
        ("read", ["ENOENT", "ENOENT", "ENOTDIR", "ENOTDIR", "EISDIR", "ENAMETOOLONG", "ENAMETOOLONG", "ENOENT"]),
        ("unlink", ["ENOENT", "ENOENT", "ENOTDIR", "ENOTDIR", "EISDIR", "ENAMETOOLONG", "ENAMETOOLONG", "ENOENT"]),
        ("list", ["ENOENT", "ENOENT", "ENOTDIR", "ENOTDIR", "-", "ENAMETOOLONG", "ENAMETOOLONG", "ENOENT"]),
        ("sync_directory", ["ENOENT", "ENOENT", "ENOTDIR", "ENOTDIR", "-", "ENAMETOOLONG", "ENAMETOOLONG", "ENOENT"]),
        ("make_directory", ["-", "-", "ENOTDIR", "ENOTDIR", "-", "ENAMETOOLONG", "ENAMETOOLONG", "ENAMETOOLONG"]),
        ("stat", ["-", "-", "-", "-", "-", "ENAMETOOLONG", "ENAMETOOLONG", "-"]),
    ],
)
def test_a_bad_path_is_refused_with_the_same_error(place: Place, verb: str, answers: list[str]) -> None:
    for (situation, name), answer in zip(BAD_PATHS.items(), answers, strict=True):
        inside = Place(place.system, place.make_folder(situation))
        inside.make("file", b"data")
        inside.make_folder("folder")
        act = getattr(place.system, verb)
        if answer == "-":
            act(inside.path(name))
        else:
            assert errno_of(act, inside.path(name)) == answer, situation
            assert inside.system.read(inside.path("file")) == b"data"


@pytest.mark.parametrize("verb", ["list", "sync_directory"])
def test_a_file_is_no_folder(place: Place, verb: str) -> None:
    assert errno_of(getattr(place.system, verb), place.make("file")) == "ENOTDIR"


def test_a_folder_is_not_made_where_a_file_is(place: Place) -> None:
    assert errno_of(place.system.make_directory, place.make("file")) == "EEXIST"


@pytest.mark.parametrize(
    ("old", "new", "answer"),
    [
        ("missing", "new", "ENOENT"),
        ("missing/name", "new", "ENOENT"),
        ("file/name", "new", "ENOTDIR"),
        ("file", "missing/name", "ENOENT"),
        ("file", "other/name", "ENOTDIR"),
        ("file", "folder", "EISDIR"),
        ("folder/inside", "folder", "ENOTEMPTY"),
        ("missing", "other/name", "ENOTDIR"),
        ("missing", "folder", "ENOENT"),
        ("file", "n" * 256, "ENAMETOOLONG"),
        ("n" * 256, "new", "ENAMETOOLONG"),
    ],
)
def test_a_rename_that_cannot_be_is_refused_and_changes_nothing(place: Place, old: str, new: str, answer: str) -> None:
    place.make("file", b"data")
    place.make("other", b"more")
    place.make_folder("folder")
    place.make("folder/inside")
    assert errno_of(place.system.rename, place.path(old), place.path(new)) == answer
    assert place.names() == ["file", "folder", "other"]
    assert (place.system.read(place.path("file")), place.system.read(place.path("other"))) == (b"data", b"more")


@pytest.mark.parametrize("verb", ["open", "read", "unlink", "list", "make_directory", "sync_directory"])
def test_no_path_at_all_is_refused(place: Place, verb: str) -> None:
    assert errno_of(getattr(place.system, verb), "") == "ENOENT"


@pytest.mark.parametrize("verb", ["open", "read", "stat", "unlink", "list", "make_directory", "sync_directory"])
def test_a_path_with_a_null_in_it_is_no_path(place: Place, verb: str) -> None:
    with pytest.raises(ValueError, match="embedded null"):
        getattr(place.system, verb)(place.path("a\0b"))


# ---- a whole file


def test_a_whole_file_is_written_where_there_was_none(place: Place) -> None:
    write_atomic(place.system, place.path("file"), b"new")
    assert place.names() == ["file"]
    assert place.system.read(place.path("file")) == b"new"


def test_a_whole_file_takes_the_place_of_another(place: Place) -> None:
    old = place.system.open(place.make("file", b"an old and longer one"))
    write_atomic(place.system, place.path("file"), b"new")
    assert place.system.read(place.path("file")) == b"new"
    assert old.read(0, 100) == b"an old and longer one"


def test_what_an_earlier_attempt_left_beside_it_does_not_get_into_a_whole_file(place: Place) -> None:
    place.make("file.new", b"half of someth")
    write_atomic(place.system, place.path("file"), b"new")
    assert place.names() == ["file"]
    assert place.system.read(place.path("file")) == b"new"


def test_a_whole_file_in_the_folder_one_is_in(monkeypatch: pytest.MonkeyPatch, place: Place) -> None:
    if isinstance(place.system, SystemFilesystem):
        monkeypatch.chdir(place.folder)
    write_atomic(place.system, "file", b"new")
    assert place.system.read("file") == b"new"
    assert "file" in place.system.list(".")


def test_the_system_goes_on_when_only_a_part_was_written_or_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write, read = os.write, os.pread
    monkeypatch.setattr(os, "write", lambda descriptor, data: write(descriptor, data[:3]))
    monkeypatch.setattr(os, "pread", lambda descriptor, size, offset: read(descriptor, min(size, 3), offset))
    file = SystemFilesystem().open(os.fspath(tmp_path / "file"))
    file.append(b"0123456789")
    assert file.read(1, 8) == b"12345678"
    file.close()
    assert (tmp_path / "file").read_bytes() == b"0123456789"


def test_the_system_has_the_bytes_where_others_look_for_them(tmp_path: Path) -> None:
    write_atomic(SystemFilesystem(), os.fspath(tmp_path / "file"), b"new")
    assert (tmp_path / "file").read_bytes() == b"new"
