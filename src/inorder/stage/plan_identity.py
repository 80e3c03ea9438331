"""What makes a run the continuation of one that was interrupted: the same plan, under the same configuration.

A plan that is there as a whole is known by one hash; one that is read as the run goes on is known, item by item, by the
digest that the journal carries. `interrupted_at` asks the journal without touching anything: it is what a run would do.
"""

import os

from inorder.host.filesystem import SystemFilesystem
from inorder.journal.replay import Replay
from inorder.runtime.identity import PlanDigest, digest_of
from inorder.runtime.recovery import read_journal

from .contracts import StageOptions, StagePlan, WorkItem
from .data_layout import DataLayout
from .manifest.rows import SCHEMA_VERSION


def identify_item(item: WorkItem) -> bytes:
    """What makes an item the same after a restart."""
    outputs = "\x00".join(f"{name}={os.fspath(path)}" for name, path in item.outputs.items())
    return f"{item.item_id}\x00{item.cfg_hash}\x00{outputs}".encode("utf-8", "surrogatepass")


def hash_plan(plan: StagePlan) -> str:
    """Of the whole plan, where it is there already; empty: it is read as the run goes on."""
    if not isinstance(plan.items, list | tuple):
        return ""
    return digest_of(*(f"{item.item_id}\x00{item.cfg_hash}" for item in plan.items if isinstance(item, WorkItem)))


def hash_config(stage: str, options: StageOptions) -> str:
    """Of what every item of a run depends on."""
    return digest_of(stage, str(SCHEMA_VERSION), str(options.fingerprinting))


def find_resume_seq(plan: StagePlan, options: StageOptions) -> int | None:
    """The seq at which a run of this plan would go on with one that was interrupted; None: it would begin anew. Raises
    IntegrityError for a journal that cannot be trusted."""
    layout = DataLayout(os.fspath(options.data), plan.stage_name)
    if options.force or not options.resume or not os.path.exists(layout.journal):
        return None
    _, state = read_journal(SystemFilesystem(), layout.journal)
    ours = (hash_plan(plan), hash_config(plan.stage_name, options))
    theirs = None if state.header is None else (state.header.plan_hash, state.header.config_hash)
    if state.is_end or ours != theirs or not _has_committed_prefix(plan, state):
        return None
    return state.newest.end


def _has_committed_prefix(plan: StagePlan, state: Replay) -> bool:
    """Whether the first items of the plan are those that the journal has committed."""
    found = PlanDigest(identify_item)
    items = (item for item in plan.items if isinstance(item, WorkItem))
    for _ in range(state.newest.end):
        item = next(items, None)
        if item is None:
            return False
        found.add(item)
    return state.newest.end == 0 or found.value() == state.newest.digest
