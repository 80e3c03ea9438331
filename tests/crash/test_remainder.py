"""A plan that is a remainder, ended at every durable operation: by the death of its process, and by a power loss.

The plan has what the last sink, a library, does not hold yet. After any number of interruptions the library has every
item once, the manifest has one row for each, in order, and a failed item has what its worker handed over.
"""

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

import msgspec
import pytest

from inorder.core.events import Envelope
from inorder.core.options import KernelOptions, WindowOptions
from inorder.core.windows.plan import PlanItem
from inorder.engines.attempt import Skip
from inorder.engines.inline import InlineEngine
from inorder.engines.progress import find_reporter
from inorder.host.filesystem import write_atomic
from inorder.journal.records import Header
from inorder.journal.writer import JournalOptions
from inorder.runtime.durable_run import DurableJob, DurableRun
from inorder.runtime.identity import encode_identity
from inorder.runtime.result_log import FORMAT_VERSION, LogHeader, PlainCodec, ResultLog
from inorder.sim.clock import VirtualClock
from inorder.sim.crash.power_loss import power_losses
from inorder.sim.disk.disk import Disk
from inorder.sim.disk.operations import PowerLoss
from inorder.sinks.base import AppliedRun, Entry, Position, check_run
from inorder.sinks.manifest import ManifestSink, complete_lines

LIBRARY, MANIFEST, JOURNAL, RESULTS = "library/rows.json", "rows/manifest.jsonl", "journal/run.journal", "results"
ITEMS = ("ok-0", "fail-1", "ok-2", "skip-3", "fail-4", "none-5", "ok-6")
EXPECTED = [
    ("ok-0", "all of ok-0"),
    ("fail-1", "part of fail-1"),
    ("ok-2", "all of ok-2"),
    ("skip-3", None),
    ("fail-4", "part of fail-4"),
    ("none-5", None),
    ("ok-6", "all of ok-6"),
]
Rows = list[tuple[str, Any]]


class LibrarySink:
    """Rows in one file that is replaced as a whole, with the position of the run. It cannot undo anything."""

    name = "library"
    is_final = True

    def __init__(self, disk: Disk) -> None:
        self._disk = disk
        self._stored, self.rows = read_library(disk)
        self._position: Position | None = None

    def apply(self, entries: Sequence[Entry]) -> Position:
        position = check_run(self.name, self._position, entries)
        added = [(entry.item, _decode(entry)) for entry in entries]
        self._replace(Position(position.end + len(entries), len(self.rows) + len(added), position.checksum), added)
        return self._stored

    def _replace(self, position: Position, added: Rows) -> None:
        write_atomic(self._disk, LIBRARY, msgspec.json.encode((position, self.rows + added)))
        self._stored = self._position = position
        self.rows = self.rows + added

    def position(self) -> Position:
        return check_run(self.name, self._position, ())

    def sync(self) -> None:
        pass

    def origin(self) -> Position:
        return Position(0, len(self.rows), self._stored.checksum + 1)

    def holds(self, position: Position, since: Sequence[AppliedRun]) -> bool:
        if position.checksum == self._stored.checksum:
            return position.end <= self._stored.end
        return position.end == 0 and position.offset >= len(self.rows)

    def applied(self, position: Position) -> Position:
        return self._stored if position.checksum == self._stored.checksum else position

    def roll_back(self, position: Position, undone: Sequence[AppliedRun]) -> None:
        assert self.holds(position, ()), f"the library at {self._stored} does not hold {position}"
        if position.checksum != self._stored.checksum:
            self._replace(position, [])
        self._position = position

    def close(self) -> None:
        pass


def _decode(entry: Entry) -> Any:
    if not entry.applies:
        return None
    return entry.payload if entry.is_success else msgspec.msgpack.decode(entry.payload)


def read_library(disk: Disk) -> tuple[Position, Rows]:
    if disk.stat(LIBRARY) is None:
        return Position(), []
    return msgspec.json.decode(disk.read(LIBRARY), type=tuple[Position, Rows])


class WatchedLog(ResultLog):
    """Remembers of which items it has results."""

    def __init__(self, *arguments: Any, logged: set[str], **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._logged = logged
        self._encoded: list[str] = []

    def encode(self, envelope: Envelope, item: Any, retries: int) -> bytearray | None:
        self._encoded.append(item)
        return super().encode(envelope, item, retries)

    def append(self, frames: Sequence[bytes | bytearray], last_seq: int) -> None:
        super().append(frames, last_seq)
        self._logged.update(self._encoded)
        self._encoded.clear()


class Process:
    """One process, which runs what is left to do."""

    def __init__(self, disk: Disk) -> None:
        self.disk = disk
        self.computed: list[str] = []
        self.offered: dict[str, bytes] = {}
        self.logged: set[str] = set()
        """Items whose results are in the log."""

    def run(self) -> None:
        disk = self.disk
        header = LogHeader(FORMAT_VERSION, "story", "", "")
        codec = PlainCodec(encode_identity)
        results = WatchedLog(disk, RESULTS, header, codec, by_identity=True, logged=self.logged)
        results.read()
        library = LibrarySink(disk)
        manifest = ManifestSink(disk, MANIFEST, make_row, head=[{"id": "__config__"}], appends=True)
        job = DurableJob(
            filesystem=disk,
            path=JOURNAL,
            header=Header("story", "", "", [manifest.name, library.name]),
            sinks=[manifest, library],
            options=JournalOptions(fsync="batch", checkpoint_ms=1, compact_bytes=400),
            results=results,
            offer=self._offer,
        )
        opened = job.open_remainder()
        assert opened.warning == ""
        results.start(0)
        done = {item for item, _ in library.rows}
        left = [item for item in ITEMS if item not in done]
        plan = [(PlanItem(item), item) for item in left]
        options = KernelOptions(windows=WindowOptions(entries=3, entries_min=1), commit_run_max=2)
        run = DurableRun(job, opened, plan, InlineEngine(self._work), VirtualClock(), options, total=len(plan))
        run.run()
        results.clear()

    def _offer(self, item: str, partial: bytes) -> str:
        self.offered[item] = partial
        return item

    def _work(self, item: str) -> Any:
        self.computed.append(item)
        kind, reporter = item.partition("-")[0], find_reporter()
        assert reporter is not None
        if kind != "none":
            reporter.hand_over(msgspec.msgpack.encode(f"part of {item}"))
        if kind in ("fail", "none"):
            raise ValueError(item)
        return Skip("nothing to do") if kind == "skip" else f"all of {item}"


def make_row(entry: Entry) -> dict[str, Any]:
    return {"id": entry.item, "outcome": entry.outcome, "value": _decode(entry)}


def new_disk() -> Disk:
    disk = Disk()
    for folder in ("library", "rows", "journal", RESULTS):
        disk.make_directory(folder)
    return disk.crash(lambda ways: 0)


def check(disk: Disk) -> None:
    """Check that every item is there once, in the library and in the manifest."""
    rows = read_library(disk)[1]
    assert [(item, value) for item, value in rows] == EXPECTED
    lines = [msgspec.json.decode(line) for line in complete_lines(disk.read(MANIFEST))]
    assert [(line["id"], line["value"]) for line in lines if line["id"] != "__config__"] == EXPECTED


def end_at(disk: Disk, at: int) -> Process:
    """Run a process until just before its durable operation with this number."""
    first = disk.operations

    def listen(number: int, name: str, path: str) -> None:
        if number - first >= at:
            raise PowerLoss

    process = Process(disk)
    disk.on_operation = listen
    try:
        process.run()
    except PowerLoss:
        pass
    finally:
        disk.on_operation = None
        disk.kill()
    return process


def count_operations() -> int:
    disk = new_disk()
    first = disk.operations
    Process(disk).run()
    check(disk)
    return disk.operations - first


def deaths() -> Iterator[tuple[int, ...]]:
    count = count_operations()
    for first in range(count):
        yield (first,)
    for first in range(0, count, 5):
        for second in range(0, count - first, 7):
            yield (first, second)


@pytest.mark.req("COM-2", "JRN-7", "JRN-8", "RUN-7")
def test_whenever_its_process_dies_nothing_is_lost_repeated_or_computed_twice() -> None:
    for moments in deaths():
        disk = new_disk()
        logged: set[str] = set()
        for at in moments:
            process = end_at(disk, at)
            assert not logged & set(process.computed), f"{moments}: computed again"
            logged |= process.logged
        last = Process(disk)
        last.run()
        check(disk)
        assert not logged & set(last.computed), f"{moments}: computed again"
        assert all(value == msgspec.msgpack.encode(f"part of {item}") for item, value in last.offered.items())


@pytest.mark.req("COM-2", "JRN-8")
def test_after_a_death_an_item_is_offered_what_it_had_handed_over() -> None:
    offered: set[str] = set()
    for at, *_ in deaths():
        disk = new_disk()
        end_at(disk, at)
        last = Process(disk)
        last.run()
        offered |= set(last.offered)
    assert {"fail-1", "fail-4"} <= offered
    assert "none-5" not in offered


@pytest.mark.req("COM-2", "JRN-7", "RUN-7")
def test_whenever_the_power_is_lost_every_item_has_one_row() -> None:
    tried = 0
    for state in islice(power_losses(lambda disk: Process(disk).run(), new_disk(), limit=6), 400):
        Process(state.disk).run()
        check(state.disk)
        tried += 1
    assert tried > 100
