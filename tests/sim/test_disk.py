"""What a power loss leaves of the bytes on a disk, and how the states are enumerated."""

import pytest

from inorder.sim.disk.choices import Draw
from inorder.sim.disk.contents import Medium
from inorder.sim.disk.disk import STATES_MIN, Disk
from tests.sim.disks import disk_with, trees


def contents(disk: Disk, name: str = "file") -> set[bytes | None]:
    return {tree.get(name) for tree in trees(disk)}


def kept(ways: int) -> int:
    return 0


def lost(ways: int) -> int:
    return 1


def scripted(*answers: int) -> Draw:
    """Gives these answers, and fails when asked for more."""
    rest = list(answers)
    return lambda ways: rest.pop(0)


# ---- bytes


def test_what_was_synced_under_a_synced_name_is_found_in_the_only_state_there_is() -> None:
    disk = disk_with("file", b"data")
    assert disk.count_states(10) == 1
    assert trees(disk) == [{"file": b"data"}]


def test_bytes_that_were_not_synced_may_be_there_or_not() -> None:
    disk = disk_with("file", b"safe")
    disk.open("file").append(b" more")
    assert contents(disk) == {b"safe", b"safe more"}


def test_a_later_write_may_be_there_without_an_earlier_one_and_zeros_are_in_its_place() -> None:
    disk = disk_with("file", b"safe ")
    file = disk.open("file")
    file.append(b"one ")
    file.append(b"two")
    assert contents(disk) == {b"safe ", b"safe one ", b"safe one two", b"safe \0\0\0\0two"}


def test_the_sync_of_one_handle_is_for_what_all_of_them_wrote() -> None:
    disk = disk_with("file", b"")
    one, other = disk.open("file"), disk.open("file")
    one.append(b"one ")
    other.append(b"other")
    other.sync()
    assert contents(disk) == {b"one other"}


def test_a_write_is_torn_only_where_a_sector_of_the_file_ends() -> None:
    disk = disk_with("file", b"s" * 500, Medium(zeroes=False, flips=False))
    disk.open("file").append(b"w" * 1000)
    lengths = {len(found or b"") for found in contents(disk)}
    assert lengths == {500, 512, 1024, 1500}


def test_a_write_that_ends_with_its_sector_is_not_torn_there() -> None:
    disk = disk_with("file", b"", Medium(zeroes=False, flips=False))
    disk.open("file").append(b"w" * 1024)
    assert {len(found or b"") for found in contents(disk)} == {0, 512, 1024}
    assert disk.count_states(10) == 3


def test_a_torn_write_leaves_zeros_up_to_the_next_one() -> None:
    disk = disk_with("file", b"", Medium(sector_bytes=2, zeroes=False, flips=False))
    file = disk.open("file")
    file.append(b"one")
    file.append(b"two")
    assert b"on\0two" in contents(disk)
    assert b"on\0t" in contents(disk)
    assert b"o\0\0two" not in contents(disk)


def test_with_sectors_of_one_byte_a_write_is_torn_anywhere() -> None:
    disk = disk_with("file", b"", Medium(sector_bytes=1, zeroes=False, flips=False))
    disk.open("file").append(b"data")
    assert contents(disk) == {b"", b"d", b"da", b"dat", b"data"}


def test_the_place_of_a_write_may_be_there_without_its_bytes() -> None:
    disk = disk_with("file", b"safe", Medium(tears=False, flips=False))
    disk.open("file").append(b"data")
    assert contents(disk) == {b"safe", b"safedata", b"safe\0\0\0\0"}


def test_any_one_bit_of_a_write_may_be_wrong_and_none_of_what_is_safe() -> None:
    disk = disk_with("file", b"safe", Medium(tears=False, zeroes=False))
    disk.open("file").append(b"ab")
    flipped = {b"safe" + (number ^ (1 << bit)).to_bytes(2, "big") for bit in range(16) for number in [0x6162]}
    assert contents(disk) == {b"safe", b"safeab"} | flipped
    assert disk.count_states(100) == 18


@pytest.mark.parametrize("size", [4, 0])
def test_a_cut_that_was_not_synced_may_be_undone(size: int) -> None:
    disk = disk_with("file", b"0123456789")
    disk.open("file").truncate(size)
    assert contents(disk) == {b"0123456789", b"0123456789"[:size]}


def test_what_was_cut_off_may_come_back_behind_what_was_written_in_its_place() -> None:
    disk = disk_with("file", b"0123456789")
    file = disk.open("file")
    file.truncate(4)
    file.append(b"new")
    assert contents(disk) == {b"0123456789", b"0123", b"0123new", b"0123new789"}


def test_a_cut_and_what_follows_it_are_safe_once_synced() -> None:
    disk = disk_with("file", b"0123456789")
    file = disk.open("file")
    file.truncate(4)
    file.append(b"new")
    file.sync()
    assert contents(disk) == {b"0123new"}


# ---- the walk through the states


def test_the_draw_decides_names_first_and_then_the_bytes_of_what_is_left() -> None:
    disk = Disk()
    disk.open("a").append(b"data")
    disk.open("b").append(b"data")
    assert disk.crash(scripted(1, 0, 2)).tree() == {"b": b"\0\0\0\0"}
    assert disk.crash(scripted(0, 1, 3, 9)).tree() == {"a": b"dcta"}


def test_few_states_are_walked_through_all_and_none_twice() -> None:
    disk = disk_with("file", b"")
    for _ in range(6):
        disk.open("file").append(b"x")
    assert disk.count_states(64) == 64
    assert len(list(disk.states(limit=64))) == 64
    assert len(trees(disk)) == 1 + sum(2 ** (length - 1) for length in range(1, 7))


@pytest.mark.parametrize("seed", range(5))
def test_of_many_states_a_sample_is_taken_with_both_extremes_in_it(seed: int) -> None:
    disk = disk_with("file", b"safe", Medium())
    for number in range(20):
        disk.open("file").append(b"%d" % number * 100)
    assert disk.count_states(50) > 50
    found = [state.tree()["file"] for state in disk.states(limit=50, seed=seed)]
    assert len(found) == 50
    assert found[:2] == [disk.read("file"), b"safe"]
    assert found == [state.tree()["file"] for state in disk.states(limit=50, seed=seed)]
    assert found != [state.tree()["file"] for state in disk.states(limit=50, seed=seed + 1)]
    assert len(set(found)) > 40


def test_a_sample_has_most_of_what_a_disk_leaves_that_loses_things_in_order() -> None:
    disk = disk_with("file", b"")
    for number in range(20):
        disk.open("file").append(b"%c" % (65 + number))
    found = {state.read("file") for state in disk.states(limit=200)}
    in_order = {disk.read("file")[:length] for length in range(21)}
    assert len(found & in_order) > 15
    assert len(found - in_order) > 100


def test_a_walk_through_no_states_is_refused() -> None:
    with pytest.raises(ValueError, match="at least 2"):
        Disk().states(limit=STATES_MIN - 1)


def test_what_is_found_is_safe_and_the_disk_itself_goes_on() -> None:
    disk = disk_with("file", b"safe")
    disk.open("file").append(b" more")
    found = disk.crash(kept)
    assert found.count_states(10) == 1
    found.open("file").append(b" and more")
    assert disk.read("file") == b"safe more"
    assert disk.crash(lost).read("file") == b"safe"
    disk.open("file").sync()
    assert disk.crash(lost).read("file") == b"safe more"


def test_a_copy_has_everything_that_is_not_yet_safe_and_a_life_of_its_own() -> None:
    disk = disk_with("file", b"safe")
    disk.make_directory("folder")
    disk.rename("file", "folder/file")
    disk.open("folder/file").append(b" more")
    twin = disk.copy()
    assert trees(twin) == trees(disk)
    twin.open("folder/file").append(b"!")
    assert disk.read("folder/file") == b"safe more"
    twin.open("folder/file").sync()
    twin.sync_directory("folder")
    twin.sync_directory("/")
    assert trees(twin) == [{"folder/file": b"safe more!"}]
    assert len(trees(disk)) > 1


def test_a_tree_is_told_from_the_folder_asked_for() -> None:
    disk = Disk()
    disk.open("top")
    disk.make_directory("/a/b")
    disk.open("a/b/file").append(b"data")
    assert list(disk.tree().items()) == [("a/b/file", b"data"), ("top", b"")]
    assert disk.tree("/a") == {"b/file": b"data"}


def test_a_fingerprint_tells_disks_apart_by_all_that_a_reader_can_see() -> None:
    def made(*paths: str, data: bytes = b"x", folder: str = "d") -> bytes:
        disk = Disk()
        disk.make_directory(folder)
        for path in paths:
            file = disk.open(path)
            file.append(data)
            file.close()
        return disk.fingerprint()

    prints = [made(), made("a"), made("b"), made("a", data=b"y"), made("d/a"), made("a", folder="e"), made("a", "d/a")]
    assert len(set(prints)) == len(prints)
    assert made("a", "b") == made("b", "a")
