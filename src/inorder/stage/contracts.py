"""The words that a stage and its runner share. Data only: importing this imports nothing heavy.

A stage brings a plan (which items there are), a worker (how one is done) and perhaps hooks. Order, processes, time
limits, retries, resume, budgets, manifests, progress and telemetry are the runner's.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from numbers import Real
from pathlib import Path
from typing import Any, Literal

import msgspec

from inorder.engines.attempt import Skip
from inorder.engines.base import WORKERS_MAX
from inorder.engines.ray.options import RayOptions
from inorder.errors import Category, OperatorError, require

__all__ = [
    "Barrier",
    "Configurable",
    "Skip",
    "Stage",
    "StageError",
    "StageErrorSummary",
    "StageHooks",
    "StageOptions",
    "StageOutcome",
    "StagePlan",
    "WorkItem",
]

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
)
_OPTIONAL = ("workers", "error_budget", "memory_bytes_max")
_SECONDS = ("per_item_timeout_s", "retry_backoff_s", "cancel_grace_s", "diagnostics_interval_s")
_SECONDS_MAX = 10**9


class WorkItem(msgspec.Struct, frozen=True, kw_only=True):
    """One thing to do. It travels to a worker: keep it small, paths and numbers."""

    item_id: str
    """Stable and unique in the plan, the same on every run; usually the path of the input relative to its root."""
    inputs: Mapping[str, str | Path] = {}
    """Files that the result depends on. Their content is part of the fingerprint."""
    outputs: Mapping[str, str | Path] = {}
    """Files that the worker makes, by name; relative to DATA. `ctx.output(name)` says where to write each."""
    cfg_hash: str = ""
    """Of the options that the result depends on."""
    cost_hint: float = 1.0
    """Pages, bytes, chunks: for the schedule `sjf`."""
    meta: Mapping[str, Any] = {}
    """Small hints for the worker; not part of any fingerprint."""
    batch_key: str = ""
    """Items that share it go to a worker together."""
    reads: Sequence[str] = ()
    """What the worker reads in DATA besides the inputs, relative to it: files, which travel along where a worker does
    not see DATA, or folders, which keep the item at home there. Not part of any fingerprint."""

    def __post_init__(self) -> None:
        if type(self.item_id) is not str or not self.item_id:
            raise OperatorError(f"an item is known by its item_id, a text, got {self.item_id!r}")
        tables: tuple[Any, ...] = (self.inputs, self.outputs, self.meta)
        for value in tables:
            if type(value) is not dict and not isinstance(value, Mapping):
                said = f"inputs, outputs and meta are dicts, got a {type(value).__name__}"
                raise OperatorError(f"item {self.item_id!r}: {said}")
        hint: Any = self.cost_hint
        if type(hint) not in (int, float) and not isinstance(hint, Real):
            raise OperatorError(f"item {self.item_id!r}: cost_hint is a number, got {hint!r}")

    def satisfies(self, data: str | Path = ".", *, fingerprinting: bool = True) -> bool:
        """Whether every output is there, not empty, and made of these inputs with this configuration."""
        from .freshness import check

        return check(self, str(data), fingerprinting=fingerprinting).is_satisfied


class Barrier(msgspec.Struct, frozen=True):
    """Stands in a plan between items: what comes after it is not asked for before everything before it is committed.
    So a plan can go by what its own stage has just made."""


class StagePlan(msgspec.Struct, frozen=True):
    """What a stage has to do. The order of the items is the order of everything that comes of them."""

    stage_name: str
    """Letters, digits, `.`, `_` and `-`: manifest and journal are named after it."""
    items: Iterable[WorkItem | Barrier]
    total_items: int | None = None
    """None: not known beforehand."""
    retires: Callable[[str, str], bool] | None = None
    """Asked about items of earlier runs that are not in this plan, by item_id and first input: whether the outputs of
    such an item are to be removed. Also, the outputs of an item that fails now are removed. None: nothing ever is."""
    judge: Callable[[WorkItem, Callable[[str], str]], str] | None = None
    """Whether an item without outputs is done already: the reason to skip it, or empty. Is handed the item, and what
    gives the SHA-256 of a file."""
    expected_items: int | None = None
    """About how many items there are, for the bar, where that is not known exactly."""

    def __post_init__(self) -> None:
        require(
            re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,99}", self.stage_name) is not None,
            f"a stage is named with letters, digits, '.', '_' and '-', at most 100 of them, got {self.stage_name!r}",
        )


class StageOptions(msgspec.Struct, frozen=True, kw_only=True):
    """How a stage is run. What is made does not depend on any of it, but for time limits."""

    data: str | Path = ".inorder"
    """The folder that everything goes to."""
    engine: Literal["local", "ray"] = "local"
    """Workers of this machine, or of a Ray cluster."""
    ray: RayOptions = RayOptions()
    """Which cluster, and how it is used."""
    policy: Literal["io", "cpu", "gpu"] = "io"
    """`io` and `gpu` run threads, `cpu` runs spawned processes. On a cluster every worker is a process."""
    workers: int | None = None
    """None: one a processor for `cpu` and `gpu`, two for `io`; on a cluster, as many as it has room for."""
    schedule: Literal["fifo", "sjf"] = "fifo"
    """Which item goes first of those in sight: the next of the plan, or the one with the least `cost_hint`."""
    per_item_timeout_s: float = 0.0
    """An item that takes longer fails; 0: none."""
    retries: int = 0
    """Further attempts after a failure that may pass."""
    retry_backoff_s: float = 0.1
    """Wait before the first of them; doubles with each."""
    error_budget: int | None = None
    """Failures that are tolerated; 0: stop at the first; None: any number."""
    max_queue: int = 1024
    """Items taken from the plan before a worker wants them."""
    diagnostics_interval_s: float = 5.0
    """Between two lines of progress, and between two snapshots in the telemetry."""
    fingerprinting: bool = True
    """Skip an item only if its inputs and configuration are those that its outputs were made of."""
    resume: bool = True
    """Go on with an interrupted run, and skip what is done."""
    force: bool = False
    """Do everything again."""
    fsync: Literal["always", "batch", "interval", "off"] = "batch"
    """When the journal waits for the disk."""
    buffered_bytes_max: int = 256 * 2**20
    """Results that wait to be committed, and what running items are expected to bring."""
    memory_bytes_max: int | None = None
    """Address space of a worker process."""
    cancel_grace_s: float = 5.0
    """What work in flight gets after a cancel."""
    adaptive: bool = False
    """Change the number of workers between 1 and `workers` with what the results say."""
    attempts_log: bool = False
    """Write a line at the beginning and the end of every attempt."""
    telemetry: bool = True
    """Write events and numbers to `DATA/telemetry`."""
    progress: Literal["auto", "bar", "lines", "none"] = "auto"
    """`auto`: a bar on a terminal, lines elsewhere."""
    verbose: bool = False
    """Show the slowest items and the most frequent categories of errors, too."""
    i_know_what_im_doing: bool = False
    """Let a stage that is made for `gpu` run with `cpu` all the same; the command line asks for it."""

    def __post_init__(self) -> None:
        for name, words in (
            ("engine", ENGINES),
            ("policy", POLICIES),
            ("schedule", SCHEDULES),
            ("fsync", FSYNCS),
            ("progress", PROGRESSES),
        ):
            value = getattr(self, name)
            require(value in words, f"{name} must be one of {', '.join(words)}, got {value!r}")
        for name, low, high in _WHOLE:
            value = getattr(self, name)
            if value is not None or name not in _OPTIONAL:
                require(type(value) is int, f"{name} must be a whole number, got {value!r}")
                require(low <= value <= high, f"{name} must be from {low} to {high}, got {value}")
        for name in _SECONDS:
            value = getattr(self, name)
            require(type(value) in (int, float), f"{name} must be a number of seconds, got {value!r}")
            require(0 <= value <= _SECONDS_MAX, f"{name} must be from 0 to {_SECONDS_MAX}, got {value}")
        require(isinstance(self.ray, RayOptions), f"ray must be RayOptions, got {type(self.ray).__name__}")
        require(
            not (self.adaptive and self.engine == "ray" and self.workers is None),
            "adaptive needs a number of workers on a cluster: without one, they follow the cluster",
        )
        require(self.diagnostics_interval_s > 0, "diagnostics_interval_s must be above 0")


class StageHooks(msgspec.Struct, frozen=True, kw_only=True):
    """What a stage wants to do around its items. An exception in a hook is a warning and nothing more.

    `before_stage` and `after_stage` run once, in the process that runs the stage; `before_item` right before an item,
    where the item runs; `after_item` when its outcome is final, in the order of the plan; `worker_setup` once in every
    worker process, before its first item.
    """

    before_stage: Callable[[Any], None] | None = None
    after_stage: Callable[["StageOutcome"], None] | None = None
    before_item: Callable[[WorkItem, Any], None] | None = None
    after_item: Callable[[WorkItem, Any, Any], None] | None = None
    worker_setup: Callable[[Any], None] | None = None


class StageErrorSummary(msgspec.Struct, frozen=True):
    """One kind of failure, and how often it came."""

    category: str
    message: str
    count: int
    item_id: str
    """The first item that had it, in the order of the plan."""


class StageOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """How a stage went."""

    stage: str
    """Its name."""
    run_id: str
    """Of this run; the files of its telemetry and attempts are named after it."""
    scheduled: int
    """Items of the plan, as far as it was read."""
    skipped: int
    """Items that had nothing to be done."""
    succeeded: int
    """Items whose outputs were made."""
    failed: int
    """Items that failed for good."""
    cancelled: int
    """Items that were not come to; 0 where the plan announced no number."""
    was_cancelled: bool
    """Whether it was stopped before its end, whatever by."""
    cancel_reason: str | None
    """Why, in words."""
    stop_kind: str | None
    """`cancelled`, `error budget` or `infrastructure`; None: it went to its end."""
    stop_signal: int | None = None
    """The number of the signal that stopped it."""
    resumed_at: int | None
    """The seq at which an interrupted run was taken up; None: this run began anew."""
    wall_ms: float
    """Of this run, from its lock to its summing up."""
    queue_p50_ms: float
    """From an item's being read from the plan to its first start, the median."""
    exec_p50_ms: float
    """In the worker, the median of what was not skipped."""
    exec_p95_ms: float
    """The same, of the slowest twentieth."""
    items_per_s: float
    """Items that this run has come to the end of, a second."""
    errors: list[StageErrorSummary] = []
    """The first kinds of failure and the most frequent, ten at most."""
    warnings: list[str] = []
    """What hooks raised, and what the journal had to say."""


class StageError(Exception):
    """What a worker raises to say whose fault it is, and whether trying again can help."""

    def __init__(
        self,
        message: str,
        *,
        category: str = "runtime",
        retryable: bool = False,
        detail: str = "",
        stage: str = "",
        item_id: str = "",
    ) -> None:
        super().__init__(message)
        self.message = message
        self.category = Category(category).value
        self.retryable = retryable
        self.detail = detail
        self.stage = stage
        self.item_id = item_id

    def __reduce__(self) -> tuple[Any, ...]:
        said = (self.message, self.category, self.retryable, self.detail, self.stage, self.item_id)
        return _stage_error, said


def _stage_error(message: str, category: str, retryable: bool, detail: str, stage: str, item_id: str) -> StageError:
    return StageError(message, category=category, retryable=retryable, detail=detail, stage=stage, item_id=item_id)


class Stage(msgspec.Struct, frozen=True, kw_only=True):
    """A stage that the command line can run: `inorder stage package.module:name SRC...`."""

    name: str
    plan: Callable[[list[Path], Path], StagePlan]
    """From the sources and DATA to the plan."""
    worker: Callable[..., Any]
    hooks: StageHooks = StageHooks()
    options: StageOptions = msgspec.field(default_factory=StageOptions)
    """The defaults of this stage."""
    sinks: Callable[[Path], Sequence[Any]] | None = None
    """From DATA to sinks of its own, besides its outputs and its manifest. Each is opened once a run and gets what
    workers hand to `ctx.deliver`, in order."""
    finish: Callable[[Path], None] | None = None
    """Called with DATA after a run that was not stopped, when its sinks are closed and its lock is still held."""


class Configurable(msgspec.Struct, frozen=True, kw_only=True):
    """A stage with settings of its own, which its plan and worker depend on. What they were is recorded in the
    manifest, so that the same plan can be made again."""

    settings: type[msgspec.Struct]
    """Every field has a default, and can be written as JSON."""
    make: Callable[[Any], Stage]
    """From settings to the stage."""
