"""What a run would do with each item. It is determined as the run itself does it, and changes nothing.

A run of several stages is predicted stage by stage. What a stage would write and remove is kept as predicted changes of
files (`inorder.files.predicted`), and the plan of the next stage is made with them. A prediction assumes that every
item to be processed succeeds.

An item whose input will be written is certain to be processed only if the bytes of the input are certain to change.
Otherwise it depends: the run compares the new input with the one that the present outputs were made of.
"""

import os
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from inorder.cli.known_failures import KnownFailures
from inorder.cli.stage_loader import StageJob
from inorder.core.windows.id_set import IdSet
from inorder.engines.attempt import escape_surrogates
from inorder.errors import OperatorError
from inorder.files.predicted import Change, PredictedFiles
from inorder.stage.contracts import Barrier, Skip, StageError, WorkItem
from inorder.stage.data_layout import FINGERPRINT_SUFFIX, DataLayout
from inorder.stage.fingerprints import Fingerprint, combine_sha256, list_published
from inorder.stage.freshness import (
    INPUT_CHANGED,
    INPUT_UNREADABLE,
    OUTPUTS_EXIST,
    Freshness,
    check_planned,
    get_sha256,
)
from inorder.stage.hash_cache import HashCache
from inorder.stage.options import StageOptions
from inorder.stage.plan_identity import find_resume_seq
from inorder.stage.stale_items import find_run_start, find_stale
from inorder.stage.store.database import open_store
from inorder.stage.store.inputs import Input, list_files
from inorder.stage.store.rows import StoredItem

PROCESS, SKIP, DEPENDS, REMOVE, FAIL = VERDICTS = "process", "skip", "depends", "remove", "fail"
_COMMITTED = "already committed by the interrupted run, which will be resumed"
_FORCED = "all items are processed again (--force)"
_NOT_RESUMED = "all items are processed again (--no-resume)"
_NOT_PLANNED = "it is no longer in the plan"


class Forecast(NamedTuple):
    """What a run would do with one item."""

    item: WorkItem
    verdict: str
    reason: str
    fingerprint: Fingerprint | StoredItem | None = None
    """The fingerprint of its present outputs."""


class DryRun:
    """Evaluates the plan of a stage without running it, and adds what it would change to `files`."""

    def __init__(self, job: StageJob, options: StageOptions, files: PredictedFiles) -> None:
        self._rules = job.stage.prediction
        self._options = options
        self._files = files
        self._data = os.path.abspath(options.data)
        self._plan = job.make_plan(self._data)
        resumed = find_resume_seq(self._plan, options)
        self._begin, self._is_resumed = resumed or 0, resumed is not None
        self._layout = DataLayout(self._data, self._plan.stage_name)
        self._failures = KnownFailures(self._layout, job.entry)
        self._cache = HashCache(self._layout.cache) if os.path.exists(self._layout.cache) else None
        self._same: dict[str, WorkItem] | None = None
        self._store = open_store(self._data, self._plan.stage_name) if self._plan.is_stored else None

    def predict(self) -> Iterator[Forecast]:
        """What a run would do: with each item of the plan, then with stale items."""
        planned = IdSet()
        for seq, item in enumerate(self._items()):
            if not isinstance(item, WorkItem):
                raise OperatorError(f"item {seq} of the plan must be a WorkItem, got a {type(item).__name__}")
            planned.add(escape_surrogates(item.item_id))
            found = Forecast(item, SKIP, _COMMITTED) if seq < self._begin else self._predict_item(item)
            yield found
        start = find_run_start(self._layout.manifest, is_resumed=self._begin > 0)
        for item in find_stale(self._plan, self._layout, planned, start, is_begun=self._is_resumed):
            self._remove(self._list_results(item))
            yield Forecast(item, REMOVE, _NOT_PLANNED)

    def close(self) -> None:
        """Close the cache of file hashes."""
        if self._cache is not None:
            self._cache.close()

    def check_without_cache(self, found: Forecast) -> Forecast:
        """The same item, with the hashes of its files computed again."""
        if found.verdict not in (SKIP, PROCESS) or found.reason == _COMMITTED:
            return found
        cache, self._cache = self._cache, None
        try:
            return self._predict_item(found.item)
        finally:
            self._cache = cache

    def _items(self) -> Iterator[WorkItem]:
        return (item for item in self._plan.items if not isinstance(item, Barrier))

    def _predict_item(self, item: WorkItem) -> Forecast:
        found, asked = self._check(item)
        verdict, reason = self._judge(item, found, is_asked=asked)
        if verdict != SKIP:
            verdict, reason = self._foresee_outcome(item, verdict, reason)
            self._apply(item, found, verdict)
        return Forecast(item, verdict, reason, found.fingerprint)

    def _check(self, item: WorkItem) -> tuple[Freshness, bool]:
        """Check an item against the present files. Returns also whether the answer depends on its inputs."""
        asked: list[Input] = []

        def hash_input(source: Input) -> str:
            asked.append(source)
            return get_sha256(source, self._cache)

        found = check_planned(
            item,
            self._plan,
            self._data,
            fingerprinting=self._options.fingerprinting,
            cache=self._cache,
            hash_input=hash_input,
            store=self._store,
        )
        return found, bool(asked)

    def _judge(self, item: WorkItem, found: Freshness, *, is_asked: bool) -> tuple[str, str]:
        """Whether the worker would be called."""
        if self._options.force or not self._options.resume:
            forced = _FORCED if self._options.force else _NOT_RESUMED
            return PROCESS, forced if found.is_satisfied else found.reason
        written = self._list_written_inputs(item)
        if not written:
            return (SKIP, found.reason) if found.is_satisfied else self._check_assumption(item, found)
        if found.reason == OUTPUTS_EXIST:
            return SKIP, found.reason
        path = os.path.relpath(next(iter(written)), self._data)
        if found.is_satisfied and Change.CHANGED in written.values():
            return PROCESS, f"its input will change: {path}"
        is_input_at_fault = found.reason.startswith((INPUT_CHANGED, INPUT_UNREADABLE)) or (
            is_asked and not item.outputs
        )
        if not found.is_satisfied and not (is_input_at_fault and self._may_match(item, written)):
            return PROCESS, found.reason
        return DEPENDS, f"its input {path} is made again: process if that changes it, else skip"

    def _list_written_inputs(self, item: WorkItem) -> dict[str, Change]:
        """The inputs that an earlier stage will write."""
        changes = {os.fspath(path): self._files.get(os.fspath(path)) for path in item.inputs.values()}
        return {path: change for path, change in changes.items() if change is not None}

    def _may_match(self, item: WorkItem, written: dict[str, Change]) -> bool:
        """Whether the outputs could have been made of the inputs as they will be. They cannot if they were made of the
        other inputs alone."""
        kept = {name: path for name, path in item.inputs.items() if os.fspath(path) not in written}
        without = WorkItem(item_id=item.item_id, inputs=kept, cfg_hash=item.cfg_hash, meta=item.meta)
        return self._plan.judge is None or bool(item.outputs) or not self._check(without)[0].is_satisfied

    def _check_assumption(self, item: WorkItem, found: Freshness) -> tuple[str, str]:
        """An item that is not up to date. If its configuration covers files that are made again, it may yet be."""
        if any(self._files.has_rewritten(f"{self._data}/{path}") for path in item.reads):
            same = self._plan_as_if_same().get(item.item_id)
            if same is not None and self._check(same)[0].is_satisfied:
                return DEPENDS, "files that it is made of are made again: process if that changes them, else skip"
        return PROCESS, found.reason

    def _plan_as_if_same(self) -> dict[str, WorkItem]:
        """The items that read folders, planned as if every file that is made again kept its bytes."""
        if self._same is None:
            self._files.is_rewriting_same = True
            try:
                self._same = {item.item_id: item for item in self._items() if item.reads}
            finally:
                self._files.is_rewriting_same = False
        return self._same

    def _foresee_outcome(self, item: WorkItem, verdict: str, reason: str) -> tuple[str, str]:
        """What the worker would do, if that is known."""
        known = self._rules.outcome(item)
        if isinstance(known, StageError):
            return FAIL, known.message
        if isinstance(known, Skip):
            return SKIP, str(known.reason)
        if self._rules.is_removal(item):
            return REMOVE, _NOT_PLANNED
        if any(self._files.get(f"{self._data}/{path}") for path in self._rules.waits_for(item)):
            return DEPENDS, "the file is looked at first: process if it still has this part, else remove"
        written = self._list_written_inputs(item)
        missing = next(
            (path for path in list_files(item.inputs).values() if path not in written and not os.path.exists(path)),
            None,
        )
        if missing is not None:
            return FAIL, f"no such file or directory: {missing}"
        if not written and (message := self._failures.find(item, escape_surrogates(item.item_id))):
            return FAIL, f"it failed before, and nothing has changed: {message}"
        return verdict, reason

    def _apply(self, item: WorkItem, found: Freshness, verdict: str) -> None:
        """Add what an item that is not up to date would change in DATA."""
        if verdict == FAIL:
            self._remove(self._list_results(item) if self._plan.retires is not None else [])
            return
        self._remove(self._rules.removes(item))
        if verdict not in (PROCESS, DEPENDS):
            return
        change = Change.CHANGED if verdict == PROCESS and self._is_certain(item, found) else Change.REWRITTEN
        for path in self._list_results(item):
            if path.endswith(FINGERPRINT_SUFFIX) and not (self._options.fingerprinting or self._plan.is_stored):
                continue
            place = f"{self._data}/{path}"
            is_new = not self._plan.is_stored and not os.path.exists(place)
            self._files.add(place, Change.CHANGED if is_new else change)

    def _list_results(self, item: WorkItem) -> list[str]:
        """What the item has in DATA, or in the store of the stage, once it is processed."""
        if self._plan.is_stored:
            return [os.fspath(path) for path in item.outputs.values()]
        return list_published(self._data, item.outputs)

    def _is_certain(self, item: WorkItem, found: Freshness) -> bool:
        """Whether the outputs of an item that is processed are certain to change."""
        changed = set()
        if found.fingerprint is not None and found.fingerprint.cfg_hash != item.cfg_hash:
            changed |= set() if self._plan.is_stored else {"configuration"}  # a store has the result alone
        if found.reason == INPUT_CHANGED or (found.is_satisfied and self._list_written_inputs(item)):
            changed.add("input")
        return not changed.isdisjoint(self._rules.changes_with)

    def _remove(self, paths: Iterable[str]) -> None:
        for path in paths:
            self._files.add(f"{self._data}/{path}", Change.REMOVED)


def compare_fingerprint(found: Forecast) -> dict[str, tuple[str, str]]:
    """The parts of the fingerprint that have changed: old value and new value, by part."""
    if found.fingerprint is None or found.verdict == DEPENDS:
        return {}
    old = {"cfg_hash": found.fingerprint.cfg_hash, "input_sha256": found.fingerprint.input_sha256}
    try:
        hashes = {name: get_sha256(each, None) for name, each in found.item.inputs.items()}
        digest = combine_sha256(hashes)
    except OSError:
        digest = "(cannot be read)"
    new = {"cfg_hash": found.item.cfg_hash, "input_sha256": digest}
    return {part: (old[part], new[part]) for part in old if old[part] != new[part]}
