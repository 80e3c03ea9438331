"""What a run of a user's stage would do with each item. It is determined as the run itself does it, and changes
nothing. A prediction assumes that every item to be processed succeeds.

Several stages are predicted one after the other. An item whose input an earlier stage will write is certain to be
processed only if there is no such file yet. Otherwise it depends: the run compares the new input with the one that the
present outputs were made of.
"""

import os
from collections.abc import Iterator
from typing import NamedTuple

from inorder.cli.stage_loader import StageJob
from inorder.core.windows.id_set import IdSet
from inorder.engines.attempt import escape_surrogates
from inorder.errors import OperatorError
from inorder.stage.contracts import Barrier, WorkItem
from inorder.stage.data_layout import FINGERPRINT_SUFFIX, DataLayout
from inorder.stage.files.hash_cache import HashCache
from inorder.stage.fingerprints import Fingerprint, combine_sha256, list_published
from inorder.stage.freshness import (
    INPUT_CHANGED,
    INPUT_UNREADABLE,
    OUTPUTS_EXIST,
    Freshness,
    check_planned,
    get_sha256,
)
from inorder.stage.inputs import list_files
from inorder.stage.options import StageOptions
from inorder.stage.plan_identity import find_resume_seq
from inorder.stage.stale_items import find_run_start, find_stale

PROCESS, SKIP, DEPENDS, REMOVE, FAIL = VERDICTS = "process", "skip", "depends", "remove", "fail"
_COMMITTED = "already committed by the interrupted run, which will be resumed"
_FORCED = "all items are processed again (--force)"
_NOT_RESUMED = "all items are processed again (resume=false)"
_NOT_PLANNED = "it is no longer in the plan"


class Forecast(NamedTuple):
    """What a run would do with one item."""

    item: WorkItem
    verdict: str
    reason: str
    fingerprint: Fingerprint | None = None
    """The fingerprint of its present outputs."""


WrittenFiles = dict[str, bool]
"""Files that stages would write, by absolute path, and whether each is new."""


class DryRun:
    """Evaluates the plan of a stage without running it, and adds what it would write to `written`."""

    def __init__(self, job: StageJob, options: StageOptions, written: WrittenFiles) -> None:
        self._options = options
        self._written = written
        self._data = os.path.abspath(options.data)
        self._plan = job.make_plan(self._data)
        resumed = find_resume_seq(self._plan, options)
        self._begin = resumed or 0
        self._layout = DataLayout(self._data, self._plan.stage_name)
        self._cache = HashCache(self._layout.cache) if os.path.exists(self._layout.cache) else None

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
        for item in find_stale(self._plan, self._layout, planned, start):
            for path in self._list_results(item):
                self._written.pop(f"{self._data}/{path}", None)
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
        found = self._check(item)
        verdict, reason = self._judge(item, found)
        if verdict != SKIP:
            verdict, reason = self._check_inputs(item, verdict, reason)
        if verdict in (PROCESS, DEPENDS):
            for path in self._list_results(item):
                place = f"{self._data}/{path}"
                self._written[place] = not os.path.exists(place)
        return Forecast(item, verdict, reason, found.fingerprint)

    def _check(self, item: WorkItem) -> Freshness:
        """Check an item against the present files."""
        fingerprinting = self._options.fingerprinting
        return check_planned(item, self._data, fingerprinting=fingerprinting, cache=self._cache)

    def _judge(self, item: WorkItem, found: Freshness) -> tuple[str, str]:
        """Whether the worker would be called."""
        if self._options.force or not self._options.resume:
            forced = _FORCED if self._options.force else _NOT_RESUMED
            return PROCESS, forced if found.is_satisfied else found.reason
        written = self._list_written_inputs(item)
        if not written:
            return SKIP if found.is_satisfied else PROCESS, found.reason
        if found.reason == OUTPUTS_EXIST:
            return SKIP, found.reason
        path = os.path.relpath(next(iter(written)), self._data)
        if found.is_satisfied and any(written.values()):
            return PROCESS, f"its input will change: {path}"
        if not found.is_satisfied and not found.reason.startswith((INPUT_CHANGED, INPUT_UNREADABLE)):
            return PROCESS, found.reason
        return DEPENDS, f"its input {path} is made again: process if that changes it, else skip"

    def _list_written_inputs(self, item: WorkItem) -> WrittenFiles:
        """The inputs that an earlier stage will write."""
        paths = list_files(item.inputs).values()
        return {path: self._written[path] for path in paths if path in self._written}

    def _check_inputs(self, item: WorkItem, verdict: str, reason: str) -> tuple[str, str]:
        """An item that is not up to date fails if one of its inputs is missing."""
        inputs = list_files(item.inputs).values()
        missing = next((path for path in inputs if path not in self._written and not os.path.exists(path)), None)
        return (verdict, reason) if missing is None else (FAIL, f"no such file or directory: {missing}")

    def _list_results(self, item: WorkItem) -> list[str]:
        """What the item has in DATA once it is processed."""
        found = list_published(self._data, item.outputs)
        return [path for path in found if self._options.fingerprinting or not path.endswith(FINGERPRINT_SUFFIX)]


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
