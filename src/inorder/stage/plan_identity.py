"""The identity of a plan: a run resumes an interrupted one if plan and configuration are the same.

A plan that is a list or tuple is identified by one hash. A plan that is read lazily is identified item by item, by the
digest that the journal has of the committed ones. `find_resume_seq` reads the journal and changes nothing: it says what
a run would do.
"""

import os
from collections.abc import Callable

from inorder.host.filesystem import SystemFilesystem
from inorder.journal.replay import Replay
from inorder.runtime.durable_run import DurableJob
from inorder.runtime.identity import PlanDigest, hash_strings
from inorder.runtime.recovery import OpenedJournal, read_final_marks, read_journal
from inorder.stage.options import StageOptions

from .contracts import PassPlan, StagePlan, WorkItem, get_identity
from .data_layout import DataLayout
from .manifest.rows import SCHEMA_VERSION


def identify_item(item: WorkItem) -> bytes:
    """Return what must stay equal for an item to count as the same after a restart."""
    outputs = "\x00".join([f"{name}={os.fspath(path)}" for name, path in item.outputs.items()])
    identity = get_identity(item)
    stated = f"\x00{identity}" if identity else ""
    return f"{item.item_id}\x00{item.cfg_hash}\x00{outputs}{stated}".encode("utf-8", "surrogatepass")


def hash_plan(plan: StagePlan) -> str:
    """Return the hash of a plan that is a list or tuple; empty: the plan is read lazily, or is a remainder, which is
    another plan in every run."""
    is_remainder = isinstance(plan, PassPlan) and plan.is_remainder
    if is_remainder or not isinstance(plan.items, list | tuple):
        return ""
    return hash_strings(*(f"{item.item_id}\x00{item.cfg_hash}" for item in plan.items if isinstance(item, WorkItem)))


def hash_config(plan: StagePlan, options: StageOptions) -> str:
    """Return the hash of the options that every item of a run depends on."""
    return hash_strings(plan.stage_name, str(SCHEMA_VERSION), str(options.fingerprinting))


def open_journal(job: DurableJob, plan: PassPlan, options: StageOptions, warn: Callable[[str], None]) -> OpenedJournal:
    """Open the journal: resume an interrupted run of the same plan, otherwise start over. Before a journal of another
    plan is replaced, it is recovered, which removes the files that it was about to publish. Of a plan that is a
    remainder, the sinks of an interrupted run are brought to one position, and a new run starts."""
    filesystem = job.filesystem
    if filesystem.stat(job.path) is None:
        return job.open()
    if read_final_marks(filesystem, job.path) is not None:
        return job.open(start_over=True)
    state = read_journal(filesystem, job.path)[1]
    has_other_sinks = state.header is not None and state.header.sinks != job.header.sinks
    if has_other_sinks and not plan.is_remainder:
        return job.open(start_over=True)
    if plan.is_remainder:
        opened = job.open_remainder()
        if opened.warning:
            warn(opened.warning)
        return opened
    opened = job.open(accept_any_header=True)
    theirs = opened.writer.state.header
    is_same = theirs is not None and (theirs.plan_hash, theirs.config_hash) == (
        job.header.plan_hash,
        job.header.config_hash,
    )
    if opened.warning:
        warn(opened.warning)
    if is_same and options.resume and not options.force and not opened.is_finished:
        return opened
    opened.writer.close()
    return job.open(start_over=True)


def find_resume_seq(plan: StagePlan, options: StageOptions) -> int | None:
    """Return the seq at which a run of the plan of a stage would resume an interrupted one; None: it would start over.
    Raises IntegrityError for a journal that cannot be trusted."""
    layout = DataLayout(os.fspath(options.data), plan.stage_name)
    if options.force or not options.resume or not os.path.exists(layout.journal):
        return None
    _, state = read_journal(SystemFilesystem(), layout.journal)
    wanted = (hash_plan(plan), hash_config(plan, options))
    found = None if state.header is None else (state.header.plan_hash, state.header.config_hash)
    if state.is_end or found != wanted or not _has_committed_prefix(plan, state):
        return None
    return state.newest_candidate.end


def _has_committed_prefix(plan: StagePlan, state: Replay) -> bool:
    """Whether the first items of the plan are those that the journal has as committed."""
    digest = PlanDigest(identify_item)
    items = (item for item in plan.items if isinstance(item, WorkItem))
    for _ in range(state.newest_candidate.end):
        item = next(items, None)
        if item is None:
            return False
        digest.add(item)
    return state.newest_candidate.end == 0 or digest.value() == state.newest_candidate.digest
