"""The contracts between a stage and its runner. Data only: importing this module is cheap.

A stage supplies a plan (the items), a worker (how one item is processed) and optionally hooks. Ordering, processes,
time limits, retries, resume, budgets, manifests, progress and telemetry belong to the runner.

The public contracts are those in `__all__`. Passes of `inorder run` and exports say more: `PassItem`, `PassPlan` and
`PassHooks` extend them. The runner works with these; a stage of a user has their defaults.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from numbers import Real
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from inorder.engines.attempt import Skip
from inorder.errors import Failure, OperatorError, StageError, require

from .inputs import Input
from .options import POLICIES, StageOptions

if TYPE_CHECKING:
    from inorder.sinks.base import Sink

    from .context import StageContext

__all__ = [
    "Barrier",
    "Skip",
    "Stage",
    "StageError",
    "StageErrorSummary",
    "StageHooks",
    "StageOutcome",
    "StagePlan",
    "WorkItem",
]


_POLICIES = ", ".join(POLICIES)


def _require_callable(what: str, name: str, value: Any) -> None:
    require(value is None or callable(value), f"{name} of {what} must be callable, got {type(value).__name__}")


class WorkItem(msgspec.Struct, frozen=True, kw_only=True):
    """One unit of work. It is sent to a worker, so keep it small: paths and numbers.

    >>> item = WorkItem(item_id="a.txt", inputs={"text": "texts/a.txt"}, outputs={"upper": "upper/a.txt"})
    >>> item.outputs["upper"]
    'upper/a.txt'

    Raises:
        OperatorError: `item_id` is not a non-empty string, or a field has the wrong type.
    """

    item_id: str
    """Unique in the plan and the same on every run; usually the path of the input relative to its root."""
    inputs: Mapping[str, Input] = {}
    """Files that the result depends on. Their content is part of the fingerprint."""
    outputs: Mapping[str, str | Path] = {}
    """Files that the worker writes, by name, relative to DATA. `ctx.output(name)` gives the path to write to."""
    cfg_hash: str = ""
    """Hash of the options that the result depends on."""
    cost_hint: float = 1.0
    """Expected cost, for the schedule `sjf` and for `windows.cost_max`, in a unit of the stage: pages, chunks."""
    size_hint: int = 0
    """Expected size of the result in bytes: reserved in the byte budgets while the item runs, and counted in
    `windows.bytes_max`. 0: the largest recent result is reserved, and the size of the inputs is counted."""
    meta: Mapping[str, Any] = {}
    """Small hints for the worker; not part of any fingerprint."""
    batch_key: str = ""
    """Items with the same key are dispatched together."""
    reads: Sequence[str] = ()
    """Paths in DATA that the worker reads besides the inputs. On a node that does not see DATA, files are sent along;
    an item that reads a folder runs on the driver's machine. Not part of any fingerprint."""

    def __post_init__(self) -> None:
        if type(self.item_id) is not str or not self.item_id:
            raise OperatorError(f"item_id must be a non-empty string, got {self.item_id!r}")
        tables: tuple[Any, ...] = (self.inputs, self.outputs, self.meta)
        for value in tables:
            if type(value) is not dict and not isinstance(value, Mapping):
                found = type(value).__name__
                raise OperatorError(f"item {self.item_id!r}: inputs, outputs and meta must be mappings, got {found}")
        hint: Any = self.cost_hint
        if type(hint) not in (int, float) and not isinstance(hint, Real):
            raise OperatorError(f"item {self.item_id!r}: cost_hint must be a number, got {hint!r}")
        if type(self.size_hint) is not int or self.size_hint < 0:
            raise OperatorError(f"item {self.item_id!r}: size_hint must be a number of bytes, got {self.size_hint!r}")

    def satisfies(self, data: str | Path = ".", *, fingerprinting: bool = True) -> bool:
        """Whether every output exists, is not empty, and was made from these inputs with this configuration.

        A subclass may override it, also without parameters: what it returns then decides whether the item is skipped.
        An item for which it raises is processed."""
        from .freshness import check

        return check(self, str(data), fingerprinting=fingerprinting).is_satisfied


class Barrier(msgspec.Struct, frozen=True):
    """Separates items in a plan: items after it are not requested before all items before it are committed.

    A plan can then depend on what its own stage has just written.

    >>> plan = StagePlan("merge", [WorkItem(item_id="part-1"), Barrier(), WorkItem(item_id="whole")])
    """


class StagePlan(msgspec.Struct, frozen=True):
    """The items of a stage. Their order is the order of commits, manifest rows and sinks.

    >>> plan = StagePlan("upper", (WorkItem(item_id=name) for name in ("a", "b")), total_items=2)

    Raises:
        OperatorError: The name of the stage has characters that a file name should not have.
    """

    stage_name: str
    """Letters, digits, `.`, `_` and `-`. Manifest and journal are named after it."""
    items: Iterable[WorkItem | Barrier]
    total_items: int | None = None
    """Number of items; None: unknown."""
    retires: Callable[[str, str], bool] | None = None
    """Called with `item_id` and first input of each item of earlier runs that is not in this plan: whether to remove
    its outputs. If set, the outputs of an item that fails are removed too. None: nothing is removed."""
    expected_items: int | None = None
    """Estimate of the number of items for the progress bar, if the exact number is unknown."""
    policy: Literal["io", "cpu", "gpu"] | None = None
    """The policy that the stage is made for. A stage made for `gpu` is not run with `cpu`, unless the options say
    `i_know_what_im_doing`."""

    def __post_init__(self) -> None:
        name: Any = self.stage_name
        require(
            isinstance(name, str) and re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,99}", name) is not None,
            f"the name of a stage must have 1 to 100 characters out of letters, digits, '.', '_' and '-', got {name!r}",
        )
        items: Any = self.items
        require(isinstance(items, Iterable), f"items of a plan must be iterable, got {type(items).__name__}")
        for field in ("total_items", "expected_items"):
            count = getattr(self, field)
            require(
                count is None or (type(count) is int and count >= 0),
                f"{field} of a plan must be None or a number of items, got {count!r}",
            )
        require(self.policy in (None, *POLICIES), f"policy of a plan must be one of {_POLICIES}, got {self.policy!r}")
        _require_callable("a plan", "retires", self.retires)


ItemResult = dict[str, Any] | Skip | Failure | None
"""What `after_item` gets: what the worker returned, or the `Failure`."""


class StageHooks(msgspec.Struct, frozen=True, kw_only=True):
    """Callbacks around the items of a stage. Whatever a hook raises becomes a warning, `SystemExit` included; it never
    fails the stage. Only Ctrl-C is passed on.

    `before_stage` and `after_stage` run once, in the process that runs the stage. `before_item` runs right before an
    item, where the item runs. `worker_setup` runs once in every worker process, before its first item.

    `after_item` runs when the item is committed, in plan order. Its second argument is what the worker returned: a dict
    of plain data, None, or a `Skip`, which an item that is up to date has, too. If the item failed, it is the
    `Failure`. `ctx.delivery` is what sinks got for the item, as their `entry.payload`.

    Hooks can add fields: `ctx.annotate` in `before_item` to the row of the item, and in `before_stage` to the
    `__config__` row; `ctx.measure` in `before_item` to the telemetry. A mapping that `after_item` returns becomes a
    telemetry event `item`, and attributes of the item's span.

    >>> hooks = StageHooks(before_stage=lambda ctx: ctx.resources.update(model="loaded"))
    """

    before_stage: "Callable[[StageContext], None] | None" = None
    after_stage: "Callable[[StageOutcome], None] | None" = None
    before_item: "Callable[[WorkItem, StageContext], None] | None" = None
    after_item: "Callable[[WorkItem, ItemResult, StageContext], Mapping[str, Any] | None] | None" = None
    worker_setup: "Callable[[StageContext], None] | None" = None

    def __post_init__(self) -> None:
        for name in self.__struct_fields__:
            _require_callable("the hooks", name, getattr(self, name))


class StageErrorSummary(msgspec.Struct, frozen=True):
    """One kind of failure and its frequency.

    >>> StageErrorSummary("input", "not a PDF", 2, "a.pdf").count
    2
    """

    category: str
    message: str
    count: int
    item_id: str
    """The first item with this failure, in plan order."""


class StageOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a run, as returned by `run_stage`.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as data:
    ...     plan = StagePlan("count", [WorkItem(item_id="a"), WorkItem(item_id="b")])
    ...     outcome = run_stage(plan, lambda item: None, StageOptions(data=data, progress="none"))
    >>> outcome.succeeded, outcome.failed
    (2, 0)
    """

    stage: str
    """Name of the stage."""
    run_id: str
    """Id of this run. The files of its telemetry and attempts are named after it."""
    scheduled: int
    """Items of the plan: the sum of the four counts below."""
    skipped: int
    """Items that were up to date or had nothing to do."""
    succeeded: int
    """Items that were processed."""
    failed: int
    """Items that failed for good."""
    cancelled: int
    """Items that were not processed because the run was stopped, whether or not they were read from the plan."""
    was_cancelled: bool
    """Whether the run was stopped before its end, for whatever reason."""
    cancel_reason: str | None
    """Why it was stopped."""
    stop_kind: str | None
    """`cancelled`, `error budget`, `budget` (of tokens or money) or `infrastructure`; None: it ran to its end."""
    stop_signal: int | None = None
    """Number of the signal that stopped it."""
    resumed_at: int | None
    """The seq at which an interrupted run was resumed; None: this run started over."""
    adopted: int = 0
    """Results of the interrupted run that were not committed and did not have to be computed again."""
    wall_ms: float
    """Wall time of this run."""
    queue_p50_ms: float
    """Median time between reading an item from the plan and starting it."""
    exec_p50_ms: float
    """Median execution time of items that were not skipped."""
    exec_p95_ms: float
    """95th percentile of the same."""
    items_per_s: float
    """Items finished per second by this run."""
    errors: list[StageErrorSummary] = []
    """The first and the most frequent kinds of failure, at most ten."""
    warnings: list[str] = []
    """Exceptions of hooks, and warnings of the journal."""


class Stage(msgspec.Struct, frozen=True, kw_only=True):
    """A stage that the command line can run: `inorder stage package.module:name SRC...`.

    >>> stage = Stage(
    ...     name="upper",
    ...     plan=lambda sources, data: StagePlan("upper", [WorkItem(item_id=path.name) for path in sources]),
    ...     worker=lambda item, ctx: None,
    ... )
    """

    name: str
    plan: Callable[[list[Path], Path], StagePlan]
    """Makes the plan from the sources and DATA."""
    worker: Callable[..., Any]
    """Called as `worker(item, ctx)`, or as `worker(item)` if it takes one argument. Returns a dict of manifest fields,
    or None."""
    hooks: StageHooks = StageHooks()
    options: StageOptions = msgspec.field(default_factory=StageOptions)
    """The defaults of this stage."""
    sinks: "Callable[[Path], Sequence[Sink]] | None" = None
    """Opens further sinks in DATA, for one run. Each gets what workers pass to `ctx.deliver`, in order, and is closed
    at the end."""
    finish: Callable[[Path], None] | None = None
    """Called with DATA after a run that was not stopped, after its sinks are closed, while its lock is still held."""

    def __post_init__(self) -> None:
        for name in ("plan", "worker"):
            require(callable(getattr(self, name)), f"{name} of a stage must be callable, got {getattr(self, name)!r}")
        for name in ("sinks", "finish"):
            _require_callable("a stage", name, getattr(self, name))
        for name, kind in (("hooks", StageHooks), ("options", StageOptions)):
            value = getattr(self, name)
            require(isinstance(value, kind), f"{name} of a stage must be a {kind.__name__}, got {type(value).__name__}")


class PassItem(WorkItem, frozen=True, kw_only=True):
    """An item of a plan that is a remainder."""

    identity: str = ""
    """What a result of this item depends on, besides `item_id`, `cfg_hash` and outputs: the hashes of its inputs, for
    example. After an interruption a result is adopted by an item that is equal in all of these. Empty: the paths of the
    inputs."""
    part_of: str = ""
    """The `item_id` of a later item that this one is a part of. Progress, telemetry and the outcome name and count that
    item, and no parts; the error budget counts that item."""


class PassPlan(StagePlan, frozen=True):
    """The items of a pass."""

    is_remainder: bool = False
    """Whether the items are what is left to do, as the last of the sinks knows, so that the plan changes as the run
    commits. An interrupted run is not resumed then: all sinks, the manifest included, are brought to the position of
    that sink, and a new run starts. Results that were not committed are adopted by items that are equal (see
    `PassItem.identity`), whatever their place in the plan."""
    unit: str = ""
    """What the items are for a user, in the plural, for progress: `files`. Empty: they are items."""
    count_expected: Callable[[], int] | None = None
    """Returns a better estimate of `expected_items` while the items are read. None: there is none."""
    describe: Callable[[], tuple[str, Mapping[str, float]]] | None = None
    """Returns what is done to make items that are still to come: words for the progress, and sums for the metrics."""
    attach: Callable[[Callable[[], None]], None] | None = None
    """For a plan whose items come when they come: it has `NOT_YET` in place of the next one. Called once, with a
    function that makes the run read on."""


class PassHooks(StageHooks, frozen=True, kw_only=True):
    """Hooks of a pass whose worker processes read ahead for several items at once.

    `group_size` is called in a worker process with the items that are next, and returns how many of them form a group.
    `before_group` then runs before the first item of the group, to read or compute for all of them at once what it
    leaves in `ctx.resources`. An item of which nothing is found there must be processed as without the hook: what
    either hook raises is ignored, and an item may be repeated elsewhere. Threads do not call these two.
    """

    group_size: Callable[[Sequence[WorkItem]], int] | None = None
    before_group: "Callable[[Sequence[WorkItem], StageContext], None] | None" = None


def get_identity(item: WorkItem) -> str:
    """Return what an item states that its result depends on; empty: nothing."""
    return item.identity if isinstance(item, PassItem) else ""


def get_whole(item: WorkItem) -> str:
    """Return the id of the item that this one is a part of; empty: it is no part."""
    return item.part_of if isinstance(item, PassItem) else ""


def to_pass_plan(plan: StagePlan) -> PassPlan:
    """Return a plan as the runner works with it."""
    return plan if isinstance(plan, PassPlan) else PassPlan(**_list_fields(plan, StagePlan))


def to_pass_hooks(hooks: StageHooks) -> PassHooks:
    """Return hooks as the runner works with them."""
    return hooks if isinstance(hooks, PassHooks) else PassHooks(**_list_fields(hooks, StageHooks))


def _list_fields(value: msgspec.Struct, kind: type[msgspec.Struct]) -> dict[str, Any]:
    return {name: getattr(value, name) for name in kind.__struct_fields__}
