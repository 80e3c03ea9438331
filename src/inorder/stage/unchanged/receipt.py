"""What a complete run leaves for the next one: what it was made of, and what it has made.

A stage whose items are made of the results of other stages has nothing to do if these results, its configuration and
its own results are what they were at the end of its last run. To compare them takes a few queries, whatever the number
of items.

The content of a store has an id, which the receipt of its stage keeps. A run that has written nothing, and that began
with the store as the receipt describes it, keeps the id; every other run gives it a new one. The store itself says
which run was the last one to write to it, by its position. So a receipt that does not match it, because a run was
interrupted or the store was replaced, is worth nothing. Neither is one of a file that has changed since.

A receipt is a cache. It may be lost at any moment; the next run then checks every item.
"""

import contextlib
import os
from collections.abc import Sequence

import msgspec

from inorder.core.transitions import State
from inorder.errors import InorderError
from inorder.host.filesystem import SystemFilesystem, write_atomic
from inorder.runtime.identity import hash_strings, new_run_id
from inorder.runtime.recovery import OpenedJournal
from inorder.sinks.base import Entry, Position, Sink
from inorder.sinks.manifest import ManifestSink
from inorder.stage.contracts import StageHooks, StagePlan
from inorder.stage.data_layout import DataLayout
from inorder.stage.file_stat import FileStat
from inorder.stage.freshness import UNCHANGED
from inorder.stage.monitor.otel import is_otel_wanted
from inorder.stage.options import StageOptions
from inorder.stage.plan_identity import hash_config
from inorder.stage.store.database import open_store

FORMAT = 1
_SUCCESS = int(State.TERMINAL_SUCCESS)
_SKIP = int(State.TERMINAL_SKIP)


class Receipt(msgspec.Struct, frozen=True, kw_only=True):
    """What a complete run leaves."""

    format: int = FORMAT
    content: str
    """The id of the content of the results."""
    outputs: str
    """What identifies the results as they were at the end of the run."""
    inputs: dict[str, str] = {}
    """The ids of the contents that the plan was made of, by stage."""
    version: str = ""
    """A hash of everything else that decides which items there are, and whether they are up to date."""
    is_clean: bool = False
    """Whether every item is up to date now: none failed, was declined by its worker, or was removed."""
    count: int = 0
    rows: tuple[int, int, int] = (0, 0, 0)
    """The rows of the run in the manifest: first offset, end, and the checksum of the manifest up to there."""
    digest: bytes = b""
    """The digest of the plan."""


_DECODER = msgspec.json.Decoder(Receipt)


def read_receipt(data: str, stage: str) -> Receipt | None:
    """Read the receipt of the last run of a stage; None: there is none, or it is of another version."""
    try:
        with open(DataLayout(data, stage).receipt, "rb") as file:
            found = _DECODER.decode(file.read())
    except (OSError, msgspec.DecodeError, UnicodeDecodeError):
        return None
    return found if found.format == FORMAT else None


def write_receipt(data: str, stage: str, receipt: Receipt) -> None:
    """Write a receipt. An error of the disk is ignored: the next run checks every item."""
    with contextlib.suppress(OSError):
        write_atomic(SystemFilesystem(), DataLayout(data, stage).receipt, msgspec.json.encode(receipt))


def identify_store(data: str, stage: str) -> str:
    """What identifies the store of a stage as it is now: the position of its last run, and the stat of its file; empty:
    there is none, or it cannot be read."""
    with contextlib.suppress(InorderError, OSError):  # the run of that stage reports it
        store = open_store(data, stage)
        if store is not None:
            position = store.read_position()
            numbers = (position.end, position.offset, position.checksum, *FileStat.read(store.path).signature)
            return " ".join(map(str, numbers))
    return ""


def find_content(data: str, stage: str) -> str:
    """The id of the content of a store as it is now; empty: it is not known."""
    receipt = read_receipt(data, stage)
    return receipt.content if receipt is not None and receipt.outputs == identify_store(data, stage) else ""


def hash_version(plan: StagePlan, options: StageOptions) -> str:
    """A hash of what the items of a derived plan depend on besides the results that they are made of."""
    derived = plan.derived_from
    return "" if derived is None else hash_strings(derived.version, hash_config(plan, options))


class RunRecord:
    """Compares the beginning of a run with the receipt of the last one, and its end with its beginning. To be made
    before the run changes anything."""

    def __init__(self, plan: StagePlan, options: StageOptions) -> None:
        self._plan = plan
        self._options = options
        self._data = os.fspath(options.data)
        self._version = hash_version(plan, options)
        is_kept = plan.is_stored or plan.derived_from is not None
        self._outputs = self._read_outputs() if is_kept else ""
        known = read_receipt(self._data, plan.stage_name) if self._outputs else None
        self._known = known if known is not None and known.outputs == self._outputs else None
        """The receipt of the last run, if the results are what it describes."""
        derived = plan.derived_from
        stages = () if derived is None else derived.stages
        self._inputs = {stage: find_content(self._data, stage) for stage in stages}
        self._is_kept = is_kept
        self._is_clean = False
        self._opened: OpenedJournal | None = None
        self._manifest: ManifestSink | None = None
        self._start = Position()

    def begin(self, sinks: Sequence[Sink], opened: OpenedJournal) -> None:
        """Note where the run begins."""
        self._opened = opened
        self._manifest = next((sink for sink in sinks if isinstance(sink, ManifestSink)), None)
        self._start = Position() if self._manifest is None else self._manifest.position()
        self._is_clean = self._manifest is not None and not opened.is_resumed

    def add(self, entries: Sequence[Entry]) -> None:
        """Take in entries that are committed."""
        for entry in entries:
            if entry.outcome == _SUCCESS:
                continue
            if entry.outcome != _SKIP or entry.payload.reason != UNCHANGED:
                self._is_clean = False

    def find_unchanged(self, hooks: StageHooks, opened: OpenedJournal) -> Receipt | None:
        """The receipt of the last run, if it shows that every item is up to date; None: every item must be checked, or
        something wants to know each."""
        known, derived, options = self._known, self._plan.derived_from, self._options
        if known is None or derived is None or not known.is_clean or opened.is_resumed or not self._is_clean:
            return None
        is_asked = options.resume and options.fingerprinting and not options.force
        is_observed = hooks.after_item is not None or options.attempts_log or is_otel_wanted()
        if not is_asked or is_observed or not all(self._inputs.values()):
            return None
        found = (known.version, known.inputs, known.rows[1:])
        if found != (self._version, self._inputs, (self._start.offset, self._start.checksum)):
            return None
        return known if derived.is_same() else None

    def write(self) -> None:
        """Write the receipt of the run, which is complete."""
        if not self._is_kept or self._opened is None or self._manifest is None:
            return
        known, outputs = self._known, self._read_outputs()
        end = self._manifest.position()
        candidate = self._opened.writer.state.newest_candidate
        receipt = Receipt(
            content=known.content if known is not None and self._is_same_content(outputs) else new_run_id(),
            outputs=outputs,
            inputs=self._inputs,
            version=self._version,
            is_clean=self._is_clean,
            count=candidate.end,
            rows=(self._start.offset, end.offset, end.checksum),
            digest=candidate.digest,
        )
        write_receipt(self._data, self._plan.stage_name, receipt)

    def _is_same_content(self, outputs: str) -> bool:
        """Whether the run has written no result and removed none."""
        derived = self._plan.derived_from
        if derived is not None and derived.read_outputs is not None:
            return outputs == self._outputs
        store = open_store(self._data, self._plan.stage_name)
        if store is None or self._opened is None or self._opened.is_resumed:
            return False
        return outputs.split(" ")[1:2] == self._outputs.split(" ")[1:2] and not store.list_removed()

    def _read_outputs(self) -> str:
        """What identifies the results as they are now; empty: there are none, or they cannot be read."""
        derived = self._plan.derived_from
        if derived is None or derived.read_outputs is None:
            return identify_store(self._data, self._plan.stage_name)
        with contextlib.suppress(InorderError, OSError):
            return derived.read_outputs()
        return ""
