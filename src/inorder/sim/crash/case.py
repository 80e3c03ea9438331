"""A complete run on a disk, small enough to be crashed at every one of its durable operations.

A case is a scenario of the simulator (items that fail, are skipped, are retried, kill their workers) with a journal, a
manifest, and published files, all on one `Disk`. Workers write the files of their items into staging through the same
disk, so the power can be lost while they do.

The expected result follows from the case alone: the oracle knows the outcome of every item, and from that the bytes of
the manifest and of every file follow. No run is needed as a reference.
"""

import zlib
from random import Random
from typing import Any

import msgspec

from inorder.core.commands import Summary
from inorder.core.events import Envelope
from inorder.core.options import KernelOptions, RetryOptions, WindowOptions
from inorder.core.transitions import State
from inorder.journal.writer import FSYNC_POLICIES, FsyncPolicy, JournalOptions
from inorder.runtime.result_log import DecodedResult, EncodedResult, ResultRecord
from inorder.sim.disk.contents import Medium
from inorder.sim.disk.disk import Disk
from inorder.sim.oracle import predict
from inorder.sim.scenario import Fate, Faults, Scenario, SimItem, hand_over_random
from inorder.sim.world import predict_summary
from inorder.sinks.base import Entry, Output
from inorder.sinks.outputs import SYNC_EACH_MAX, is_intact

JOURNAL = "journal/run.journal"
MANIFEST = "rows/manifest.jsonl"
ROOT = "files/out"
STAGING = "files/out.staging"
FOLDERS = ("journal", "rows", "files")
"""One per part, so that the sync of one folder cannot hide a missing sync of another."""

HEAD = ({"row": "__config__", "made_by": "the simulator"},)
MEDIUM = Medium(sector_bytes=64)
"""Sectors small enough that records and rows are torn."""

_encode = msgspec.json.Encoder(order="deterministic").encode


class CrashCase(msgspec.Struct, frozen=True, kw_only=True):
    """The scenario of a run, and the options of its journal."""

    scenario: Scenario
    journal: JournalOptions
    sync_each_max: int = SYNC_EACH_MAX
    """With more files than this, the whole disk is synced in one call."""

    @property
    def seed(self) -> int:
        """The seed that it was drawn from."""
        return self.scenario.seed


class ExpectedFiles(msgspec.Struct, frozen=True, kw_only=True):
    """The expected content of the disk, at the end and at every seq before."""

    rows: tuple[bytes, ...]
    """The lines of the manifest, without its head."""
    files: tuple[dict[str, bytes], ...]
    """The files of each item, by path from the root."""
    summary: Summary

    @property
    def end(self) -> int:
        """How many items are committed at the end."""
        return len(self.rows)

    def manifest(self, end: int) -> bytes:
        """Return the manifest when `end` items are committed. The head is written with the first of them."""
        return _HEAD_ROWS + b"".join(self.rows[:end]) if end else b""

    def files_at(self, end: int) -> dict[str, bytes]:
        """Return the files when `end` items are committed."""
        return {path: data for files in self.files[:end] for path, data in files.items()}


def new_disk(*, syncs: bool = True) -> Disk:
    """Create a disk with durable, empty folders for the run."""
    disk = Disk(medium=MEDIUM, syncs=syncs)
    for folder in FOLDERS:
        disk.make_directory(folder)
    return disk.crash(lambda ways: 0)


def draw_case(seed: int, fsync: FsyncPolicy | None = None) -> CrashCase:
    """Draw the case of a seed."""
    rng = Random(seed ^ 0xC4A54)
    hand_over_rng = hand_over_random(seed)
    items = tuple(_draw_item(rng, hand_over_rng, number) for number in range(rng.randrange(5, 12)))
    scenario = Scenario(
        seed=seed,
        items=items,
        options=_draw_options(rng),
        faults=_draw_faults(rng),
        workers=rng.choice((1, 2, 3, 4)),
        batch_limit=rng.choice((1, 2, 4)),
        timeout_ms=30,
        announces_total=rng.random() < 0.5,
        cancel_at_ms=rng.randrange(0, 60) if rng.random() < 0.25 else None,
        cancel_grace_ms=rng.choice((None, 0, 5)),
    )
    policy = rng.choice(FSYNC_POLICIES)
    journal = JournalOptions(
        fsync=fsync or policy,
        checkpoint_ms=rng.choice((1, 10, 30, 100_000)),
        compact_bytes=rng.choice((1, 400, 800, 1_000_000)),
    )
    return CrashCase(scenario=scenario, journal=journal, sync_each_max=rng.choice((0, 2, SYNC_EACH_MAX)))


def _draw_item(rng: Random, hand_over_rng: Random, number: int) -> SimItem:
    fate = rng.choices((Fate.OK, Fate.SKIP, Fate.FAIL, Fate.HOSTILE, Fate.HANG), (70, 12, 10, 4, 4))[0]
    return SimItem(
        item_id=f"item-{number}",
        fate=fate,
        failures=rng.choice((0, 0, 0, 1, 2)),
        duration_ms=rng.choice((1, 3, 10, 25)),
        result_bytes=rng.choice((0, 5, 70, 200)),
        batch_key=rng.choice(("", "", "a", "b")),
        hand_overs=hand_over_rng.choice((0, 0, 1, 2)),
    )


def _draw_options(rng: Random) -> KernelOptions:
    is_bounded = rng.random() < 0.4
    return KernelOptions(
        windows=WindowOptions(
            entries=rng.choice((2, 3, 4)), entries_min=1, entries_max=8, adaptive=not is_bounded and rng.random() < 0.5
        ),
        retry=RetryOptions(
            retries_max=rng.choice((0, 1, 2)),
            window_retries_max=rng.randrange(4) if is_bounded else None,
            backoff_ms=rng.choice((0, 5)),
            backoff_ms_max=20,
        ),
        schedule=rng.choice(("fifo", "sjf")),
        commit_run_max=rng.choice((1, 2, 3, 64)),
        lease_ms=400,
        infrastructure_budget=1000,
        error_budget=rng.choice((None, None, None, None, None, None, None, 1, 2)),
        cancel_grace_ms=rng.choice((0, 10)),
    )


def _draw_faults(rng: Random) -> Faults:
    chosen = {name: 30 for name in ("delay", "shuffle", "hoard", "give_back", "zombie") if rng.random() < 0.3}
    chosen |= {name: 10 for name in ("die", "machine_loss", "retire", "silent") if rng.random() < 0.15}
    return Faults(**chosen)


def make_files(seq: int, item: SimItem) -> dict[str, bytes]:
    """Make the files that an item produces, by path from the root."""
    text = f"{item.item_id} ".encode()
    files = {f"group-{seq % 2}/{item.item_id}": (text * item.result_bytes)[: item.result_bytes]}
    if seq % 3 == 0:
        files[f"{item.item_id}.done"] = text
    return files


def make_outputs(seq: int, item: SimItem) -> list[Output]:
    """Make the outputs that describe these files."""
    return [Output(path, len(data), zlib.crc32(data)) for path, data in make_files(seq, item).items()]


def make_partial(item: SimItem, number: int) -> bytes:
    """Make what an item hands over as its partial result with this number, the same in every attempt."""
    return b"part %d of %b" % (number, item.item_id.encode())


def staging_folder(seq: int, attempt: int) -> str:
    """Return the staging folder of an attempt."""
    return f"{STAGING}/{seq}-{attempt}"


def describe_entry(envelope: Envelope, item: SimItem, attempts: int) -> Entry:
    """Build the entry of a finished item, with its files."""
    if envelope.outcome != State.TERMINAL_SUCCESS:
        return Entry(envelope.seq, envelope.outcome, attempts, item, envelope.partial, envelope.failure)
    _, seq, attempt = envelope.payload  # an adopted result has the attempt of an earlier process
    outputs, staging = make_outputs(envelope.seq, item), staging_folder(seq, attempt)
    return Entry(envelope.seq, envelope.outcome, attempts, item, outputs=outputs, staging=staging)


class SimResultCodec:
    """What the result log keeps of a simulated result: its seq, its attempt, and its staged files."""

    def __init__(self, disk: Disk) -> None:
        self._disk = disk

    def identify(self, item: SimItem) -> bytes:
        """Return the id of an item."""
        return item.item_id.encode()

    def encode(self, item: SimItem, payload: Any) -> EncodedResult | None:
        """Encode a result."""
        _, seq, attempt = payload
        paths = make_files(seq, item) if item.fate is Fate.OK else {}
        folder = staging_folder(seq, attempt).removeprefix(f"{STAGING}/")
        return EncodedResult([seq, attempt], [(f"{folder}/{path}", path) for path in paths])

    def decode(self, item: SimItem, record: ResultRecord) -> DecodedResult | None:
        """Decode a result, unless one of its files is damaged."""
        seq, attempt = msgspec.msgpack.decode(record.payload)
        outputs = {output.path: output for output in make_outputs(seq, item)}
        for name, path in record.files:
            try:
                if not is_intact(self._disk, f"{STAGING}/{name}", outputs[path].size, outputs[path].checksum):
                    return None
            except OSError:
                return None
        return DecodedResult(("result", seq, attempt))

    def is_valid_partial(self, item: SimItem, partial: bytes) -> bool:
        """Return True: no item changes."""
        return True


def make_row(entry: Entry) -> dict[str, Any]:
    """Make one row of the manifest."""
    return {
        "seq": entry.seq,
        "id": entry.item.item_id,
        "status": State(entry.outcome).name,
        "attempts": entry.attempts,
        "outputs": entry.outputs,
        "partial": entry.payload.decode() if entry.applies and not entry.is_success else "",
    }


def predict_files(case: CrashCase) -> ExpectedFiles:
    """Derive the expected result of a case without running it."""
    scenario = case.scenario
    expected = predict(scenario)
    rows: list[bytes] = []
    files: list[dict[str, bytes]] = []
    for seq, (item, ending) in enumerate(zip(scenario.items, expected.outcomes, strict=False)):
        is_success = ending.outcome is State.TERMINAL_SUCCESS
        outputs = make_outputs(seq, item) if is_success else []
        is_partial = ending.outcome is State.TERMINAL_FAIL and item.hand_overs > 0
        partial = make_partial(item, item.hand_overs - 1) if is_partial else None
        entry = Entry(seq, ending.outcome, ending.retries + 1, item, partial, outputs=outputs)
        rows.append(_encode_row(make_row(entry)))
        files.append(make_files(seq, item) if is_success else {})
    return ExpectedFiles(rows=tuple(rows), files=tuple(files), summary=predict_summary(scenario, expected))


def _encode_row(row: dict[str, Any]) -> bytes:
    return b"{%s}\n" % b",".join(_encode(name) + b":" + _encode(value) for name, value in row.items())


_HEAD_ROWS = b"".join(map(_encode_row, HEAD))
