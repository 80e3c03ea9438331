"""Two runs of one stage beside each other: rates, items that got slower, new failures and fixed ones."""

import heapq
from collections.abc import Iterator

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
    seq: int
    category: str
    message: str
    attempts: int
    retryable: bool
    traceback: str = ""


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


class RunComparer:
    """Reads the rows of two runs, row by row."""

    def __init__(self, items_max: int = _ITEMS_MAX) -> None:
        self._items_max = items_max
        self._is_cut = False
        self._before: dict[str, tuple[str, float]] = {}
        """By item: status and duration."""
        self._slower: list[tuple[float, str, SlowerItem]] = []
        self._slower_total = 0
        self._compared = 0
        self._new_failures: list[FailedItem] = []
        self._new_failures_total = 0
        self._fixed: list[str] = []
        self._fixed_total = 0

    def read(self, before: Iterator[ManifestRow | None], after: Iterator[ManifestRow | None]) -> None:
        """Read the rows of the first run, then those of the second."""
        for row in before:
            if row is not None:
                if len(self._before) < self._items_max:
                    self._before[row.doc_id] = (row.status, row.duration_s)
                else:
                    self._is_cut = True
        for row in after:
            if row is not None:
                self._compare(row, self._before.get(row.doc_id))

    def _compare(self, row: ManifestRow, before: tuple[str, float] | None) -> None:
        had_failed = before is not None and before[0] == "failure"
        if row.status == "failure" and not had_failed and (before is not None or not self._is_cut):
            self._new_failures_total += 1
            if len(self._new_failures) < _ROWS_MAX:
                self._new_failures.append(describe_failed(row, ""))
        elif row.status == "success" and had_failed:
            self._fixed_total += 1
            if len(self._fixed) < _ROWS_MAX:
                self._fixed.append(row.doc_id)
        if row.status == "success" and before is not None and before[0] == "success":
            self._compared += 1
            self._compare_times(row.doc_id, before[1], row.duration_s)

    def _compare_times(self, item_id: str, before_s: float, after_s: float) -> None:
        difference_s = after_s - before_s
        if difference_s < _SLOWER_S or after_s < before_s * _SLOWER_FACTOR:
            return
        self._slower_total += 1
        item = SlowerItem(item_id=item_id, before_s=before_s, after_s=after_s)
        if len(self._slower) < _ROWS_MAX:
            heapq.heappush(self._slower, (difference_s, item_id, item))
        else:
            heapq.heappushpop(self._slower, (difference_s, item_id, item))

    def build(self, stage: str, before: str, after: str, deltas: list[Delta]) -> Comparison:
        """Return the comparison."""
        slower = sorted(self._slower, key=lambda found: (-found[0], found[1]))
        return Comparison(
            stage=stage,
            before=before,
            after=after,
            deltas=deltas,
            slower=[item for _, _, item in slower],
            slower_total=self._slower_total,
            compared=self._compared,
            items_max=self._items_max if self._is_cut else None,
            new_failures=self._new_failures,
            new_failures_total=self._new_failures_total,
            fixed=self._fixed,
            fixed_total=self._fixed_total,
        )


def describe_failed(row: ManifestRow, traceback: str) -> FailedItem:
    """Describe the failure in a row."""
    error = row.error
    return FailedItem(
        item_id=row.doc_id,
        seq=row.seq,
        category=error.category if error is not None else "unknown",
        message=(error.message if error is not None else "")[:_TEXT_MAX],
        attempts=row.attempts,
        retryable=error is not None and error.retryable,
        traceback=traceback,
    )
