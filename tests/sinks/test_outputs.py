"""Published files: where they come from, where they may go, and what is synced."""

import zlib
from collections.abc import Callable

import pytest

from inorder.core.transitions import State
from inorder.errors import InfrastructureError, OperatorError
from inorder.sim.disk.disk import Disk
from inorder.sim.disk.file import DiskFile
from inorder.sinks.base import AppliedRun, Entry, Output, Position
from inorder.sinks.checksums import BLOCK_BYTES
from inorder.sinks.outputs import OutputsSink, clear_staging
from tests.sinks.harnesses import stage

ROOT = "data/root"
STAGING = "data/root.staging"


@pytest.fixture
def disk() -> Disk:
    disk = Disk()
    disk.make_directory("data")
    return disk.crash(lambda ways: 0)  # all of it is safe


@pytest.fixture
def sink(disk: Disk) -> OutputsSink:
    return OutputsSink(disk, ROOT)


def success(disk: Disk, seq: int, files: dict[str, bytes], attempt: int = 1) -> Entry:
    """An item whose worker has staged these files."""
    staging = f"{STAGING}/{seq}-{attempt}"
    outputs = [stage(disk, staging, path, data) for path, data in files.items()]
    return Entry(seq, State.TERMINAL_SUCCESS, attempts=attempt, outputs=outputs, staging=staging)


def trace(*entries: Entry) -> AppliedRun:
    return AppliedRun(entries[0].seq, entries[-1].seq + 1, {entry.seq: entry.outputs for entry in entries})


def operations(disk: Disk, act: Callable[[], object]) -> list[tuple[str, str]]:
    """The durable operations it takes, with their paths."""
    log: list[tuple[str, str]] = []
    disk.on_operation = lambda number, name, path: log.append((name, path.strip("/")))
    act()
    disk.on_operation = None
    return log


# ---- publishing


@pytest.mark.req("RUN-5")
def test_files_are_published_in_seq_order_by_renaming_them(disk: Disk, sink: OutputsSink) -> None:
    entries = [success(disk, seq, {f"b/{seq}": b"one", f"a{seq}": b"two"}) for seq in range(3)]
    log = operations(disk, lambda: sink.apply(entries))
    published = [f"{ROOT}/{path}" for path in ("b/0", "a0", "b/1", "a1", "b/2", "a2")]
    assert [path for name, path in log if name == "rename"] == published
    assert {name for name, _ in log} == {"rename", "make_directory"}
    assert disk.tree(ROOT) == {path.removeprefix(f"{ROOT}/"): disk.read(path) for path in published}
    assert disk.tree(STAGING) == {}


def test_the_position_counts_files_and_sums_up_what_was_said_of_them(disk: Disk, sink: OutputsSink) -> None:
    first = sink.apply([success(disk, 0, {"a": b"one", "b": b""}), Entry(1, State.TERMINAL_SKIP)])
    said = b"a\x003\x00%d\n" % zlib.crc32(b"one") + b"b\x000\x000\n"
    assert first == Position(2, 2, zlib.crc32(said))
    second = sink.apply([success(disk, 2, {"c": b"x"})])
    assert second == Position(3, 3, zlib.crc32(said + b"c\x001\x00%d\n" % zlib.crc32(b"x")))


@pytest.mark.req("RUN-5")
def test_only_the_folder_of_the_attempt_that_was_committed_is_looked_at(disk: Disk, sink: OutputsSink) -> None:
    success(disk, 0, {"a": b"of a worker that was given up", "extra": b"too"}, attempt=1)
    entry = success(disk, 0, {"a": b"good"}, attempt=2)
    success(disk, 0, {"a": b"of a worker nobody waits for"}, attempt=3)
    stage(disk, entry.staging, "not named", b"by the result")
    sink.apply([entry])
    assert disk.tree(ROOT) == {"a": b"good"}


@pytest.mark.req("COM-2", "RUN-5")
@pytest.mark.parametrize("outcome", [State.TERMINAL_SKIP, State.TERMINAL_FAIL])
def test_files_of_an_item_that_did_not_succeed_are_not_published(disk: Disk, sink: OutputsSink, outcome: State) -> None:
    done = success(disk, 0, {"a": b"x"})
    position = sink.apply([Entry(0, outcome, outputs=done.outputs, staging=done.staging)])
    assert disk.tree(ROOT) == {}
    assert position == Position(1, 0, 0)


@pytest.mark.req("RUN-5")
def test_an_older_file_is_replaced(disk: Disk, sink: OutputsSink) -> None:
    stage(disk, ROOT, "a", b"of an older dataset")
    sink.apply([success(disk, 0, {"a": b"new"})])
    assert disk.tree(ROOT) == {"a": b"new"}


def test_of_two_items_that_name_the_same_file_the_later_wins_however_they_are_cut(disk: Disk) -> None:
    for cuts in ([[0, 1]], [[0], [1]]):
        sink = OutputsSink(disk, ROOT)
        for seqs in cuts:
            sink.apply([success(disk, seq, {"same": b"%d" % seq}) for seq in seqs])
        assert disk.tree(ROOT) == {"same": b"1"}


# ---- what is wrong with what was staged


def missing(disk: Disk, entry: Entry) -> None:
    disk.unlink(f"{entry.staging}/b")


def longer(disk: Disk, entry: Entry) -> None:
    disk.open(f"{entry.staging}/b").append(b"still writing")


def a_folder(disk: Disk, entry: Entry) -> None:
    missing(disk, entry)
    disk.make_directory(f"{entry.staging}/b")


@pytest.mark.parametrize("outcome", [State.TERMINAL_SKIP, State.TERMINAL_FAIL])
def test_what_an_entry_wants_gone_goes_and_is_gone_after_a_loss_of_power(
    disk: Disk, sink: OutputsSink, outcome: State
) -> None:
    sink.apply([success(disk, 0, {"a/one": b"1", "a/two": b"2", "b": b"3"})])
    sink.sync()
    sink.apply([Entry(1, outcome, removals=["a/one", "b", "never/was"])])
    assert disk.tree(ROOT) == {"a/two": b"2"}
    sink.sync()
    assert all(found.tree(ROOT) == {"a/two": b"2"} for found in disk.states(50, 1))


def test_a_file_that_was_published_and_is_gone_again_is_not_missed_when_syncing(disk: Disk, sink: OutputsSink) -> None:
    sink.apply([success(disk, 0, {"a": b"1"}), Entry(1, State.TERMINAL_SKIP, removals=["a"])])
    sink.sync()
    assert disk.tree(ROOT) == {}


@pytest.mark.parametrize(
    ("spoil", "complaint"),
    [(missing, "is missing"), (longer, "has 16 bytes, expected 3"), (a_folder, "is missing")],
)
def test_a_staged_file_that_is_not_as_stated_is_named_and_nothing_of_the_run_is_published(
    disk: Disk, sink: OutputsSink, spoil: Callable[[Disk, Entry], None], complaint: str
) -> None:
    entries = [success(disk, 0, {"a": b"one"}), success(disk, 1, {"b": b"two"})]
    spoil(disk, entries[1])
    with pytest.raises(InfrastructureError, match=f"^item 1: output {STAGING}/1-1/b {complaint}$"):
        sink.apply(entries)
    assert disk.tree(ROOT) == {}
    assert sink.position() == Position()


@pytest.mark.req("RUN-5")
@pytest.mark.parametrize("path", ["", "../outside", "/data/outside", "a/../../outside", "a//b", "./a", "a\0b"])
def test_a_path_that_could_lead_out_of_the_root_is_refused_whoever_let_it_pass(
    disk: Disk, sink: OutputsSink, path: str
) -> None:
    entry = Entry(0, State.TERMINAL_SUCCESS, outputs=[Output(path, 3, 0)], staging=f"{STAGING}/0-1")
    before = disk.tree()
    with pytest.raises(OperatorError, match="cannot be used"):
        sink.apply([entry])
    with pytest.raises(OperatorError, match="cannot be used"):
        sink.roll_back(Position(), [trace(entry)])
    assert not sink.holds(Position(1, 1, 0), [trace(entry)])
    assert disk.tree() == before


@pytest.mark.req("RUN-5")
@pytest.mark.parametrize("staging", ["", "data", "data/elsewhere", f"{STAGING}/../root", STAGING, f"{STAGING}-2/0"])
def test_files_that_wait_outside_of_the_staging_area_are_not_taken(disk: Disk, sink: OutputsSink, staging: str) -> None:
    output = stage(disk, staging or "data", "a", b"x")
    with pytest.raises(OperatorError, match=r"outside of data/root\.staging"):
        sink.apply([Entry(0, State.TERMINAL_SUCCESS, outputs=[output], staging=staging)])


@pytest.mark.req("RUN-5")
def test_nothing_is_published_into_the_staging_area(disk: Disk) -> None:
    sink = OutputsSink(disk, "data", staging="data/.staging")
    output = stage(disk, "data/.staging/0-1", ".staging/7-1/a", b"x")
    entry = Entry(0, State.TERMINAL_SUCCESS, outputs=[output], staging="data/.staging/0-1")
    with pytest.raises(OperatorError, match="is in the staging area"):
        sink.apply([entry])


def test_an_item_that_names_a_file_twice_is_refused(disk: Disk, sink: OutputsSink) -> None:
    entry = success(disk, 0, {"a": b"x"})
    twice = Entry(0, State.TERMINAL_SUCCESS, outputs=[*entry.outputs, *entry.outputs], staging=entry.staging)
    with pytest.raises(OperatorError, match="item 0: duplicate output 'a'"):
        sink.apply([twice])


def test_a_file_in_the_place_of_a_folder_is_an_error_that_names_the_run(disk: Disk, sink: OutputsSink) -> None:
    sink.apply([success(disk, 0, {"a": b"x"})])
    with pytest.raises(InfrastructureError, match=r"data/root: seqs 1 to 1 cannot be published: .*a"):
        sink.apply([success(disk, 1, {"a/b": b"y"})])


# ---- syncing


def test_every_file_and_every_folder_is_synced_once_and_only_once(disk: Disk, sink: OutputsSink) -> None:
    sink.apply([success(disk, seq, {f"a/b/{seq}": b"x", f"a/{seq}": b"y"}) for seq in range(3)])
    sink.apply([success(disk, 3, {"a/b/0": b"again"})])
    log = operations(disk, sink.sync)
    files = [path for name, path in log if name == "sync"]
    folders = [path for name, path in log if name == "sync_directory"]
    assert sorted(files) == sorted(f"{ROOT}/{path}" for path in disk.tree(ROOT))
    assert sorted(folders) == ["data", ROOT, f"{ROOT}/a", f"{ROOT}/a/b"]
    assert len(files) + len(folders) == len(log)
    assert operations(disk, sink.sync) == []


def test_a_later_sync_is_about_what_came_later(disk: Disk, sink: OutputsSink) -> None:
    sink.apply([success(disk, 0, {"a/old": b"x"})])
    sink.sync()
    sink.apply([success(disk, 1, {"new": b"x"})])
    assert operations(disk, sink.sync) == [("sync", f"{ROOT}/new"), ("sync_directory", ROOT)]


def test_a_published_file_that_is_missing_at_the_sync_is_not_created_empty(disk: Disk, sink: OutputsSink) -> None:
    sink.apply([success(disk, 0, {"a": b"x"})])
    disk.unlink(f"{ROOT}/a")
    with pytest.raises(InfrastructureError, match="data/root/a was published and is missing now"):
        sink.sync()
    assert disk.tree(ROOT) == {}


# ---- recovery


def test_rolling_back_removes_what_the_undone_runs_published_and_nothing_else(disk: Disk, sink: OutputsSink) -> None:
    stage(disk, ROOT, "foreign", b"not ours")
    kept, undone = success(disk, 0, {"a/kept": b"x"}), success(disk, 1, {"a/gone": b"y", "b/gone": b"z"})
    never = success(disk, 2, {"c/never": b"published"})
    position = sink.apply([kept])
    sink.apply([undone])
    sink.roll_back(position, [trace(undone), trace(never)])
    assert disk.tree(ROOT) == {"foreign": b"not ours", "a/kept": b"x"}
    for found in disk.states(50):
        assert not found.tree(ROOT).keys() & {"a/gone", "b/gone"}
    sink.sync()


def test_what_it_found_of_a_file_is_forgotten_when_files_change(disk: Disk, sink: OutputsSink) -> None:
    entry = success(disk, 0, {"a": b"x"})
    position = Position(1, 1, 0)
    assert not sink.holds(position, [trace(entry)])
    sink.apply([entry])
    assert sink.holds(position, [trace(entry)])
    sink.roll_back(Position(), [trace(entry)])
    assert not sink.holds(position, [trace(entry)])


def test_what_was_not_synced_is_held_only_byte_for_byte(disk: Disk, sink: OutputsSink) -> None:
    large = bytes(BLOCK_BYTES) + b"and more"
    entry = success(disk, 0, {"a": large, "b": b"x"})
    position = sink.apply([entry])
    assert OutputsSink(disk, ROOT).holds(position, [trace(entry)])
    for spoiled in (large[:-1] + b"!", large[:-1], b""):
        stage(disk, ROOT, "a", spoiled)
        assert not OutputsSink(disk, ROOT).holds(position, [trace(entry)])
    assert OutputsSink(disk, ROOT).holds(position, [])


def test_files_are_read_once_however_many_positions_are_asked_about(
    disk: Disk, sink: OutputsSink, monkeypatch: pytest.MonkeyPatch
) -> None:
    entries = [success(disk, seq, {f"{seq}": b"%d" % seq}) for seq in range(20)]
    positions = [sink.apply([entry]) for entry in entries]
    stage(disk, ROOT, "3", b"?")
    again = OutputsSink(disk, ROOT)
    opened: list[str] = []
    open_ = Disk.open

    def counted(self: Disk, path: str) -> DiskFile:
        opened.append(path)
        return open_(self, path)

    monkeypatch.setattr(Disk, "open", counted)
    held = [again.holds(positions[n], [trace(entry) for entry in entries[: n + 1]]) for n in reversed(range(20))]
    assert held == [False] * 17 + [True] * 3
    assert len(opened) == len(set(opened))


@pytest.mark.parametrize("damage", ["missing", "longer", "changed"])
def test_a_file_that_is_not_as_it_was_published_is_not_held(disk: Disk, sink: OutputsSink, damage: str) -> None:
    entry = success(disk, 0, {"a": b"one", "b": b"two"})
    position = sink.apply([entry])
    assert sink.holds(position, [trace(entry)])
    if damage == "missing":
        disk.unlink(f"{ROOT}/b")
    else:
        stage(disk, ROOT, "b", {"longer": b"longer", "changed": b"TWO"}[damage])
    assert not OutputsSink(disk, ROOT).holds(position, [trace(entry)])


def test_a_path_that_leaves_the_root_is_never_held(disk: Disk, sink: OutputsSink) -> None:
    good, bad = stage(disk, ROOT, "a", b"one"), Output("../x", 0, 0)
    assert sink.holds(Position(1), [AppliedRun(0, 1, {0: [good]})])
    assert not sink.holds(Position(1), [AppliedRun(0, 1, {0: [good, bad]})])


# ---- clearing the staging area


def test_what_earlier_runs_left_in_staging_is_swept_away(disk: Disk, sink: OutputsSink) -> None:
    success(disk, 0, {"a/b": b"x", "c": b"y"})
    sink.apply([success(disk, 0, {"kept": b"z"}, attempt=2)])
    assert clear_staging(disk, STAGING) == [f"{STAGING}/0-1/a/b", f"{STAGING}/0-1/c"]
    assert disk.tree(STAGING) == {}
    assert disk.tree(ROOT) == {"kept": b"z"}
    assert clear_staging(disk, STAGING) == []


def test_where_nothing_was_ever_staged_there_is_nothing_to_sweep(disk: Disk) -> None:
    assert clear_staging(disk, STAGING) == []
