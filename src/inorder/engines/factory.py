"""Builds the engine for a run from one description of it, for `imap` and for stages.

Importing this module is cheap: lanes, multiprocessing and Ray are imported when an engine that needs them is built.
"""

import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from inorder.errors import require
from inorder.host.system import require_posix

from .attempt import ClassifiedFunction
from .base import LEASE_S, Engine, ResizableEngine, count_cpus
from .error_table import Classify
from .ray.options import RayOptions

if TYPE_CHECKING:
    from .process.idle import IdleProcesses
    from .ray.packing import FileTransfer


class EngineSpec(msgspec.Struct, frozen=True, kw_only=True):
    """Which engine a run needs, and the limits of its workers."""

    engine: Literal["local", "ray"] = "local"
    """Workers on this machine, or on a Ray cluster, where every worker is a process."""
    policy: Literal["io", "cpu", "gpu", "inline"] = "io"
    """On this machine, `io` and `gpu` run threads, `cpu` processes, `inline` the calling thread."""
    workers: int | None = None
    """None: one per CPU, or two per CPU for `io`; on a cluster, as many as fit."""
    timeout_s: float | None = None
    """Time limit of one item."""
    memory_bytes_max: int | None = None
    """Address space of a worker process."""
    lease_s: float = LEASE_S
    """How long a busy worker process may give no heartbeat before it is replaced."""
    recycle_tasks: int | None = None
    """Items after which a worker process is replaced."""
    recycle_resident_bytes: int | None = None
    """Resident memory above which a worker process is replaced."""
    ray: RayOptions = RayOptions()
    """The cluster, and the resources of one worker there."""
    classify: Classify | None = None
    """The user's mapping of exceptions, above the table."""
    start_count: int | None = None
    """How many worker processes begin. The others follow after a second of work, because there may be little, and the
    start of a process takes longer than many items. None: all begin."""

    @property
    def has_processes(self) -> bool:
        """Whether every worker is a process of its own."""
        return self.policy == "cpu" or self.engine == "ray"

    @property
    def worker_count(self) -> int:
        """The number of workers on this machine."""
        return self.workers or count_cpus() * (2 if self.policy == "io" else 1)

    def check(self) -> None:
        """Raise `OperatorError` if a value is out of range, or if no engine has this combination."""
        require(self.timeout_s is None or self.timeout_s > 0, f"timeout_s must be greater than 0, got {self.timeout_s}")
        require(self.lease_s > 0, f"lease_s must be greater than 0, got {self.lease_s}")
        require(self.classify is None or callable(self.classify), "classify must be a function of one exception")
        for name in ("memory_bytes_max", "recycle_tasks", "recycle_resident_bytes"):
            is_given = getattr(self, name) is not None
            require(self.has_processes or not is_given, f"{name} needs worker processes")


def is_coroutine_function(function: Callable[..., Any]) -> bool:
    """Whether calling it makes a coroutine, which only an event loop can run."""
    call: Any = getattr(type(function), "__call__" if not isinstance(function, type) else "", None)
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(call)


def create_engine(function: Callable[[Any], Any], spec: EngineSpec) -> Engine:
    """Build the engine that applies `function` to items."""
    if spec.policy == "inline":
        from .inline import InlineEngine

        return InlineEngine(_attach_mapping(function, spec))
    return create_resizable_engine(function, spec)


def create_resizable_engine(
    function: Callable[[Any], Any],
    spec: EngineSpec,
    *,
    files: "FileTransfer | None" = None,
    idle: "IdleProcesses | None" = None,
) -> ResizableEngine:
    """Build an engine of threads, processes or Ray actors.

    `files` moves the files of items to a cluster and back; `idle` has processes of this machine that are used again.
    """
    function = _attach_mapping(function, spec)
    if not spec.has_processes:
        from .threads import ThreadEngine

        return ThreadEngine(function, spec.worker_count, timeout_s=spec.timeout_s)
    require_posix("worker processes")
    from .process.engine import ProcessEngine
    from .process.worker_process import ProcessOptions

    limits = ProcessOptions(
        memory_bytes_max=spec.memory_bytes_max,
        recycle_tasks=spec.recycle_tasks,
        recycle_resident_bytes=spec.recycle_resident_bytes,
    )
    if spec.engine == "local":
        from inorder.host.memory import require_resident_memory

        if spec.recycle_resident_bytes is not None:
            require_resident_memory("recycle_resident_bytes")

        return ProcessEngine(
            function,
            spec.worker_count,
            timeout_s=spec.timeout_s,
            options=limits,
            lease_s=spec.lease_s,
            idle=idle,
            start_count=spec.start_count,
        )
    from .ray.engine import RayEngine

    ray = spec.ray
    if spec.policy == "gpu" and ray.gpus == 0:
        ray = msgspec.structs.replace(ray, gpus=1.0)
    return RayEngine(
        function,
        spec.workers,
        timeout_s=spec.timeout_s,
        options=ray,
        limits=limits,
        files=files,
        lease_s=spec.lease_s,
    )


def _attach_mapping(function: Callable[[Any], Any], spec: EngineSpec) -> Callable[[Any], Any]:
    return function if spec.classify is None else ClassifiedFunction(function, spec.classify)
