"""What a stage is run with: from its options to an engine, and to the limits of the kernel."""

from collections.abc import Callable
from typing import Any

from inorder.core.options import KernelOptions, PressureOptions, RetryOptions, WindowOptions
from inorder.engines.base import processors
from inorder.engines.pooled import PooledEngine

from .contracts import StageOptions


def workers_of(options: StageOptions) -> int:
    """How many workers there are, at most."""
    return options.workers or processors() * (2 if options.policy == "io" else 1)


def engine_of(options: StageOptions, work: Callable[[Any], Any]) -> PooledEngine:
    """Threads or processes that do the work."""
    timeout_s = options.per_item_timeout_s or None
    if options.policy == "cpu":
        from inorder.engines.processes import ProcessEngine, ProcessOptions

        limits = ProcessOptions(memory_bytes_max=options.memory_bytes_max)
        return ProcessEngine(work, workers_of(options), timeout_s=timeout_s, options=limits)
    from inorder.engines.threads import ThreadEngine

    return ThreadEngine(work, workers_of(options), timeout_s=timeout_s)


def kernel_options(options: StageOptions) -> KernelOptions:
    """The limits of the kernel."""
    hard = options.buffered_bytes_max
    soft = max(1, hard * 3 // 4)
    return KernelOptions(
        windows=WindowOptions(plan_ahead=options.max_queue),
        pressure=PressureOptions(
            buffered_bytes_soft=soft, buffered_bytes_hard=hard, window_bytes_soft=soft, window_bytes_hard=hard
        ),
        retry=RetryOptions(retries_max=options.retries, backoff_ms=min(30_000, int(options.retry_backoff_s * 1000))),
        schedule=options.schedule,
        error_budget=options.error_budget,
        cancel_grace_ms=int(options.cancel_grace_s * 1000),
    )
