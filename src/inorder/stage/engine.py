"""Makes the engine of a stage, and the options of its kernel, from the options of the stage."""

from errno import EDQUOT, ENOSPC
from time import time

from inorder.core.events import Envelope, Event, Finished
from inorder.core.options import PLAN_AHEAD_PER_WORKER, KernelOptions, entries_for
from inorder.core.transitions import State
from inorder.engines.attempt import escape_surrogates
from inorder.engines.base import WORKERS_MAX, ResizableEngine, Task
from inorder.engines.factory import EngineSpec, create_resizable_engine
from inorder.engines.process.idle import IdleProcesses
from inorder.errors import Category, InfrastructureError, OperatorError, require
from inorder.runtime.limits import make_retry_options
from inorder.runtime.loop import Runtime, describe_survivors
from inorder.runtime.memory_probe import MemoryProbe, create_memory_probe
from inorder.stage.options import StageOptions

from .contracts import StagePlan
from .data_layout import DataLayout
from .worker import StageTask, StageWork

_DISK_FULL = (ENOSPC, EDQUOT)
GROUPED_ENTRIES = 16_384
"""Items per window of a stage with groups, and items read ahead: every worker has a whole group while others are
computed, and quick items do not wait for the windows of slow ones."""
_FEW_ITEMS = 256
"""The start of a process takes longer than so many small items."""
_SKIP = int(State.TERMINAL_SKIP)
_SKIP_BYTES = 1024
"""What an item that is skipped occupies in memory until it is committed, roughly."""


def require_gpu_policy(plan: StagePlan, options: StageOptions) -> None:
    """Require that a stage made for `gpu` is not run in processes, each of which would claim the device."""
    require(
        not (plan.policy == "gpu" and options.policy == "cpu" and options.engine == "local")
        or options.i_know_what_im_doing,
        f"stage {plan.stage_name} needs policy gpu: with policy cpu, every process would claim the device; "
        "use policy='gpu', or i_know_what_im_doing=True",
    )


def make_engine_spec(plan: StagePlan, options: StageOptions) -> EngineSpec:
    """Make the spec of the engine that a stage with these options needs. If it has few items, one worker begins."""
    has_few_items = plan.expected_items is not None and plan.expected_items <= _FEW_ITEMS
    return EngineSpec(
        engine=options.engine,
        policy=options.policy,
        workers=options.workers,
        timeout_s=options.timeout_s or None,
        lease_s=options.lease_s,
        memory_bytes_max=options.memory_bytes_max,
        recycle_tasks=options.recycle_tasks,
        recycle_resident_bytes=options.recycle_resident_bytes,
        ray=options.ray,
        classify=options.classify,
        start_count=1 if has_few_items else None,
    )


def create_stage_engine(
    spec: EngineSpec,
    options: StageOptions,
    work: StageWork,
    layout: DataLayout,
    idle: IdleProcesses | None = None,
) -> ResizableEngine:
    """Create the engine of a stage. On a cluster, it also transfers the files of items. On this machine, idle processes
    are used again."""
    if options.engine == "local":
        return create_resizable_engine(work, spec, idle=idle)
    from .file_transfer import RemoteWork, StageFileTransfer

    files = StageFileTransfer(
        layout.data, layout.staging, options.ray.send_bytes_max, fingerprinting=options.fingerprinting
    )
    files.prepare()
    return create_resizable_engine(RemoteWork(work), spec, files=files)


def answer_skipped(task: Task) -> Envelope | None:
    """Return the result of an item that is up to date or to be removed; None: a worker must run it."""
    item: StageTask = task.item
    if not item.skip:
        return None
    return Envelope(task.seq, task.attempt, _SKIP, item.make_skip(), _SKIP_BYTES, None, 0.0, time() * 1000)


def make_kernel_options(options: StageOptions, *, has_groups: bool = False) -> KernelOptions:
    """Make the options of the kernel. `has_groups`: workers process groups of items at once."""
    entries, ahead = 1024, options.max_queue
    if options.engine == "ray":
        workers = options.workers or WORKERS_MAX  # the number follows the size of the cluster
        entries, ahead = entries_for(workers), max(ahead, PLAN_AHEAD_PER_WORKER * workers)
    elif has_groups:
        entries, ahead = GROUPED_ENTRIES, max(ahead, GROUPED_ENTRIES)
    return KernelOptions(
        windows=options.windows.to_window_options(entries, ahead),
        pressure=options.budgets.to_pressure_options(options.buffered_bytes_max),
        retry=make_retry_options(options.retries, options.retry_backoff_s, options.windows.retries_max),
        schedule=options.schedule,
        aged_ms=options.windows.aged_ms,
        error_budget=options.error_budget,
        on_budget=options.on_budget,
        infrastructure_budget=options.infrastructure_budget,
        outage_ms_max=int(options.outage_s_max * 1000),
        cancel_grace_ms=int(options.cancel_grace_s * 1000),
    )


def create_stage_memory_probe(options: StageOptions, engine: ResizableEngine) -> MemoryProbe | None:
    """Create the probe that samples the resident memory of the run."""
    return create_memory_probe(engine, options.budgets, int(options.diagnostics_interval_s * 1000))


def require_disk_space(event: Event) -> None:
    """Stop at the first item that found the disk full, before it counts as failed: every item after it would fail in
    the same way, and none of them is at fault."""
    if type(event) is not Finished:
        return
    for envelope in event.envelopes:
        error = envelope.payload if envelope.failure is not None else None
        if isinstance(error, OSError) and error.errno in _DISK_FULL:
            raise InfrastructureError(
                f"a worker found the disk full ({error}); free some space and run the same command again: it resumes"
            )


def stop_at_refusal(event: Event) -> None:
    """Stop at the first item for which a server refused the key or the address, before it counts as failed: it refuses
    every item after it too."""
    if type(event) is not Finished:
        return
    for envelope in event.envelopes:
        failure = envelope.failure
        if failure is not None and failure.outage and failure.category is Category.CONFIG:
            raise OperatorError(failure.message)


def list_survivors(runtime: Runtime) -> list[str]:
    """Return a warning that names the items that threads still run, if there are any."""
    names = [escape_surrogates(task.item.item.item_id) for task in runtime.survivors]
    return [describe_survivors(names)] if names else []
