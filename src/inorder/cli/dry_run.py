"""What a run would do with each item, found out the way the run itself does, and changing nothing."""

import os
from collections.abc import Iterator
from typing import NamedTuple

from inorder.cli.stage_loader import Job
from inorder.errors import OperatorError
from inorder.stage.contracts import Barrier, StageOptions, WorkItem
from inorder.stage.data_layout import DataLayout
from inorder.stage.fingerprints import Fingerprint, combine_sha256, hash_file
from inorder.stage.freshness import check_planned
from inorder.stage.hash_cache import HashCache
from inorder.stage.plan_identity import find_resume_seq

PROCESS, SKIP, MISSING = "process", "skip", "missing"
_PASSED_BY = "the run that was interrupted has come past it, and will be gone on with"
_FORCED = "everything is to be done again"


class Forecast(NamedTuple):
    """What would become of one item."""

    item: WorkItem
    verdict: str
    reason: str
    fingerprint: Fingerprint | None = None
    """Of its outputs as they are."""


class Foresight:
    """A run that is not run."""

    def __init__(self, job: Job, options: StageOptions) -> None:
        self._options = options
        self._data = os.path.abspath(options.data)
        self._plan = job.plan(self._data)
        self._begin = find_resume_seq(self._plan, options) or 0
        path = DataLayout(self._data, self._plan.stage_name).cache
        self._cache = HashCache(path) if os.path.exists(path) else None

    def items(self) -> Iterator[tuple[int, WorkItem]]:
        """The plan, numbered."""
        items = (item for item in self._plan.items if not isinstance(item, Barrier))
        for seq, item in enumerate(items):
            if not isinstance(item, WorkItem):
                raise OperatorError(f"item {seq} of the plan is a {type(item).__name__}, not a WorkItem")
            yield seq, item

    def of(self, seq: int, item: WorkItem) -> Forecast:
        """What would become of this item."""
        if seq < self._begin:
            return Forecast(item, SKIP, _PASSED_BY)
        fingerprinting = self._options.fingerprinting
        found = check_planned(item, self._plan, self._data, fingerprinting=fingerprinting, cache=self._cache)
        if found.is_satisfied and self._options.resume and not self._options.force:
            return Forecast(item, SKIP, found.reason, found.fingerprint)
        missing = next((path for path in item.inputs.values() if not os.path.exists(path)), None)
        if missing is not None:
            return Forecast(item, MISSING, f"its input {missing} is not there", found.fingerprint)
        return Forecast(item, PROCESS, _FORCED if found.is_satisfied else found.reason, found.fingerprint)

    def close(self) -> None:
        """Let the cache go."""
        if self._cache is not None:
            self._cache.close()


def differences(found: Forecast) -> dict[str, tuple[str, str]]:
    """Which parts of the fingerprint are other ones now: what was, and what is."""
    if found.fingerprint is None:
        return {}
    was = {"cfg_hash": found.fingerprint.cfg_hash, "input_sha256": found.fingerprint.input_sha256}
    try:
        hashes = {name: hash_file(os.fspath(path)) for name, path in found.item.inputs.items()}
        digest = combine_sha256(hashes)
    except OSError:
        digest = "(cannot be read)"
    now = {"cfg_hash": found.item.cfg_hash, "input_sha256": digest}
    return {part: (was[part], now[part]) for part in was if was[part] != now[part]}
