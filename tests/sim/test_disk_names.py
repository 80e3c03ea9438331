"""What a power loss leaves of the names on a disk, and of their files."""

from inorder.sim.disk.disk import Disk
from tests.sim.disks import PLAIN, disk_with, trees


def test_a_synced_file_whose_name_was_not_synced_may_be_gone() -> None:
    disk = Disk(medium=PLAIN)
    file = disk.open("file")
    file.append(b"data")
    file.sync()
    assert trees(disk) == [{"file": b"data"}, {}]


def test_a_synced_name_says_nothing_of_the_bytes_behind_it() -> None:
    disk = Disk(medium=PLAIN)
    disk.open("file").append(b"data")
    disk.sync_directory("/")
    assert trees(disk) == [{"file": b"data"}, {"file": b""}]


def test_names_are_kept_or_lost_each_for_itself() -> None:
    disk = Disk()
    for name in ("a", "b", "c"):
        disk.open(name)
    assert disk.count_states(100) == 8
    assert {tuple(tree) for tree in trees(disk)} == {
        (), ("a",), ("b",), ("c",), ("a", "b"), ("a", "c"), ("b", "c"), ("a", "b", "c"),
    }  # fmt: skip


def test_a_rename_is_kept_or_lost_as_a_whole() -> None:
    disk = disk_with("old", b"data")
    disk.rename("old", "new")
    assert trees(disk) == [{"new": b"data"}, {"old": b"data"}]
    disk.sync_directory("/")
    assert trees(disk) == [{"new": b"data"}]


def test_a_rename_over_a_file_leaves_the_one_or_the_other() -> None:
    disk = disk_with("old", b"data")
    file = disk.open("taken")
    file.append(b"before")
    file.sync()
    disk.sync_directory(".")
    disk.rename("old", "taken")
    assert trees(disk) == [{"taken": b"data"}, {"old": b"data", "taken": b"before"}]


def test_a_removed_name_may_come_back_until_its_folder_is_synced() -> None:
    disk = disk_with("file", b"data")
    disk.unlink("file")
    assert trees(disk) == [{}, {"file": b"data"}]
    disk.sync_directory("/")
    assert trees(disk) == [{}]


def test_an_open_file_without_a_name_is_not_found_again() -> None:
    disk = disk_with("file", b"data")
    file = disk.open("file")
    disk.unlink("file")
    disk.sync_directory("/")
    file.append(b"more")
    file.sync()
    assert trees(disk) == [{}]


def test_a_file_is_never_found_under_two_names_nor_lost_between_two() -> None:
    disk = disk_with("a", b"data")
    disk.rename("a", "b")
    disk.rename("b", "c")
    assert trees(disk) == [{"c": b"data"}, {"b": b"data"}, {"a": b"data"}]


def test_what_builds_upon_a_lost_change_of_a_name_is_lost_with_it() -> None:
    disk = disk_with("a", b"data")
    disk.rename("a", "b")
    disk.open("a")
    assert trees(disk) == [{"a": b"", "b": b"data"}, {"b": b"data"}, {"a": b"data"}]


def two_folders() -> Disk:
    """`from/file` is safe, and so is the folder `to`."""
    disk = Disk(medium=PLAIN)
    disk.make_directory("from")
    disk.make_directory("to")
    file = disk.open("from/file")
    file.append(b"data")
    file.sync()
    disk.sync_directory("/")
    disk.sync_directory("from")
    return disk


def test_a_rename_between_folders_is_safe_once_the_folder_it_went_to_is_synced() -> None:
    disk = two_folders()
    disk.rename("from/file", "to/file")
    both = [{"to/file": b"data"}, {"from/file": b"data"}]
    assert trees(disk) == both
    disk.sync_directory("from")
    assert trees(disk) == both
    disk.sync_directory("to")
    assert trees(disk) == [{"to/file": b"data"}]


def test_what_a_synced_change_builds_upon_is_safe_with_it() -> None:
    disk = two_folders()
    disk.rename("from/file", "to/file")
    disk.open("from/file")
    disk.sync_directory("from")
    assert trees(disk) == [{"from/file": b"", "to/file": b"data"}]


def test_a_file_made_in_one_folder_and_moved_to_another_needs_only_the_sync_of_the_second() -> None:
    disk = two_folders()
    disk.open("from/new").sync()
    disk.rename("from/new", "to/new")
    disk.sync_directory("to")
    assert trees(disk) == [{"from/file": b"data", "to/new": b""}]


def test_a_folder_whose_name_is_lost_is_gone_with_all_that_was_synced_in_it() -> None:
    disk = Disk()
    disk.make_directory("folder/below")
    file = disk.open("folder/below/file")
    file.append(b"data")
    file.sync()
    disk.sync_directory("folder/below")
    disk.sync_directory("folder")
    assert trees(disk) == [{"folder/below/file": b"data"}, {}]
    disk.sync_directory("/")
    assert trees(disk) == [{"folder/below/file": b"data"}]


def test_a_file_is_not_lost_by_moving_it_into_a_folder_that_is() -> None:
    disk = disk_with("file", b"data")
    disk.make_directory("folder")
    disk.rename("file", "folder/file")
    assert trees(disk) == [{"folder/file": b"data"}, {"file": b"data"}]


def test_folders_are_found_again_even_when_nothing_is_in_them() -> None:
    disk = Disk()
    disk.make_directory("a/b")
    disk.sync_directory("/")
    disk.sync_directory("a")
    assert [found.list("a") for found in disk.states()] == [["b"]]
