"""Properties of every disk: it behaves like a real one, and what was synced is always kept."""

import tempfile
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, initialize, invariant, rule

from inorder.host.filesystem import AppendFile, Filesystem, SystemFilesystem
from inorder.sim.disk.disk import Disk

PATHS = ("a", "b", "c/a", "c/d/b", "c", "c/d", "missing/a", "a/below")
DATA = st.binary(max_size=20)
PLACES = st.integers(0, 30)


def outcome(act: Callable[[], Any]) -> Any:
    """What it gives, or the errno with which it fails."""
    try:
        return act()
    except OSError as error:
        return error.errno


class BesideTheSystem(RuleBasedStateMachine):
    """Does the same to a disk and to a folder of the operating system: nobody can tell them apart."""

    handles = Bundle("handles")

    @initialize()
    def begin(self) -> None:
        self.folder = tempfile.TemporaryDirectory()
        self.disk = Disk()
        self.sides: list[tuple[Filesystem, str]] = [
            (self.disk, "/top"),
            (SystemFilesystem(), f"{self.folder.name}/top"),
        ]
        self.opened: list[AppendFile] = []
        self.both(lambda system, path: system.make_directory(path("c/d")))

    def both(self, act: Callable[[Filesystem, Callable[[str], str]], Any]) -> Any:
        simulated, real = [
            outcome(lambda system=system, root=root: act(system, lambda name: f"{root}/{name}"))
            for system, root in self.sides
        ]
        assert simulated == real
        return simulated

    @rule(target=handles, path=st.sampled_from(PATHS))
    def open(self, path: str) -> tuple[AppendFile, AppendFile] | None:
        files: list[AppendFile] = []
        self.both(lambda system, at: files.append(system.open(at(path))))
        self.opened += files
        return (files[0], files[1]) if files else None

    def on_both(self, pair: tuple[AppendFile, AppendFile] | None, act: Callable[[AppendFile], Any]) -> None:
        if pair is not None:
            simulated, real = [outcome(lambda file=file: act(file)) for file in pair]
            assert simulated == real

    @rule(pair=handles, data=DATA)
    def append(self, pair: tuple[AppendFile, AppendFile] | None, data: bytes) -> None:
        self.on_both(pair, lambda file: file.append(data) if data else None)

    @rule(pair=handles, size=PLACES)
    def truncate(self, pair: tuple[AppendFile, AppendFile] | None, size: int) -> None:
        self.on_both(pair, lambda file: file.truncate(size))

    @rule(pair=handles, offset=PLACES, size=PLACES)
    def read_piece(self, pair: tuple[AppendFile, AppendFile] | None, offset: int, size: int) -> None:
        self.on_both(pair, lambda file: (file.size, file.read(offset, size)))

    @rule(pair=handles)
    def sync(self, pair: tuple[AppendFile, AppendFile] | None) -> None:
        self.on_both(pair, lambda file: file.sync())

    @rule(pair=consumes(handles))
    def close(self, pair: tuple[AppendFile, AppendFile] | None) -> None:
        self.on_both(pair, lambda file: file.close())
        self.on_both(pair, lambda file: file.size)

    @rule(old=st.sampled_from(PATHS), new=st.sampled_from(PATHS))
    def rename(self, old: str, new: str) -> None:
        facts = self.disk.stat(f"/top/{old}")
        if facts is None or not facts.is_directory:
            self.both(lambda system, at: system.rename(at(old), at(new)))

    @rule(path=st.sampled_from(PATHS))
    def unlink(self, path: str) -> None:
        self.both(lambda system, at: system.unlink(at(path)))

    @rule(path=st.sampled_from(["c/d", "a/below", "b", "e/f"]))
    def make_directory(self, path: str) -> None:
        self.both(lambda system, at: system.make_directory(at(path)))

    @rule(path=st.sampled_from(PATHS))
    def sync_directory(self, path: str) -> None:
        self.both(lambda system, at: system.sync_directory(at(path)))

    @rule()
    def lose_power_and_nothing_else(self) -> None:
        assert self.disk.crash(lambda ways: 0).tree() == self.disk.tree() == self.disk.copy().tree()

    @invariant()
    def all_names_and_all_bytes_are_the_same(self) -> None:
        for path in (".", *PATHS, "e", "e/f"):
            self.both(lambda system, at, path=path: system.stat(at(path)))
            self.both(lambda system, at, path=path: system.list(at(path)))
            self.both(lambda system, at, path=path: system.read(at(path)))

    def teardown(self) -> None:
        for file in getattr(self, "opened", []):
            file.close()
        if hasattr(self, "folder"):
            self.folder.cleanup()


BesideTheSystem.TestCase.settings = settings(max_examples=80, stateful_step_count=30)
test_a_disk_is_like_the_operating_system = pytest.mark.slow(BesideTheSystem.TestCase)


# ---- after a loss of power

FOLDERS = ("/", "c", "c/d")
FILES = ("a", "b", "c/a", "c/d/b")
STATES = 60

files = st.sampled_from(FILES)
steps = st.lists(
    st.one_of(
        st.tuples(st.just("append"), files, DATA),
        st.tuples(st.just("truncate"), files, PLACES),
        st.tuples(st.just("sync"), files),
        st.tuples(st.just("sync_directory"), st.sampled_from(FOLDERS)),
        st.tuples(st.just("rename"), files, files),
        st.tuples(st.just("unlink"), files),
        st.tuples(st.just("promise"), files),
    ),
    max_size=25,
)


class Witness:
    """Works on a disk and remembers what the disk has promised: the bytes and names that were synced, to the root."""

    def __init__(self) -> None:
        self.disk = Disk()
        self.disk.make_directory("c/d")
        self.promised: dict[str, bytes] = {}

    def take(self, verb: str, path: str, *rest: Any) -> None:
        outcome(lambda: getattr(self, verb)(path, *rest))

    def append(self, path: str, data: bytes) -> None:
        self.disk.open(path).append(data)

    def truncate(self, path: str, size: int) -> None:
        self.disk.open(path).truncate(size)
        if path in self.promised:
            self.promised[path] = self.promised[path][:size]

    def sync(self, path: str) -> None:
        self.disk.open(path).sync()

    def sync_directory(self, path: str) -> None:
        self.disk.sync_directory(path)

    def rename(self, old: str, new: str) -> None:
        self.disk.rename(old, new)
        if old != new:
            self.promised.pop(old, None)
            self.promised.pop(new, None)

    def unlink(self, path: str) -> None:
        self.disk.unlink(path)
        self.promised.pop(path, None)

    def promise(self, path: str) -> None:
        self.sync(path)
        for folder in FOLDERS[: path.count("/") + 1]:
            self.sync_directory(folder)
        self.promised[path] = self.disk.read(path)


@pytest.mark.slow
@given(steps, st.integers(0, 1000))
@settings(max_examples=300)
def test_what_was_synced_to_the_root_is_found_in_every_state(story: list[tuple[Any, ...]], seed: int) -> None:
    witness = Witness()
    for step in story:
        witness.take(*step)
    for found in witness.disk.states(STATES, seed):
        for path, data in witness.promised.items():
            assert found.read(path)[: len(data)] == data


@pytest.mark.slow
@given(steps)
def test_once_everything_is_synced_there_is_one_state_and_it_is_what_everybody_sees(
    story: list[tuple[Any, ...]],
) -> None:
    witness = Witness()
    for step in story:
        witness.take(*step)
    for path in witness.disk.tree():
        witness.sync(path)
    for folder in FOLDERS:
        witness.sync_directory(folder)
    assert witness.disk.count_states(10) == 1
    assert [found.tree() for found in witness.disk.states()] == [witness.disk.tree()]


moves = st.lists(
    st.one_of(
        st.tuples(st.just("rename"), files, files),
        st.tuples(st.just("unlink"), files),
        st.tuples(st.just("create"), files),
        st.tuples(st.just("sync_directory"), st.sampled_from(FOLDERS)),
    ),
    max_size=12,
)


@pytest.mark.slow
@given(moves, st.integers(0, 1000))
@settings(max_examples=300)
def test_renames_neither_double_files_nor_lose_them(story: list[tuple[str, ...]], seed: int) -> None:
    witness = Witness()
    for path in FILES[:3]:
        witness.append(path, path.encode())
        witness.promise(path)
    witness.sync_directory("c")
    survivors = set(witness.disk.tree().values())
    for verb, path, *rest in story:
        if verb == "create":
            witness.disk.open(path)
        else:
            witness.take(verb, path, *rest)
        survivors &= set(witness.disk.tree().values())
    for found in witness.disk.states(STATES, seed):
        there = [data for data in found.tree().values() if data]
        assert len(there) == len(set(there))
        assert survivors <= set(there)
