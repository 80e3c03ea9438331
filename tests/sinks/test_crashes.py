"""A crash at every durable operation of a sink, and whatever may be found after it.

`ReferenceRun` plays the journal, which survives the crash: it knows every run before it is applied and every position
after. From any crash or power loss, recovery and the same entries again must lead to the bytes of an undisturbed run,
and must not fall behind the latest sync.
"""

from collections.abc import Callable, Iterator
from errno import EIO, ENOSPC
from functools import partial
from itertools import chain
from typing import NamedTuple

import pytest

from inorder.core.transitions import State
from inorder.errors import InfrastructureError, InvariantViolation
from inorder.host.os_errors import translate_os_errors
from inorder.sim.disk.contents import Medium
from inorder.sim.disk.disk import Disk
from inorder.sim.disk.operations import DiskFaults
from inorder.sinks import packed_lines
from inorder.sinks.base import AppliedRun, Position, Sink
from inorder.sinks.manifest import ManifestSink
from inorder.sinks.outputs import clear_staging
from inorder.sinks.packed_lines import PackedFile
from inorder.sinks.testing import ReferenceRun, SinkHarness
from tests.sinks.harnesses import HEAD, OutputsHarness, row_of

RUN_LENGTHS = (2, 1, 3, 1, 4)
SYNCED_AFTER = (1, 3)
STATES_MAX = 8


class ManifestOnDisk(SinkHarness):
    """A manifest that the power can be taken from."""

    def __init__(self, disk: Disk) -> None:
        self.disk = disk

    def open(self) -> Sink:
        return ManifestSink(self.disk, "data/manifest.jsonl", row_of, head=HEAD)

    def content(self) -> object:
        return self.disk.read("data/manifest.jsonl")


class _PackingManifest(ManifestSink):
    """Packs its rows whenever they are durable."""

    def sync(self) -> None:
        super().sync()
        assert isinstance(self._file, PackedFile)
        with translate_os_errors("rows cannot be packed"):
            self._file.pack("stage")


class PackedManifestOnDisk(ManifestOnDisk):
    """A manifest whose rows are packed during the run."""

    def open(self) -> Sink:
        return _PackingManifest(self.disk, "data/manifest.jsonl", row_of, head=HEAD, appends=True)

    def content(self) -> object:
        return PackedFile(self.disk, "data/manifest.jsonl").read(0, 10**6)


class OutputsOnDisk(OutputsHarness):
    """Published files that the power can be taken from. What earlier runs staged is swept away first."""

    def __init__(self, disk: Disk) -> None:
        super().__init__(disk, "data")

    def open(self) -> Sink:
        clear_staging(self.filesystem, self.staging)
        return super().open()


Make = Callable[[Disk], SinkHarness]
KINDS = pytest.mark.parametrize("make", [ManifestOnDisk, PackedManifestOnDisk, OutputsOnDisk])


@pytest.fixture(autouse=True)
def few_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pack from the first row on."""
    monkeypatch.setattr(packed_lines, "_LEAST_BYTES", 1)
    monkeypatch.setattr(packed_lines, "_FRAME_BYTES", 100)


class Known(NamedTuple):
    """What the journal knew."""

    positions: list[Position]
    runs: list[AppliedRun]
    synced: int


class Moment(NamedTuple):
    """Just before a durable operation."""

    operation: str
    disk: Disk
    known: Known


def new_disk(*, syncs: bool = True) -> Disk:
    disk = Disk(medium=Medium(sector_bytes=7), syncs=syncs)
    disk.make_directory("data")
    return disk.crash(lambda ways: 0)  # all of it is safe


def go_on(run: ReferenceRun) -> None:
    """The rest of the entries, in the same runs."""
    for number in range(len(run.positions) - 1, len(RUN_LENGTHS)):
        run.apply(RUN_LENGTHS[number])
        if number in SYNCED_AFTER:
            run.sync()


def from_the_beginning(run: ReferenceRun) -> None:
    """A run on a new place, to its end."""
    run.sink = run.harness.open()
    run.sink.roll_back(Position(), ())
    go_on(run)


def unopened(harness: SinkHarness) -> ReferenceRun:
    return ReferenceRun(harness, None)  # type: ignore[arg-type]


def undisturbed(make: Make) -> object:
    run = unopened(make(new_disk()))
    from_the_beginning(run)
    return run.harness.content()


def moments(make: Make, disk: Disk) -> list[Moment]:
    """Tell the whole story once, and keep a copy of everything before each operation."""
    kept: list[Moment] = []
    run = unopened(make(disk))

    def keep(number: int, name: str, path: str) -> None:
        known = Known(list(run.positions), list(run.runs), run.synced)
        kept.append(Moment(f"{number}: {name} {path}", disk.copy(), known))

    disk.on_operation = keep
    from_the_beginning(run)
    run.sync()
    keep(disk.operations, "the end", "")
    return kept


def recovered(make: Make, found: Disk, known: Known) -> ReferenceRun:
    """A new process, on the disk as it was found."""
    harness = make(found)
    run = ReferenceRun(harness, harness.open())
    run.positions, run.runs, run.synced = list(known.positions), list(known.runs), known.synced
    run.recover()
    return run


def check_every_loss_of_power(make: Make, disk: Disk, states_max: int = STATES_MAX) -> int:
    """How many disks were found."""
    wanted, count = undisturbed(make), 0
    for operation, lost, known in moments(make, disk):
        for found in lost.states(states_max):
            run = recovered(make, found, known)
            safe = known.positions[known.synced]
            assert run.end >= safe.end, f"power lost before {operation}: fell behind what was synced"
            go_on(run)
            assert run.harness.content() == wanted, f"power lost before {operation}"
            assert run.holds(len(run.runs)), f"power lost before {operation}"
            count += 1
    return count


@pytest.mark.slow
@pytest.mark.req("JRN-2")
@pytest.mark.parametrize(("make", "states_max"), [(ManifestOnDisk, 1000), (OutputsOnDisk, STATES_MAX)])
def test_power_lost_at_any_moment_costs_nothing_that_was_synced_and_the_rest_is_done_again(
    make: Make, states_max: int
) -> None:
    assert check_every_loss_of_power(make, new_disk(), states_max) > 500


@pytest.mark.slow
@pytest.mark.parametrize("make", [ManifestOnDisk, OutputsOnDisk])
def test_a_disk_that_only_says_it_synced_is_found_out(make: Make) -> None:
    with pytest.raises(AssertionError, match="power lost before"):
        check_every_loss_of_power(make, new_disk(syncs=False))


@pytest.mark.req("JRN-2")
@KINDS
def test_a_death_at_any_moment_loses_nothing_that_the_journal_knows_of(make: Make) -> None:
    wanted = undisturbed(make)
    for operation, disk, known in moments(make, new_disk()):
        disk.kill()
        run = recovered(make, disk, known)
        assert run.end == known.positions[-1].end, operation
        go_on(run)
        assert run.harness.content() == wanted, operation


@pytest.mark.slow
@KINDS
def test_what_a_dead_process_had_not_synced_is_synced_by_the_next(make: Make) -> None:
    wanted = undisturbed(make)
    for operation, disk, known in moments(make, new_disk()):
        disk.kill()
        run = recovered(make, disk, known)
        go_on(run)
        run.sync()
        for found in disk.states(STATES_MAX):
            assert make(found).content() == wanted, operation


@pytest.mark.slow
@KINDS
def test_a_second_death_in_the_middle_of_recovery_changes_nothing(make: Make) -> None:
    wanted = undisturbed(make)
    for _, disk, known in moments(make, new_disk())[::5]:
        disk.kill()
        for again, twice in _moments_of_recovery(make, disk, known):
            run = recovered(make, twice, known)
            go_on(run)
            assert run.harness.content() == wanted, again


def _moments_of_recovery(make: Make, disk: Disk, known: Known) -> Iterator[tuple[str, Disk]]:
    kept: list[tuple[str, Disk]] = []
    disk.on_operation = lambda number, name, path: kept.append((f"{number}: {name} {path}", disk.copy()))
    recovered(make, disk, known)
    return chain.from_iterable(((what, found) for found in lost.states(3)) for what, lost in kept)


@KINDS
@pytest.mark.parametrize("error", [EIO, ENOSPC])
def test_a_disk_that_fails_once_stops_the_run_and_the_next_one_heals_it(make: Make, error: int) -> None:
    wanted = undisturbed(make)
    disk = new_disk()
    log: list[tuple[int, str]] = []
    disk.on_operation = lambda number, name, path: log.append((number, path))
    from_the_beginning(unopened(make(disk)))
    of_the_sink = [number for number, path in log if "staging" not in path]
    assert len(of_the_sink) >= 10
    for number in of_the_sink:
        disk = new_disk()
        disk.faults = DiskFaults(fail_at={number: error}, short_writes={number: 30})
        run = unopened(make(disk))
        with pytest.raises(InfrastructureError, match="cannot be"):
            from_the_beginning(run)
        known = Known(run.positions, run.runs, run.synced)
        disk.kill()
        healed = recovered(make, disk, known)
        go_on(healed)
        assert healed.harness.content() == wanted


@KINDS
def test_after_a_failure_nothing_is_taken_before_it_is_rolled_back(make: Make) -> None:
    for call in ("apply", "sync"):
        disk = new_disk()
        harness = make(disk)
        sink = harness.open()
        sink.apply([harness.entry(0, State.TERMINAL_SUCCESS)])
        entries = [harness.entry(1, State.TERMINAL_SUCCESS)]
        disk.faults = DiskFaults(fail_at={disk.operations: EIO})
        with pytest.raises(InfrastructureError):
            sink.sync() if call == "sync" else sink.apply(entries)
        disk.faults = DiskFaults()
        for refused in (sink.sync, sink.position, partial(sink.apply, entries)):
            with pytest.raises(InvariantViolation, match="must be rolled back before it is used"):
                refused()
