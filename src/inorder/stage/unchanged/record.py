"""Compares a run with the last one: what has changed before it begins, and what it leaves when it has ended."""

import contextlib
import os
from collections.abc import Callable, Sequence
from functools import partial

import msgspec

from inorder.core.transitions import State
from inorder.errors import InorderError
from inorder.runtime.identity import hash_strings, new_run_id
from inorder.runtime.recovery import OpenedJournal
from inorder.sinks.base import Entry, Position, Sink
from inorder.sinks.manifest import ManifestSink
from inorder.stage.contracts import Derivation, LastRun, PlanEdits, StageHooks, StagePlan
from inorder.stage.freshness import REMOVED_FROM_PLAN, UNCHANGED
from inorder.stage.monitor.otel import is_otel_wanted
from inorder.stage.options import StageOptions
from inorder.stage.plan_identity import hash_config
from inorder.stage.store.database import open_store

from .receipt import (
    Receipt,
    hash_listing,
    identify_store,
    list_changed,
    read_current,
    read_listing,
    read_receipt,
    write_listing,
    write_receipt,
)
from .spliced_manifest import read_last_ids

_SUCCESS = int(State.TERMINAL_SUCCESS)
_SKIP = int(State.TERMINAL_SKIP)
_REMOVED_MAX = 10_000
"""A receipt does not name more results that were removed."""


class RunRecord:
    """Compares the beginning of a run with the receipt of the last one, and its end with its beginning. To be made
    before the run changes anything."""

    def __init__(self, plan: StagePlan, options: StageOptions) -> None:
        self._plan = plan
        self._options = options
        self._data = os.fspath(options.data)
        self._version = self._hash_version(lambda derived: derived.version)
        self._fixed_version = self._hash_version(lambda derived: derived.get_fixed_version())
        is_kept = plan.is_stored or plan.derived_from is not None
        self._outputs = self._read_outputs() if is_kept else ""
        known = read_receipt(self._data, plan.stage_name) if self._outputs else None
        self._known = known if known is not None and known.outputs == self._outputs else None
        """The receipt of the last run, if the results are what it describes."""
        derived = plan.derived_from
        stages = () if derived is None else derived.stages
        self._sources = {stage: read_current(self._data, stage) for stage in stages}
        self._inputs = {stage: "" if found is None else found.content for stage, found in self._sources.items()}
        self._is_kept = is_kept
        self._is_clean = False
        self._gone_count = 0
        self._has_skipped = False
        self._is_unchanged = False
        self._begun_count = 0
        self._opened: OpenedJournal | None = None
        self._manifest: ManifestSink | None = None
        self._start = Position()

    def _hash_version(self, get: Callable[[Derivation], str]) -> str:
        """A hash of what the items of a derived plan depend on besides the results that they are made of."""
        derived = self._plan.derived_from
        return "" if derived is None else hash_strings(get(derived), hash_config(self._plan, self._options))

    def begin(self, sinks: Sequence[Sink], opened: OpenedJournal) -> None:
        """Note where the run begins."""
        self._opened = opened
        self._manifest = next((sink for sink in sinks if isinstance(sink, ManifestSink)), None)
        self._start = Position() if self._manifest is None else self._manifest.position()
        self._is_clean = self._manifest is not None and not opened.is_resumed
        self._gone_count = 0
        self._has_skipped = False
        self._begun_count += 1

    def add(self, entries: Sequence[Entry]) -> None:
        """Take in entries that are committed."""
        for entry in entries:
            if _is_gone(entry):
                self._gone_count += 1
            elif self._gone_count or not self._is_settled(entry):
                self._is_clean = False

    def _is_settled(self, entry: Entry) -> bool:
        """Whether the next run skips the item, if it has not changed."""
        derived = self._plan.derived_from
        if entry.outcome != _SKIP:
            return entry.outcome == _SUCCESS
        if entry.payload.reason == UNCHANGED:
            return True
        self._has_skipped = True
        return derived is not None and derived.skips_again

    def find_unchanged(self, hooks: StageHooks, opened: OpenedJournal) -> Receipt | None:
        """The receipt of the last run, if it shows that every item is up to date; None: items must be checked, or
        something wants to know each."""
        known, derived = self._find_comparable(hooks, opened), self._plan.derived_from
        if known is None or derived is None or (known.version, known.inputs) != (self._version, self._inputs):
            return None
        self._is_unchanged = derived.is_same()
        return known if self._is_unchanged else None

    def find_edits(self, hooks: StageHooks, opened: OpenedJournal) -> tuple[Receipt, PlanEdits] | None:
        """The receipt of the last run, and how the plan differs from that of the last run; None: every item must be
        checked."""
        known, derived = self._find_comparable(hooks, opened), self._plan.derived_from
        if known is None or derived is None or derived.find_edits is None or self._manifest is None:
            return None
        if known.has_skipped:  # an item that has no result may depend on one that has changed
            return None
        has_listing = derived.make_listing is not None
        listing = read_listing(self._data, self._plan.stage_name) if has_listing else b""
        if known.fixed_version != self._fixed_version or (has_listing and known.listing != hash_listing(listing)):
            return None
        changed = self._list_changed(known)
        if changed is None or self._has_others(known):
            return None
        if any(len(ids) > known.kept_count for ids in changed.values()):  # no longer worth while
            return None
        read_ids = partial(read_last_ids, self._manifest, known)
        edits = derived.find_edits(LastRun(count=known.kept_count, read_ids=read_ids, changed=changed, listing=listing))
        return None if edits is None else (known, edits)

    def _find_comparable(self, hooks: StageHooks, opened: OpenedJournal) -> Receipt | None:
        """The receipt of the last run, if every item of it was up to date then, and its rows can be repeated."""
        known, options = self._known, self._options
        if known is None or not known.is_clean or opened.is_resumed or not self._is_clean:
            return None
        is_asked = options.resume and options.fingerprinting and not options.force
        is_observed = hooks.after_item is not None or options.attempts_log or is_otel_wanted()
        if not is_asked or is_observed or not all(self._inputs.values()):
            return None
        return known if known.rows[1:] == (self._start.offset, self._start.checksum) else None

    def _list_changed(self, known: Receipt) -> dict[str, set[str]] | None:
        """For each stage that the plan is made of, the results that have changed; None: they are not known."""
        found = {}
        for stage, current in self._sources.items():
            since = known.inputs.get(stage, "")
            ids = None if current is None else list_changed(self._data, stage, since, current)
            if ids is None:
                return None
            found[stage] = ids
        return found

    def _has_others(self, known: Receipt) -> bool:
        """Whether the store has results of items that the last run did not have."""
        store = open_store(self._data, self._plan.stage_name) if self._plan.is_stored else None
        return store is not None and store.count() != known.kept_count

    def write(self) -> None:
        """Write the receipt of the run, which is complete."""
        if not self._is_kept or self._opened is None or self._manifest is None:
            return
        outputs, end = self._read_outputs(), self._manifest.position()
        candidate = self._opened.writer.state.newest_candidate
        receipt = Receipt(
            content="",
            outputs=outputs,
            inputs=self._inputs,
            version=self._version,
            has_skipped=self._has_skipped or self._has_kept_skipped(),
            is_clean=self._is_clean,
            count=candidate.end,
            rows=(self._start.offset, end.offset, end.checksum),
            digest=candidate.digest,
            fixed_version=self._fixed_version,
            listing=self._write_listing(),
            gone_count=self._gone_count,
        )
        write_receipt(self._data, self._plan.stage_name, self._name_content(receipt))

    def _has_kept_skipped(self) -> bool:
        """Whether the items are those of the last run, and some of them were skipped."""
        return self._is_unchanged and self._known is not None and self._known.has_skipped

    def _write_listing(self) -> str:
        """Keep what the plan has listed of its items. Returns its hash."""
        derived = self._plan.derived_from
        if derived is None or derived.make_listing is None or self._begun_count > 1:  # the items were made again
            return ""
        if self._is_unchanged and self._known is not None:
            return self._known.listing
        return write_listing(self._data, self._plan.stage_name, derived.make_listing())

    def _name_content(self, receipt: Receipt) -> Receipt:
        """Add the id of the content, and how it differs from the content before."""
        known = self._known
        if known is not None and self._is_same_content(receipt.outputs):
            return msgspec.structs.replace(
                receipt, content=known.content, previous=known.previous, start=known.start, removed=known.removed
            )
        store = open_store(self._data, self._plan.stage_name)
        removed = [] if store is None else [item_id for item_id, _, _ in store.list_removed()]
        is_known = known is not None and len(removed) <= _REMOVED_MAX and not any(map(_is_invalid, removed))
        return msgspec.structs.replace(
            receipt,
            content=new_run_id(),
            previous=known.content if known is not None and is_known else "",
            start=_read_offset(self._outputs),
            removed=removed if is_known else [],
        )

    def _is_same_content(self, outputs: str) -> bool:
        """Whether the run has written no result and removed none."""
        derived = self._plan.derived_from
        if derived is not None and derived.read_outputs is not None:
            return outputs == self._outputs
        store = open_store(self._data, self._plan.stage_name)
        if store is None or self._opened is None or self._opened.is_resumed:
            return False
        return _read_offset(outputs) == _read_offset(self._outputs) and not store.list_removed()

    def _read_outputs(self) -> str:
        """What identifies the results as they are now; empty: there are none, or they cannot be read."""
        derived = self._plan.derived_from
        if derived is None or derived.read_outputs is None:
            return identify_store(self._data, self._plan.stage_name)
        with contextlib.suppress(InorderError, OSError):
            return derived.read_outputs()
        return ""


def _is_gone(entry: Entry) -> bool:
    """Whether an item was removed: the next run does not have it."""
    if entry.outcome == _SUCCESS:
        result, item = entry.payload, entry.item.item
        return result.stored is None and result.delivery is None and not (item.inputs or item.outputs)
    return entry.outcome == _SKIP and entry.payload.reason == REMOVED_FROM_PLAN


def _read_offset(outputs: str) -> int:
    """The number of the last row of a store, from what identifies it."""
    parts = outputs.split(" ")
    return int(parts[1]) if len(parts) > 1 and parts[1].isdigit() else 0


def _is_invalid(item_id: str) -> bool:
    """Whether an id is not valid Unicode, so that a receipt cannot name it."""
    return not item_id.isascii() and any("\ud800" <= letter <= "\udfff" for letter in item_id)
