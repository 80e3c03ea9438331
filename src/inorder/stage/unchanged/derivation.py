"""What a plan is made of, and how it differs from that of the last run.

A plan that says so need not be read whole: if nothing has changed, it is not read at all, and if little has changed,
only the items that may differ are made and checked. All others keep their results, and their rows are repeated.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from inorder.stage.contracts import Barrier, WorkItem


class LastRun(msgspec.Struct, frozen=True, kw_only=True):
    """The last complete run of a stage, for a plan that is compared with it. Every item of it is up to date, or has
    changed since.

    >>> LastRun(count=2, read_ids=lambda: iter(["a", "b"])).count
    2
    """

    count: int
    """The number of its items, without those that were removed."""
    read_ids: Callable[[], Iterator[str]]
    """Yields the ids of these items in the order of the plan. Bytes in them that are not valid Unicode are escaped."""
    changed: Mapping[str, Set[str]] = {}
    """For each stage that the plan is made of, the ids of results that were written or removed since."""
    listing: bytes = b""
    """What `Derivation.make_listing` has returned."""


class PlanEdits(msgspec.Struct, frozen=True, kw_only=True):
    """How a plan differs from that of the last run. Items that are not named are those of the last run.

    >>> PlanEdits(items=[], dropped={3}, gone=["a"]).gone
    ['a']
    """

    items: "Iterable[tuple[int, WorkItem] | Barrier]"
    """Items that may have changed, in the order of the plan, each with the number of the item of the last run before
    which it comes. Read once, and lazily."""
    dropped: Set[int] = frozenset()
    """The numbers of items of the last run that are not in the plan, or that `items` replace."""
    gone: Iterable[str] = ()
    """The ids of items that are no longer in the plan. Their results are removed, as `StagePlan.retires` says."""


class Derivation(msgspec.Struct, frozen=True, kw_only=True):
    """Says what decides which items a plan has, and whether they are up to date: results of other stages, and
    `version`. If neither has changed since the last complete run, and its own results are what they were, no item is
    checked. With `find_edits`, only items that may have changed are.

    >>> Derivation(stages=("doctags",), version="512 tokens").stages
    ('doctags',)
    """

    stages: tuple[str, ...]
    """The stages, whose results are in stores."""
    version: str
    """Everything else that decides which items there are, and whether they are up to date."""
    skips_again: bool = False
    """Whether an item that its worker has skipped would be skipped again, with the same reason, if nothing of this has
    changed. If not, every item is checked as long as there is such an item."""
    is_same: Callable[[], bool] = lambda: True
    """Whether nothing else has changed: asked last."""
    read_outputs: Callable[[], str] | None = None
    """Returns what identifies the results of the stage as they are now; None: they are in its store."""
    find_edits: Callable[[LastRun], PlanEdits | None] | None = None
    """Compares the plan with that of the last run; None instead of edits: every item must be checked. Called if
    something has changed, but not `fixed_version`."""
    fixed_version: str | None = None
    """The part of `version` whose changes `find_edits` cannot find; None: all of it."""
    make_listing: Callable[[], bytes] | None = None
    """Returns what `find_edits` of the next run needs to know of the items of this one. Called at the end of the
    run."""

    def get_fixed_version(self) -> str:
        """The part of `version` whose changes `find_edits` cannot find."""
        return self.version if self.fixed_version is None else self.fixed_version
