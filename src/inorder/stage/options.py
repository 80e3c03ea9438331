"""The options of a run of a stage: frozen, validated once, the same names as on the command line."""

from pathlib import Path
from typing import Any, Literal

import msgspec

from inorder.core.options import ON_BUDGET
from inorder.engines.base import WORKERS_MAX
from inorder.engines.error_table import Classify
from inorder.engines.ray.options import RayOptions
from inorder.errors import require
from inorder.runtime.limits import Budgets, Windows

ENGINES = ("local", "ray")
POLICIES = ("io", "cpu", "gpu")
SCHEDULES = ("fifo", "sjf")
FSYNCS = ("always", "batch", "interval", "off")
PROGRESSES = ("auto", "bar", "lines", "none")
_WHOLE = (
    ("workers", 1, WORKERS_MAX),
    ("retries", 0, 1000),
    ("error_budget", 0, 2**62),
    ("max_queue", 1, 2**20),
    ("buffered_bytes_max", 1, 2**62),
    ("memory_bytes_max", 1, 2**62),
    ("recycle_tasks", 1, 2**62),
    ("recycle_resident_bytes", 1, 2**62),
    ("infrastructure_budget", 0, 2**30),
)
_OPTIONAL = ("workers", "error_budget", "memory_bytes_max", "recycle_tasks", "recycle_resident_bytes")
_SECONDS = ("timeout_s", "retry_backoff_s", "cancel_grace_s", "diagnostics_interval_s", "stall_warning_s", "lease_s")
_SECONDS_MAX = 10**9
_BACKOFF_S_MAX = 86_400


class StageOptions(msgspec.Struct, frozen=True, kw_only=True):
    """How a stage is run. Results do not depend on any of these options, except for time limits.

    >>> options = StageOptions(data="out", policy="cpu", workers=4, timeout_s=60, retries=2)
    >>> options.timeout_s
    60

    Raises:
        OperatorError: A value is out of range. The message names the option.
    """

    data: str | Path = ".inorder"
    """The folder DATA, which receives outputs, manifests, journals and telemetry."""
    engine: Literal["local", "ray"] = "local"
    """Where workers run: on this machine or on a Ray cluster."""
    ray: RayOptions = RayOptions()
    """Which cluster, and how it is used."""
    policy: Literal["io", "cpu", "gpu"] = "io"
    """`io` and `gpu` run threads, `cpu` runs spawned processes. On a cluster every worker is a process."""
    workers: int | None = None
    """Number of workers. None: one per CPU for `cpu` and `gpu`, two per CPU for `io`; on a cluster as many as fit."""
    schedule: Literal["fifo", "sjf"] = "fifo"
    """Which item starts first: the next of the plan, or the one with the lowest `cost_hint`."""
    timeout_s: float = 0.0
    """An item that takes longer fails; 0: no limit."""
    retries: int = 0
    """Further attempts after a failure that may be transient."""
    retry_backoff_s: float = 0.1
    """Wait before the first retry; doubles with each further one, up to 30 s or this value, whichever is more."""
    classify: Classify | None = None
    """Maps an exception of the worker to `(category, retryable)`; None: the table of the runner decides. Called in the
    worker."""
    error_budget: int | None = None
    """Number of failures that is tolerated; 0: stop at the first; None: no limit."""
    on_budget: Literal["stop", "drain"] = "stop"
    """What happens to running items when the error budget is exceeded: `stop` gives them `cancel_grace_s`, `drain` lets
    them end. Their results are not committed in either case."""
    infrastructure_budget: int = 32
    """Lost workers that are tolerated until a window of items is committed; one more stops the run, which can be
    resumed. An item that kills its workers does not count: it fails."""
    max_queue: int = 1024
    """Items read from the plan ahead of the workers."""
    diagnostics_interval_s: float = 5.0
    """Interval between progress lines, and between snapshots in the telemetry."""
    stall_warning_s: float = 30.0
    """After this time without a commit, progress, telemetry and `inorder inspect` name the item that the run waits for;
    0: never."""
    fingerprinting: bool = True
    """Skip an item only if its outputs were made from the same inputs and configuration."""
    resume: bool = True
    """Resume an interrupted run, and skip items that are up to date."""
    force: bool = False
    """Process every item again."""
    fsync: Literal["always", "batch", "interval", "off"] = "batch"
    """When the journal waits for the disk."""
    buffered_bytes_max: int = 256 * 2**20
    """Upper bound on results that wait to be committed, staged outputs included, and on what running items are expected
    to return."""
    windows: Windows = Windows()
    """How far the run goes ahead of a slow item."""
    budgets: Budgets = Budgets()
    """When the run slows down or pauses."""
    memory_bytes_max: int | None = None
    """Address space of a worker process; None: no limit."""
    recycle_tasks: int | None = None
    """Replace a worker process after this many items: for libraries that leak; None: never."""
    recycle_resident_bytes: int | None = None
    """Replace a worker process between two items when its resident memory is above this; None: never. Linux only."""
    commit_thread: bool = True
    """Commit on a thread of its own, so that waiting for the disk delays no worker. False: on the thread that runs the
    stage, which also calls `after_item` and sinks then."""
    lease_s: float = 300.0
    """A worker process that gives no heartbeat for this long is replaced, and its item is run again. A process that was
    stopped gives none, nor does one whose item keeps the interpreter lock in a C library. Items with a time limit are
    left to it."""
    cancel_grace_s: float = 5.0
    """How long running items may continue after a cancel, or after the error budget is exceeded. Then processes are
    killed, and items that still run in threads are named in a warning."""
    adaptive: bool = False
    """Adapt the number of workers between 1 and `workers` to the measured throughput: more only while that makes it
    rise."""
    attempts_log: bool = False
    """Log the start and end of every attempt to `DATA/attempts`."""
    telemetry: bool = True
    """Write events and metrics."""
    telemetry_dir: str | Path | None = None
    """The folder that receives them; None: `DATA/telemetry`."""
    metrics_file: str | Path | None = None
    """A file that receives the metrics of all stages of DATA at the end of a run, in the text format of Prometheus."""
    progress: Literal["auto", "bar", "lines", "none"] = "auto"
    """`auto`: a bar on a terminal, lines elsewhere."""
    verbose: bool = False
    """Show the slowest items and the most frequent error categories."""
    i_know_what_im_doing: bool = False
    """Allow a stage made for `gpu` to run with `cpu`."""

    def __post_init__(self) -> None:
        for name, words in (
            ("engine", ENGINES),
            ("policy", POLICIES),
            ("schedule", SCHEDULES),
            ("fsync", FSYNCS),
            ("on_budget", ON_BUDGET),
            ("progress", PROGRESSES),
        ):
            value = getattr(self, name)
            require(value in words, f"{name} must be one of {', '.join(words)}, got {value!r}")
        for name, low, high in _WHOLE:
            value = getattr(self, name)
            if value is not None or name not in _OPTIONAL:
                require(type(value) is int, f"{name} must be an integer, got {value!r}")
                require(low <= value <= high, f"{name} must be between {low} and {high}, got {value}")
        for name in _SECONDS:
            value = getattr(self, name)
            require(type(value) in (int, float), f"{name} must be a number of seconds, got {value!r}")
            high = _BACKOFF_S_MAX if name == "retry_backoff_s" else _SECONDS_MAX
            require(0 <= value <= high, f"{name} must be between 0 and {high}, got {value}")
        for name in ("telemetry_dir", "metrics_file"):
            path: Any = getattr(self, name)
            require(
                path is None or (isinstance(path, str | Path) and str(path) != ""),
                f"{name} must be a path, got {path!r}",
            )
        require(self.metrics_file is None or self.telemetry, "metrics_file needs telemetry")
        require(self.classify is None or callable(self.classify), f"classify must be callable, got {self.classify!r}")
        for name, kind in (("ray", RayOptions), ("windows", Windows), ("budgets", Budgets)):
            found = type(getattr(self, name))
            require(found is kind, f"{name} must be a {kind.__name__}, got {found.__name__}")
        self.budgets.check(self.buffered_bytes_max)
        require(
            not (self.adaptive and self.engine == "ray" and self.workers is None),
            "adaptive needs workers=N on a cluster: without it, the number of workers follows the cluster",
        )
        require(self.diagnostics_interval_s > 0, "diagnostics_interval_s must be greater than 0")
        require(self.lease_s > 0, "lease_s must be greater than 0")
