"""Makes the engine of a stage, and the options of its kernel, from the options of the stage."""

import os
from collections.abc import Callable
from errno import EDQUOT, ENOSPC
from functools import partial
from time import perf_counter, time
from typing import Any

from inorder.core.events import Envelope, Event, Finished
from inorder.core.options import PLAN_AHEAD_PER_WORKER, KernelOptions, entries_for
from inorder.core.transitions import State
from inorder.engines.attempt import escape_surrogates, run_attempt
from inorder.engines.base import WORKERS_MAX, PackedTask, ResizableEngine, Task, count_callers
from inorder.engines.factory import EngineSpec, create_resizable_engine
from inorder.errors import InfrastructureError, require
from inorder.runtime.limits import make_retry_options
from inorder.runtime.loop import Runtime, describe_survivors
from inorder.runtime.memory_probe import MemoryProbe, create_memory_probe
from inorder.stage.options import StageOptions

from .contracts import StageHooks, StagePlan, WorkItem
from .data_layout import DataLayout
from .store.compression import CompressingWork
from .store.visits import StageGroup, VisitWork
from .worker import StageResult, StageTask, StageWork

_DISK_FULL = (ENOSPC, EDQUOT)
_SUCCESS = int(State.TERMINAL_SUCCESS)
GROUPED_ENTRIES = 16_384
"""Items per window of a stage with groups, and items read ahead: every worker has a whole group while others are
computed, and quick items do not wait for the windows of slow ones."""
_SKIP = int(State.TERMINAL_SKIP)
_SKIP_BYTES = 1024
"""What an item that is skipped occupies in memory until it is committed, roughly."""


def require_gpu_policy(plan: StagePlan, options: StageOptions) -> None:
    """Require that a stage made for `gpu` is not run in processes, each of which would claim the device."""
    require(
        not (plan.policy == "gpu" and options.policy == "cpu" and options.engine == "local" and plan.owns_device)
        or options.i_know_what_im_doing,
        f"stage {plan.stage_name} needs policy gpu: with policy cpu, every process would claim the device; "
        "use policy='gpu', or i_know_what_im_doing=True",
    )


def make_engine_spec(
    plan: StagePlan, options: StageOptions, group: StageGroup | None = None, *, has_few_items: bool = False
) -> EngineSpec:
    """Make the spec of the engine that a stage with these options needs. If it has few items, the workers begin that
    have a process already."""
    ready_count = 0 if group is None else group.count_ready(plan.stage_name)
    is_shared = options.policy == "gpu" and options.engine == "local" and not plan.owns_device
    return EngineSpec(
        engine=options.engine,
        policy="cpu" if is_shared else options.policy,
        workers=count_callers(options.workers) if is_shared else options.workers,
        timeout_s=options.timeout_s or None,
        lease_s=options.lease_s,
        memory_bytes_max=options.memory_bytes_max,
        recycle_tasks=options.recycle_tasks,
        recycle_resident_bytes=options.recycle_resident_bytes,
        ray=options.ray,
        classify=options.classify,
        start_count=max(1, ready_count) if has_few_items else None,
    )


def make_stage_work(
    plan: StagePlan,
    worker: Callable[..., Any],
    options: StageOptions,
    hooks: StageHooks,
    resources: dict[str, Any] | None,
    take_prepared: Callable[[str, WorkItem], tuple[StageResult, int] | None] | None,
) -> StageWork:
    """Make what calls the worker of a stage. `resources` are those of the driver, if workers are threads of it; None:
    they are processes, and each sets up its own."""
    return StageWork(
        worker,
        plan.stage_name,
        options,
        DataLayout(os.fspath(options.data), plan.stage_name).staging,
        before_item=hooks.before_item,
        worker_setup=hooks.worker_setup if resources is None else None,
        group_size=hooks.group_size,
        before_group=hooks.before_group,
        resources=resources,
        is_stored=plan.is_stored,
        take_prepared=take_prepared,
    )


def create_stage_engine(
    spec: EngineSpec,
    options: StageOptions,
    work: StageWork,
    layout: DataLayout,
    group: StageGroup | None = None,
) -> ResizableEngine:
    """Create the engine of a stage. On a cluster, it also transfers the files of items. In a group of stages,
    workers go on with the items of the next ones, and idle processes are used again."""
    if options.engine == "local":
        followers = [] if group is None else group.find_followers(work.stage)
        idle = None if group is None else group.idle
        function: Callable[[StageTask], Any] = VisitWork(work, followers) if followers else work
        if work.is_stored and spec.has_processes:
            function = CompressingWork(function, work)
        return create_resizable_engine(function, spec, pack=partial(_pack_tasks, work), idle=idle)
    from .file_transfer import RemoteWork, StageFileTransfer

    files = StageFileTransfer(
        layout.data,
        layout.staging,
        options.ray.send_bytes_max,
        fingerprinting=options.fingerprinting,
        is_stored=work.is_stored,
    )
    files.prepare()
    return create_resizable_engine(RemoteWork(work), spec, files=files)


def answer_skipped(task: Task) -> Envelope | None:
    """Return the result of an item that is up to date or to be removed; None: a worker must run it."""
    item: StageTask = task.item
    if not item.skip:
        return None
    return Envelope(task.seq, task.attempt, _SKIP, item.make_skip(), _SKIP_BYTES, None, 0.0, time() * 1000)


def _pack_tasks(work: StageWork, tasks: list[Task]) -> tuple[list[PackedTask], list[Envelope]]:
    """Pack tasks for worker processes. Items whose results are known are answered here: an unchanged run starts no
    process."""
    from inorder.engines.process.worker_process import pack_tasks

    packed, refused = pack_tasks([task for task in tasks if not task.item.is_answered])
    return packed, refused + [_answer(work, task) for task in tasks if task.item.is_answered]


def _answer(work: StageWork, task: Task) -> Envelope:
    """Return the result of an item that is known. The size of a prepared result follows from that of its encoding,
    which is faster than an estimate; a result that was lost is made here."""
    began_ms, began_s = time() * 1000, perf_counter()
    found = None if task.item.skip else work.take_prepared(task.item.item)
    if found is None:
        return run_attempt(work, task)
    result, size = found
    return Envelope(task.seq, task.attempt, _SUCCESS, result, size, None, (perf_counter() - began_s) * 1000, began_ms)


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
        error_budget=options.error_budget,
        on_budget=options.on_budget,
        infrastructure_budget=options.infrastructure_budget,
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


def list_survivors(runtime: Runtime) -> list[str]:
    """Return a warning that names the items that threads still run, if there are any."""
    names = [escape_surrogates(task.item.item.item_id) for task in runtime.survivors]
    return [describe_survivors(names)] if names else []
