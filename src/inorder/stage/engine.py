"""Makes the engine of a stage, and the options of its kernel, from the options of the stage."""

from functools import partial

from inorder.core.events import Envelope
from inorder.core.options import (
    PLAN_AHEAD_PER_WORKER,
    KernelOptions,
    PressureOptions,
    RetryOptions,
    WindowOptions,
    entries_for,
)
from inorder.engines.attempt import run_attempt
from inorder.engines.base import WORKERS_MAX, PackedTask, ResizableEngine, Task
from inorder.engines.factory import EngineSpec, create_resizable_engine
from inorder.stage.options import StageOptions

from .data_layout import DataLayout
from .worker import StageWork

_BACKOFF_MS_MAX = RetryOptions().backoff_ms_max


def make_engine_spec(options: StageOptions) -> EngineSpec:
    """Make the spec of the engine that a stage with these options needs."""
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
    )


def create_stage_engine(options: StageOptions, work: StageWork, layout: DataLayout) -> ResizableEngine:
    """Create the engine of a stage. On a cluster, it also transfers the files of items."""
    spec = make_engine_spec(options)
    if options.engine == "local":
        return create_resizable_engine(work, spec, pack=partial(_pack_tasks, work))
    from .file_transfer import RemoteWork, StageFileTransfer

    files = StageFileTransfer(
        layout.data, layout.staging, options.ray.send_bytes_max, fingerprinting=options.fingerprinting
    )
    files.prepare()
    return create_resizable_engine(RemoteWork(work), spec, files=files)


def _pack_tasks(work: StageWork, tasks: list[Task]) -> tuple[list[PackedTask], list[Envelope]]:
    """Pack tasks for worker processes. Items to skip are answered here: an unchanged run starts no process."""
    from inorder.engines.process.worker_process import pack_tasks

    packed, refused = pack_tasks([task for task in tasks if not task.item.skip])
    return packed, refused + [run_attempt(work, task) for task in tasks if task.item.skip]


def make_kernel_options(options: StageOptions) -> KernelOptions:
    """Make the options of the kernel."""
    hard = options.buffered_bytes_max
    backoff_ms = int(options.retry_backoff_s * 1000)
    retry = RetryOptions(
        retries_max=options.retries, backoff_ms=backoff_ms, backoff_ms_max=max(_BACKOFF_MS_MAX, backoff_ms)
    )
    soft = max(1, hard * 3 // 4)
    entries, ahead = 1024, options.max_queue
    if options.engine == "ray":
        workers = options.workers or WORKERS_MAX  # the number follows the size of the cluster
        entries, ahead = entries_for(workers), max(ahead, PLAN_AHEAD_PER_WORKER * workers)
    return KernelOptions(
        windows=WindowOptions(entries=entries, entries_max=max(8192, entries), plan_ahead=ahead),
        pressure=PressureOptions(
            buffered_bytes_soft=soft, buffered_bytes_hard=hard, window_bytes_soft=soft, window_bytes_hard=hard
        ),
        retry=retry,
        schedule=options.schedule,
        error_budget=options.error_budget,
        on_budget=options.on_budget,
        infrastructure_budget=options.infrastructure_budget,
        cancel_grace_ms=int(options.cancel_grace_s * 1000),
    )
