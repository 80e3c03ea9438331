"""What a stage is run with: from its options to an engine, and to the limits of the kernel."""

from typing import Any, Protocol

import msgspec

from inorder.core.options import (
    AHEAD_A_WORKER,
    KernelOptions,
    PressureOptions,
    RetryOptions,
    WindowOptions,
    entries_for,
)
from inorder.engines.base import WORKERS_MAX, Engine, processors

from .autoscale import Resizable
from .contracts import StageOptions
from .data_layout import Places
from .worker import StageWork


def workers_of(options: StageOptions) -> int:
    """How many workers there are, at most."""
    return options.workers or processors() * (2 if options.policy == "io" else 1)


class StageEngine(Engine, Resizable, Protocol):
    """What a stage runs on."""


def is_in_processes(options: StageOptions) -> bool:
    """Whether every worker has a process, and with it resources, of its own."""
    return options.policy == "cpu" or options.engine == "ray"


def engine_of(options: StageOptions, work: StageWork, places: Places) -> StageEngine:
    """Threads, processes or a cluster that do the work."""
    timeout_s = options.per_item_timeout_s or None
    if is_in_processes(options):
        from inorder.engines.process.engine import ProcessEngine, ProcessOptions

        limits = ProcessOptions(memory_bytes_max=options.memory_bytes_max)
        if options.engine == "ray":
            return _on_ray(options, work, places, limits)
        from .packing import packing_of

        return ProcessEngine(work, workers_of(options), timeout_s=timeout_s, options=limits, packing=packing_of(work))
    from inorder.engines.threads import ThreadEngine

    return ThreadEngine(work, workers_of(options), timeout_s=timeout_s)


def _on_ray(options: StageOptions, work: StageWork, places: Places, limits: Any) -> StageEngine:
    from inorder.engines.ray.engine import RayEngine

    from .file_transfer import Parcels, RemoteWork

    ray = options.ray
    if options.policy == "gpu" and ray.gpus == 0:
        ray = msgspec.structs.replace(ray, gpus=1.0)
    courier = Parcels(places.data, places.staging, ray.send_bytes_max, fingerprinting=options.fingerprinting)
    courier.prepare()
    return RayEngine(
        RemoteWork(work),
        options.workers,
        timeout_s=options.per_item_timeout_s or None,
        options=ray,
        limits=limits,
        courier=courier,
    )


def kernel_options(options: StageOptions) -> KernelOptions:
    """The limits of the kernel."""
    hard = options.buffered_bytes_max
    soft = max(1, hard * 3 // 4)
    entries, ahead = 1024, options.max_queue
    if options.engine == "ray":
        workers = options.workers or WORKERS_MAX  # they may follow the cluster so far
        entries, ahead = entries_for(workers), max(ahead, AHEAD_A_WORKER * workers)
    return KernelOptions(
        windows=WindowOptions(entries=entries, entries_max=max(8192, entries), plan_ahead=ahead),
        pressure=PressureOptions(
            buffered_bytes_soft=soft, buffered_bytes_hard=hard, window_bytes_soft=soft, window_bytes_hard=hard
        ),
        retry=RetryOptions(retries_max=options.retries, backoff_ms=min(30_000, int(options.retry_backoff_s * 1000))),
        schedule=options.schedule,
        error_budget=options.error_budget,
        cancel_grace_ms=int(options.cancel_grace_s * 1000),
    )
