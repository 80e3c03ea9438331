"""Reads the rows of a run from its manifest into values of bounded size, row by row."""

import heapq
import math
import re
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Sequence

import msgspec

from inorder.pipeline.remedies import suggest_help
from inorder.stage.manifest.reader import ManifestRow, read_lines
from inorder.stage.monitor.histograms import Histogram

from .comparison import FailedItem, describe_failed
from .model import ROWS_MAX, FailureGroup, FailureTable, SlowItem, Tallies, Tally
from .runs import RowRange, StageRun

_TEXTS_MAX = 5000
"""Distinct texts that are counted; further ones are counted together."""
_OTHER = "(other texts)"
_TEXT_MAX = 2000
TRACEBACK_MAX = 4000
_TRACEBACKS_MAX = 50
"""Failures with a traceback: the first of them."""
_BUCKETS_PER_DECADE = 5
_SHORTEST_MS = 0.01
UP_TO_DATE = "up to date"
_STATUSES = ("success", "skip", "failure")
_GROUPS_MAX = 1000
"""Reasons of failures that are told apart; further ones count together, by category."""
_EXAMPLES_MAX = 3
_NUMBER = re.compile(r"\d+")


def read_run_rows(run: StageRun) -> Iterator[ManifestRow | None]:
    """Yield the rows of a run; None for a line that cannot be decoded."""
    return (row for rows in run.rows for row in read_range(rows))


def read_range(rows: RowRange) -> Iterator[ManifestRow | None]:
    """Yield the rows of a run in a manifest; None for a line that cannot be decoded."""
    for line in read_lines(rows.path, rows.start):
        if rows.end is not None and line.offset >= rows.end:
            return
        if line.row is None or line.row.status in _STATUSES:
            yield line.row


class TextCounter:
    """Counts texts; their number is bounded."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self._examples: dict[str, str] = {}

    def add(self, text: str, example: str) -> None:
        """Add one occurrence."""
        text = text[:_TEXT_MAX]
        if text not in self._examples:
            if len(self._examples) >= _TEXTS_MAX:
                text = _OTHER
            self._examples.setdefault(text, example)
        self.counts[text] += 1

    def build(self) -> Tallies:
        """Return the most frequent texts, and the number of all."""
        common = self.counts.most_common(ROWS_MAX)
        rows = [Tally(text=text, count=count, example=self._examples[text]) for text, count in common]
        return Tallies(total=self.counts.total(), distinct=len(self.counts), rows=rows)


def fill_buckets(pairs: Iterable[Sequence[float]]) -> list[tuple[float, int]]:
    """Make buckets of one width on a logarithmic scale from pairs of upper bound and count, without gaps. Everything
    below the shortest bound is in the first."""
    coarse: Counter[int] = Counter()
    for bound, count in pairs:
        place = math.ceil(math.log10(max(bound, _SHORTEST_MS)) * _BUCKETS_PER_DECADE - 1e-6)
        coarse[place] += int(count)
    low, high = (min(coarse), max(coarse)) if coarse else (0, -1)
    return [(round(10 ** (place / _BUCKETS_PER_DECADE), 4), coarse[place]) for place in range(low, high + 1)]


class FailureList:
    """Collects failed items, and groups them by reason. Reasons that differ in numbers and in the name of the item
    are one."""

    def __init__(self, suggest_help: Callable[[str, str], str] = lambda category, message: "") -> None:
        self._suggest_help = suggest_help
        self._groups: dict[tuple[str, ...], FailureGroup] = {}
        self._rows: list[FailedItem] = []
        self.total = 0

    def add(self, item: FailedItem) -> None:
        """Add an item."""
        self.total += 1
        if len(self._rows) < ROWS_MAX:
            self._rows.append(item if self.total <= _TRACEBACKS_MAX else msgspec.structs.replace(item, traceback=""))
        reason = item.message
        for name in filter(None, (item.item_id, item.item_id.rpartition("/")[2])):
            reason = reason.replace(name, "…")
        reason = _NUMBER.sub("#", reason)
        key: tuple[str, ...] = (item.step, item.category, reason)
        if key not in self._groups and len(self._groups) >= _GROUPS_MAX:
            key = (item.category,)
        group = self._groups.get(key)
        if group is None:
            help_ = self._suggest_help(item.category, item.message)
            message = item.message if len(key) > 1 else _OTHER
            group = FailureGroup(step=item.step, category=item.category, message=message, help=help_)
            self._groups[key] = group
        group.count += 1
        if len(group.examples) < _EXAMPLES_MAX:
            group.examples.append(item.item_id)

    def build(self) -> FailureTable:
        """Return the failures."""
        groups = sorted(self._groups.values(), key=lambda group: -group.count)
        return FailureTable(total=self.total, groups=groups[:ROWS_MAX], rows=self._rows)


class ItemDigest:
    """What the rows of a run say."""

    def __init__(self, wanted_seqs: Container[int] = (), *, is_pass: bool = False) -> None:
        self._wanted_seqs = wanted_seqs
        self.names: dict[int, str] = {}
        """The items of the wanted seqs."""
        self.succeeded = self.skipped = self.failed = self.damaged = 0
        self.skips, self.warnings = TextCounter(), TextCounter()
        self.durations = Histogram()
        self._slowest: list[tuple[float, int, int, SlowItem]] = []
        self._kept = 0
        self.failures = FailureList(suggest_help) if is_pass else FailureList()

    def read(self, run: StageRun) -> None:
        """Read all rows of a run."""
        for rows in run.rows:
            for row in read_range(rows):
                if row is None:
                    self.damaged += 1
                else:
                    self.add(row, rows.step)

    def add(self, row: ManifestRow, step: str = "") -> None:
        """Take one row into account: of an item, or of a step of a file."""
        if row.seq in self._wanted_seqs:
            self.names[row.seq] = row.doc_id
        for warning in row.warnings:
            self.warnings.add(warning, row.doc_id)
        if row.status == "skip":
            self.skipped += 1
            self.skips.add(UP_TO_DATE if row.is_satisfied else row.reason, row.doc_id)
            return
        self.durations.record(row.duration_s * 1000)
        self._keep_slow(row, step)
        if row.status == "success":
            self.succeeded += 1
        elif row.status == "failure":
            self.failed += 1
            self.failures.add(describe_failed(row, row.traceback[-TRACEBACK_MAX:]))

    def _keep_slow(self, row: ManifestRow, step: str) -> None:
        if len(self._slowest) >= ROWS_MAX and row.duration_s <= self._slowest[0][0]:
            return
        item = SlowItem(
            item_id=row.doc_id,
            seq=row.seq,
            duration_s=row.duration_s,
            status=row.status,
            attempts=row.attempts,
            step=step,
        )
        push = heapq.heappush if len(self._slowest) < ROWS_MAX else heapq.heapreplace
        self._kept += 1
        push(self._slowest, (row.duration_s, -row.seq, -self._kept, item))

    def list_slowest(self) -> list[SlowItem]:
        """The items that took longest, the slowest first."""
        return [item for *_, item in sorted(self._slowest, key=lambda found: found[:3], reverse=True)]
