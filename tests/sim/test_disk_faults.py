"""Disks that fail without a power loss."""

import errno

import pytest

from inorder.sim.disk.choices import Draw
from inorder.sim.disk.disk import Disk
from inorder.sim.disk.operations import DiskFaults
from tests.sim.disks import PLAIN, disk_with, trees

LOST: Draw = lambda ways: 1  # noqa: E731 - a draw is a function, and this one has no more to it


def failing(number: int, code: int, **more: object) -> DiskFaults:
    return DiskFaults(fail_at={number: code}, **more)  # type: ignore[arg-type]


# ---- operations


def test_every_durable_operation_is_told_by_number_before_it_happens_and_nothing_else_is() -> None:
    told: list[tuple[int, str, str]] = []
    sizes: list[int] = []

    def listen(number: int, name: str, path: str) -> None:
        told.append((number, name, path))
        sizes.append(len(disk.tree().get("a/file", b"")))

    disk = Disk(on_operation=listen)
    disk.make_directory("a/b")
    file = disk.open("a/file")
    disk.open("a/file").append(b"data")
    file.append(b"")
    file.truncate(100)
    file.truncate(1)
    file.sync()
    disk.rename("a/file", "a/b/file")
    disk.rename("a/b/file", "a/b/file")
    disk.sync_directory("a/b")
    disk.read("a/b/file")
    disk.list("a")
    disk.stat("a")
    disk.unlink("a/b/file")
    file.close()
    assert told == [
        (0, "make_directory", "/a"),
        (1, "make_directory", "/a/b"),
        (2, "create", "a/file"),
        (3, "append", "a/file"),
        (4, "truncate", "a/file"),
        (5, "sync", "a/file"),
        (6, "rename", "a/b/file"),
        (7, "sync_directory", "a/b"),
        (8, "unlink", "a/b/file"),
    ]
    assert sizes == [0, 0, 0, 0, 4, 1, 1, 0, 0]
    assert disk.operations == 9


def test_what_could_never_be_done_is_no_operation() -> None:
    disk = Disk(faults=failing(0, errno.EIO))
    with pytest.raises(FileNotFoundError):
        disk.unlink("missing")
    with pytest.raises(FileNotFoundError):
        disk.open("missing/file")
    assert disk.operations == 0


@pytest.mark.parametrize("code", [errno.EIO, errno.ENOSPC, errno.EROFS])
@pytest.mark.parametrize(
    "verb", ["create", "append", "truncate", "sync", "rename", "unlink", "make_directory", "sync_directory"]
)
def test_any_operation_fails_by_plan_and_then_it_did_not_happen(verb: str, code: int) -> None:
    disk = disk_with("file", b"data")
    file = disk.open("file")
    before = disk.tree()
    acts = {
        "create": lambda: disk.open("new"),
        "append": lambda: file.append(b"more"),
        "truncate": lambda: file.truncate(0),
        "sync": file.sync,
        "rename": lambda: disk.rename("file", "new"),
        "unlink": lambda: disk.unlink("file"),
        "make_directory": lambda: disk.make_directory("folder"),
        "sync_directory": lambda: disk.sync_directory("."),
    }
    disk.faults = failing(disk.operations, code)
    with pytest.raises(OSError) as caught:  # noqa: PT011 - the errno is checked
        acts[verb]()
    assert caught.value.errno == code
    assert (disk.tree(), disk.list("/")) == (before, ["file"])
    acts[verb]()  # and the next time it works


def test_a_failed_append_may_leave_a_part_of_its_bytes() -> None:
    disk = disk_with("file", b"safe ")
    disk.faults = failing(disk.operations, errno.EIO, short_writes={disk.operations: 2})
    with pytest.raises(OSError, match="Input/output"):
        disk.open("file").append(b"data")
    assert disk.read("file") == b"safe da"


def test_reads_fail_by_a_number_of_their_own() -> None:
    disk = disk_with("file", b"data")
    disk.faults = DiskFaults(fail_reads_at={1: errno.EIO, 3: errno.EIO, 4: errno.EIO})
    file = disk.open("file")
    assert disk.read("file") == b"data"
    with pytest.raises(OSError, match="Input/output"):
        disk.read("file")
    assert file.read(0, 4) == b"data"
    with pytest.raises(OSError, match="Input/output"):
        file.read(0, 4)
    with pytest.raises(OSError, match="Input/output"):
        disk.list("/")
    assert disk.list("/") == ["file"]


def test_a_copy_goes_on_counting_where_the_disk_was() -> None:
    disk = disk_with("file", b"data")
    disk.read("file")
    disk.faults = DiskFaults(fail_at={disk.operations: errno.EIO}, fail_reads_at={1: errno.EIO})
    twin = disk.copy()
    with pytest.raises(OSError, match="Input/output"):
        twin.unlink("file")
    with pytest.raises(OSError, match="Input/output"):
        twin.read("file")
    assert (disk.operations + 1, twin.operations) == (twin.operations, 5)


# ---- a full disk


def test_a_full_disk_takes_what_fits_and_says_so() -> None:
    disk = Disk(faults=DiskFaults(capacity_bytes=10))
    file = disk.open("file")
    file.append(b"0123456")
    assert disk.free_bytes("/") == 3
    with pytest.raises(OSError, match="No space") as caught:
        file.append(b"789abc")
    assert caught.value.errno == errno.ENOSPC
    assert disk.read("file") == b"0123456789"
    assert disk.free_bytes("/") == 0
    with pytest.raises(OSError, match="No space"):
        disk.open("other").append(b"x")


def test_room_comes_back_with_what_is_cut_off_removed_or_written_over() -> None:
    disk = Disk(faults=DiskFaults(capacity_bytes=10))
    disk.open("a").append(b"01234")
    disk.open("b").append(b"56789")
    disk.open("a").truncate(2)
    assert disk.free_bytes("/") == 3
    disk.rename("a", "b")
    assert disk.free_bytes("/") == 8
    disk.unlink("b")
    assert disk.free_bytes("/") == 10


def test_a_disk_is_as_full_after_a_loss_of_power_and_its_planned_faults_are_over() -> None:
    disk = Disk(faults=DiskFaults(fail_at={2: errno.EIO}, fail_reads_at={0: errno.EIO}, capacity_bytes=10))
    disk.open("file").append(b"0123")
    found = disk.crash(lambda ways: 0)
    assert (found.operations, found.faults) == (0, DiskFaults(capacity_bytes=10))
    assert found.free_bytes("/") == 6


# ---- limbo


def test_what_was_pending_when_a_sync_failed_is_not_made_safe_by_the_next_one() -> None:
    disk = disk_with("file", b"safe ")
    file = disk.open("file")
    file.append(b"limbo ")
    disk.faults = failing(disk.operations, errno.EIO)
    with pytest.raises(OSError, match="Input/output"):
        file.sync()
    assert disk.read("file") == b"safe limbo "
    file.sync()
    assert trees(disk) == [{"file": b"safe limbo "}, {"file": b"safe "}]


def test_what_is_written_after_a_failed_sync_is_made_safe_by_the_next_one_with_a_hole_before_it() -> None:
    disk = disk_with("file", b"safe ")
    file = disk.open("file")
    file.append(b"limbo ")
    disk.faults = failing(disk.operations, errno.EIO)
    with pytest.raises(OSError, match="Input/output"):
        file.sync()
    file.append(b"after")
    file.sync()
    assert trees(disk) == [{"file": b"safe limbo after"}, {"file": b"safe \0\0\0\0\0\0after"}]
    file.append(b" all")
    file.sync()
    assert trees(disk.copy()) == [{"file": b"safe limbo after all"}, {"file": b"safe \0\0\0\0\0\0after all"}]


def test_a_cut_in_limbo_may_be_undone_and_what_came_after_it_stays() -> None:
    disk = disk_with("file", b"0123456789")
    file = disk.open("file")
    file.truncate(4)
    disk.faults = failing(disk.operations, errno.EIO)
    with pytest.raises(OSError, match="Input/output"):
        file.sync()
    file.append(b"new")
    file.sync()
    assert trees(disk) == [{"file": b"0123new"}, {"file": b"0123new789"}]


def test_names_that_were_pending_when_a_sync_failed_are_not_made_safe_by_the_next_one() -> None:
    disk = disk_with("file", b"data")
    disk.rename("file", "limbo")
    disk.faults = failing(disk.operations, errno.EIO)
    with pytest.raises(OSError, match="Input/output"):
        disk.sync_directory("/")
    for each in (disk.copy(), disk):
        each.open("after")
        each.sync_directory("/")
        assert trees(each) == [{"after": b"", "limbo": b"data"}, {"after": b"", "file": b"data"}]


# ---- a disk that lies


def test_a_disk_that_does_not_sync_says_that_it_has_and_forgets() -> None:
    disk = Disk(syncs=False, medium=PLAIN)
    file = disk.open("file")
    file.append(b"data")
    file.sync()
    disk.sync_directory("/")
    assert disk.tree() == {"file": b"data"}
    assert disk.operations == 4
    assert trees(disk) == [{"file": b"data"}, {"file": b""}, {}]
    found = disk.crash(lambda ways: 0)
    found.open("another")
    found.sync_directory("/")
    assert found.crash(LOST).tree() == {"file": b"data"}
