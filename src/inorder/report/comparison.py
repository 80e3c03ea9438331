"""Two runs of one stage beside each other: rates, items that got slower, new failures and fixed ones."""

import heapq
from collections import Counter
from collections.abc import Iterator
from typing import Any

import msgspec

from inorder.stage.manifest.reader import ManifestRow

_ITEMS_MAX = 200_000
"""Items of the first run that are compared: the first of them."""
_ROWS_MAX = 200
_SLOWER_FACTOR = 1.5
_SLOWER_S = 0.005
"""An item got slower if it took this much longer and this many times as long."""
_TEXT_MAX = 2000


class FailedItem(msgspec.Struct, frozen=True, kw_only=True):
    """An item that failed for good."""

    item_id: str
    category: str
    message: str
    attempts: int
    traceback: str = ""
    step: str = ""
    """The step that failed; empty: the item has none."""


class Delta(msgspec.Struct, frozen=True, kw_only=True):
    """One value of two runs."""

    name: str
    unit: str
    before: float | None
    after: float | None


class SlowerItem(msgspec.Struct, frozen=True, kw_only=True):
    """An item of both runs that took longer in the second."""

    item_id: str
    before_s: float
    after_s: float


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    """Two runs of one stage."""

    stage: str
    before: str
    after: str
    deltas: list[Delta]
    slower: list[SlowerItem] = []
    slower_total: int = 0
    compared: int = 0
    """Items that both runs processed."""
    items_max: int | None = None
    """If the first run has more items than this, further ones are not compared."""
    new_failures: list[FailedItem] = []
    new_failures_total: int = 0
    fixed: list[str] = []
    fixed_total: int = 0


def compare_rows(
    before: Iterator[ManifestRow | None], after: Iterator[ManifestRow | None], items_max: int = _ITEMS_MAX
) -> dict[str, Any]:
    """Compare the rows of two runs. Returns the fields of a `Comparison` that they give."""
    known: dict[tuple[str, str], tuple[str, float]] = {}
    """By item and step: status and duration."""
    is_cut = False
    for row in filter(None, before):
        if len(known) < items_max:
            known[row.doc_id, row.stage] = (row.status, row.duration_s)
        else:
            is_cut = True
    slower: list[tuple[float, str, SlowerItem]] = []
    new_failures: list[FailedItem] = []
    fixed: list[str] = []
    totals = Counter({"slower_total": 0, "compared": 0, "new_failures_total": 0, "fixed_total": 0})
    for row in filter(None, after):
        status, before_s = known.get((row.doc_id, row.stage), ("", 0.0))
        if row.status == "failure" and status != "failure" and (status or not is_cut):
            totals["new_failures_total"] += 1
            if len(new_failures) < _ROWS_MAX:
                new_failures.append(describe_failed(row, ""))
        elif row.status == "success" and status == "failure":
            totals["fixed_total"] += 1
            if len(fixed) < _ROWS_MAX:
                fixed.append(row.doc_id)
        elif row.status == status == "success":
            totals["compared"] += 1
            difference_s = row.duration_s - before_s
            if difference_s >= _SLOWER_S and row.duration_s >= before_s * _SLOWER_FACTOR:
                totals["slower_total"] += 1
                item = SlowerItem(item_id=row.doc_id, before_s=before_s, after_s=row.duration_s)
                heapq.heappush(slower, (difference_s, row.doc_id, item))
                if len(slower) > _ROWS_MAX:
                    heapq.heappop(slower)
    slowest = sorted(slower, key=lambda found: (-found[0], found[1]))
    return {
        "slower": [item for _, _, item in slowest],
        "new_failures": new_failures,
        "fixed": fixed,
        "items_max": items_max if is_cut else None,
        **totals,
    }


def describe_failed(row: ManifestRow, traceback: str) -> FailedItem:
    """Describe the failure in a row."""
    error = row.error
    return FailedItem(
        item_id=row.doc_id,
        category=error.category if error is not None else "unknown",
        message=(error.message if error is not None else "")[:_TEXT_MAX],
        attempts=row.attempts,
        traceback=traceback,
        step=error.step if error is not None else "",
    )
