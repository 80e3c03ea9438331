"""Killed processes and power losses: at a chosen operation, and at every one."""

import errno
from collections.abc import Callable

import pytest

from inorder.host.filesystem import write_atomic
from inorder.sim.crash.power_loss import PowerLossState, power_losses
from inorder.sim.disk.contents import Medium
from inorder.sim.disk.disk import Disk
from inorder.sim.disk.operations import DiskFaults, PowerLoss
from tests.sim.disks import disk_with, trees


def test_a_killed_process_leaves_all_that_it_wrote_and_no_open_file() -> None:
    disk = disk_with("file", b"safe")
    file = disk.open("file")
    file.append(b" more")
    disk.kill()
    assert disk.read("file") == b"safe more"
    for act in (lambda: file.append(b"x"), lambda: file.read(0, 1), file.sync, lambda: file.size):
        with pytest.raises(OSError, match="Bad file descriptor"):
            act()
    assert trees(disk) == [{"file": b"safe more"}, {"file": b"safe"}]
    disk.open("file").sync()
    assert trees(disk) == [{"file": b"safe more"}]


def without_power(disk: Disk) -> None:
    """Take the power away at the next operation."""

    def stop(number: int, name: str, path: str) -> None:
        raise PowerLoss

    disk.on_operation = stop


def test_without_power_nothing_is_done_any_more_not_even_by_what_cleans_up() -> None:
    disk = disk_with("file", b"data")
    file = disk.open("file")
    without_power(disk)
    with pytest.raises(PowerLoss):
        file.append(b" more")
    disk.on_operation = None
    acts = (
        lambda: file.append(b"x"),
        lambda: file.truncate(0),
        file.sync,
        lambda: file.size,
        lambda: file.read(0, 1),
        lambda: disk.open("file"),
        lambda: disk.read("file"),
        lambda: disk.stat("file"),
        lambda: disk.rename("file", "other"),
        lambda: disk.unlink("missing"),
        lambda: disk.make_directory("folder"),
        lambda: disk.list("/"),
        lambda: disk.sync_directory("/"),
        lambda: disk.free_bytes("/"),
    )
    for act in acts:
        with pytest.raises(PowerLoss):
            act()
    file.close()
    assert disk.tree() == {"file": b"data"}
    assert trees(disk) == [{"file": b"data"}]


def test_nobody_who_catches_exceptions_catches_a_loss_of_power() -> None:
    assert not issubclass(PowerLoss, Exception)


def test_a_disk_without_power_has_it_again_for_the_next_process() -> None:
    disk = disk_with("file", b"data")
    without_power(disk)
    with pytest.raises(PowerLoss):
        disk.unlink("file")
    disk.kill()
    assert disk.read("file") == b"data"


def test_an_error_of_the_listener_takes_the_place_of_the_operation() -> None:
    disk = disk_with("file", b"safe ")
    file = disk.open("file")
    file.append(b"limbo")

    def refuse(number: int, name: str, path: str) -> None:
        raise OSError(errno.EROFS, f"{name} of {path}")

    disk.on_operation = refuse
    with pytest.raises(OSError, match="sync of file"):
        file.sync()
    disk.on_operation = None
    file.sync()
    assert trees(disk) == [{"file": b"safe limbo"}, {"file": b"safe "}]


# ---- every moment of a story

OLD, NEW = b"old and " * 100, b"new and other " * 100


def whole_file_written(disk: Disk) -> None:
    write_atomic(disk, "file", NEW)


def file_halves(losses: list[PowerLossState]) -> list[str]:
    """The moments at which the file was neither the old one nor the new one."""
    return [moment for moment, disk in losses if disk.tree().get("file") not in (OLD, NEW)]


@pytest.mark.slow
@pytest.mark.parametrize("sector_bytes", [1, 512])
@pytest.mark.parametrize("has_leftover", [False, True])
def test_a_whole_file_is_the_old_or_the_new_one_whenever_the_power_goes(sector_bytes: int, has_leftover: bool) -> None:
    disk = disk_with("file", OLD, Medium(sector_bytes=sector_bytes))
    if has_leftover:
        disk.open("file.new").append(b"left over")
    losses = list(power_losses(whole_file_written, disk, limit=50_000))
    assert file_halves(losses) == []
    assert {found.tree()["file"] for _, found in losses} == {OLD, NEW}
    at_the_end = [found.tree()["file"] for moment, found in losses if moment.startswith("at the end")]
    assert set(at_the_end) == {NEW}


@pytest.mark.parametrize("has_leftover", [False, True])
def test_a_whole_file_is_still_there_after_a_second_loss_of_power_in_its_recovery(has_leftover: bool) -> None:
    disk = disk_with("file", OLD)
    if has_leftover:
        disk.open("file.new").append(b"left over")
    for _, found in power_losses(whole_file_written, disk):
        assert file_halves(list(power_losses(whole_file_written, found))) == []


@pytest.mark.parametrize("code", [errno.EIO, errno.ENOSPC])
@pytest.mark.parametrize("number", range(6))
def test_a_whole_file_is_the_old_or_the_new_one_when_any_operation_fails_before_the_power_goes(
    number: int, code: int
) -> None:
    disk = disk_with("file", OLD)
    disk.faults = DiskFaults(fail_at={disk.operations + number: code}, short_writes={disk.operations + number: 100})
    failures: list[OSError] = []

    def tried_once(each: Disk) -> None:
        try:
            whole_file_written(each)
        except OSError as error:
            failures.append(error)

    assert file_halves(list(power_losses(tried_once, disk))) == []
    assert len(failures) == (number < 5)


def _without_a_sync(disk: Disk) -> None:
    disk.open("file.new").append(NEW)
    disk.rename("file.new", "file")
    disk.sync_directory("/")


def _in_place(disk: Disk) -> None:
    file = disk.open("file")
    file.truncate(0)
    file.append(NEW)
    file.sync()


def _old_one_first_out_of_the_way(disk: Disk) -> None:
    file = disk.open("file.new")
    file.append(NEW)
    file.sync()
    disk.unlink("file")
    disk.rename("file.new", "file")
    disk.sync_directory("/")


@pytest.mark.parametrize("wrong", [_without_a_sync, _in_place, _old_one_first_out_of_the_way])
def test_whoever_writes_a_whole_file_in_a_wrong_way_is_found_out(wrong: Callable[[Disk], None]) -> None:
    assert file_halves(list(power_losses(wrong, disk_with("file", OLD))))


def test_whoever_leaves_out_the_sync_of_the_folder_may_find_the_old_file_at_the_end() -> None:
    def unfinished(disk: Disk) -> None:
        file = disk.open("file.new")
        file.append(NEW)
        file.sync()
        disk.rename("file.new", "file")

    losses = list(power_losses(unfinished, disk_with("file", OLD)))
    assert file_halves(losses) == []
    assert OLD in [found.read("file") for moment, found in losses if moment.startswith("at the end")]


def test_on_a_disk_that_lies_the_test_of_a_whole_file_fails_as_it_must() -> None:
    disk = Disk(syncs=False)
    write_atomic(disk, "file", OLD)
    honest_so_far = disk.crash(lambda ways: 0)
    assert honest_so_far.tree() == {"file": OLD}
    assert file_halves(list(power_losses(whole_file_written, honest_so_far)))


def test_the_moments_are_named_and_the_disk_itself_is_left_alone() -> None:
    disk = disk_with("file", OLD)
    losses = list(power_losses(lambda each: each.unlink("file"), disk))
    assert [found.moment for found in losses] == [
        "before operation 4, unlink file, state 0",
        "at the end, state 0",
        "at the end, state 1",
    ]
    assert [list(found.disk.tree()) for found in losses] == [["file"], [], ["file"]]
    assert (disk.operations, disk.tree()) == (4, {"file": OLD})
