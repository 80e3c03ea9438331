"""What a run would do with each item. It is determined as the run itself does it, and changes nothing."""

import os
from collections.abc import Iterator
from typing import NamedTuple

from inorder.cli.stage_loader import StageJob
from inorder.errors import OperatorError
from inorder.stage.contracts import Barrier, WorkItem
from inorder.stage.data_layout import DataLayout
from inorder.stage.fingerprints import Fingerprint, combine_sha256, hash_file
from inorder.stage.freshness import check_planned
from inorder.stage.hash_cache import HashCache
from inorder.stage.options import StageOptions
from inorder.stage.plan_identity import find_resume_seq

PROCESS, SKIP, MISSING = "process", "skip", "missing"
_COMMITTED = "already committed by the interrupted run, which will be resumed"
_FORCED = "all items are processed again (--force)"


class Forecast(NamedTuple):
    """What a run would do with one item."""

    item: WorkItem
    verdict: str
    reason: str
    fingerprint: Fingerprint | None = None
    """The fingerprint of its present outputs."""


class DryRun:
    """Evaluates the plan of a stage without running it. Without the cache of file hashes, every file is read."""

    def __init__(self, job: StageJob, options: StageOptions, *, uses_cache: bool = True) -> None:
        self._options = options
        self._data = os.path.abspath(options.data)
        self._plan = job.make_plan(self._data)
        self._begin = find_resume_seq(self._plan, options) or 0
        path = DataLayout(self._data, self._plan.stage_name).cache
        self._cache = HashCache(path) if uses_cache and os.path.exists(path) else None

    def items(self) -> Iterator[tuple[int, WorkItem]]:
        """The items of the plan, with their numbers."""
        items = (item for item in self._plan.items if not isinstance(item, Barrier))
        for seq, item in enumerate(items):
            if not isinstance(item, WorkItem):
                raise OperatorError(f"item {seq} of the plan must be a WorkItem, got a {type(item).__name__}")
            yield seq, item

    def predict(self, seq: int, item: WorkItem) -> Forecast:
        """What a run would do with this item."""
        if seq < self._begin:
            return Forecast(item, SKIP, _COMMITTED)
        fingerprinting = self._options.fingerprinting
        found = check_planned(item, self._plan, self._data, fingerprinting=fingerprinting, cache=self._cache)
        if found.is_satisfied and self._options.resume and not self._options.force:
            return Forecast(item, SKIP, found.reason, found.fingerprint)
        missing = next((path for path in item.inputs.values() if not os.path.exists(path)), None)
        if missing is not None:
            return Forecast(item, MISSING, f"no such file or directory: {missing}", found.fingerprint)
        return Forecast(item, PROCESS, _FORCED if found.is_satisfied else found.reason, found.fingerprint)

    def close(self) -> None:
        """Close the cache of file hashes."""
        if self._cache is not None:
            self._cache.close()


def compare_fingerprint(found: Forecast) -> dict[str, tuple[str, str]]:
    """The parts of the fingerprint that have changed: old value and new value, by part."""
    if found.fingerprint is None:
        return {}
    old = {"cfg_hash": found.fingerprint.cfg_hash, "input_sha256": found.fingerprint.input_sha256}
    try:
        hashes = {name: hash_file(os.fspath(path)) for name, path in found.item.inputs.items()}
        digest = combine_sha256(hashes)
    except OSError:
        digest = "(cannot be read)"
    new = {"cfg_hash": found.item.cfg_hash, "input_sha256": digest}
    return {part: (old[part], new[part]) for part in old if old[part] != new[part]}
