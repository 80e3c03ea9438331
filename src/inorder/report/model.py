"""The data of a report: plain structs that encode as JSON.

The size of a report does not grow with the number of items. A list that was cut says so: beside it is the number of all
its members. Times are milliseconds since 1970, durations have their unit in the name.

The time axis of a run is its *active* time: a run that was interrupted and resumed the next day has no gap of a night.
Values `at_ms` count from the start of the run on this axis.
"""

from typing import Any

import msgspec

from inorder.pipeline.outcome import FileCounts, RunOutcome
from inorder.watch.status import WatchStatus

from .comparison import Comparison, FailedItem

SCHEMA_VERSION = 1
POINTS_MAX = 1000
"""Points of a series over time."""
ROWS_MAX = 200
"""Rows of a table."""
HISTORY_MAX = 20
"""Runs that are listed."""
MARKS_MAX = 400
"""Marks on a time axis, per kind."""
WORKERS_MAX = 200
"""Rows of the timeline of workers."""


class ItemCounts(msgspec.Struct, frozen=True, kw_only=True):
    """The outcomes of the items of a run."""

    total: int | None = None
    """None: not known yet."""
    succeeded: int = 0
    skipped: int = 0
    failed: int = 0
    adopted: int = 0
    """Results of an interrupted run that were not computed again."""

    @property
    def done(self) -> int:
        """Items with an outcome."""
        return self.succeeded + self.skipped + self.failed


class Series(msgspec.Struct, frozen=True, kw_only=True):
    """Values over the active time of a run: one list per value, all as long as `at_ms`."""

    at_ms: list[int] = []
    committed: list[int] = []
    """Items that are committed: the next seq to commit."""
    computed: list[int] = []
    """One past the furthest seq that is computed."""
    buffered_bytes: list[int] = []
    """Bytes of results that are not committed, and reserved for running items: the most in the interval."""
    resident_bytes: list[int] = []
    active_workers: list[int] = []
    """Workers that had something to do: the most in the interval."""
    seen: int = 0
    """Measurements that the points were made of."""


class HeatMap(msgspec.Struct, frozen=True, kw_only=True):
    """How many items were computed, by time and by position in the plan."""

    column_ms: int = 1
    """Width of a column."""
    row_seqs: int = 1
    """Height of a row."""
    columns: int = 0
    rows: int = 0
    cells: list[tuple[int, int, int]] = []
    """Column, row and count of each cell that is not empty."""


class WorkerRow(msgspec.Struct, kw_only=True):
    """One worker: how busy it was in each column of the timeline."""

    worker: int
    busy_ms: int = 0
    items: int = 0
    first_ms: int = 0
    last_ms: int = 0
    lost_at_ms: int | None = None
    lost_cause: str = ""
    busy_percent: list[int] = []


class WorkerTimeline(msgspec.Struct, frozen=True, kw_only=True):
    """The workers of a run. If there are too many, those that were busy longest."""

    column_ms: int = 1
    columns: int = 0
    rows: list[WorkerRow] = []
    total: int = 0
    utilisation_percent: float | None = None
    """Share of the time in which workers ran items; None: not recorded."""


class TimeMark(msgspec.Struct, frozen=True, kw_only=True):
    """Something that happened at one moment."""

    at_ms: int
    kind: str
    """`retry`, `lost`, `reclaim`, `overrun`, `killed`, `resumed`, `stopping`."""
    text: str


class TimeSpan(msgspec.Struct, frozen=True, kw_only=True):
    """A state that lasted for some time: a pressure level, or a stall."""

    from_ms: int
    to_ms: int
    kind: str
    """`slowed`, `paused` or `stalled`."""
    reason: str
    """In the words of the user: which limit, or which item."""


class WindowSpan(msgspec.Struct, frozen=True, kw_only=True):
    """A window of the plan."""

    id: int
    start: int
    end: int
    """One past its last seq; `start`: not known yet."""
    opened_ms: int
    closed_ms: int | None = None


class DurationStats(msgspec.Struct, frozen=True, kw_only=True):
    """A histogram of durations."""

    name: str
    title: str
    meaning: str
    count: int = 0
    p50_ms: float = 0.0
    p95_ms: float = 0.0
    max_ms: float = 0.0
    buckets: list[tuple[float, int]] = []
    """Upper bound in milliseconds and count; empty: not recorded."""


class LongItem(msgspec.Struct, frozen=True, kw_only=True):
    """One of the items that took longest while it was running, with its place on the time axis."""

    seq: int
    worker: int
    from_ms: int
    duration_ms: float
    item_id: str = ""
    """Empty: it is not committed."""


class SlowItem(msgspec.Struct, frozen=True, kw_only=True):
    """An item that took long."""

    item_id: str
    seq: int
    duration_s: float
    status: str
    attempts: int = 1
    worker: int | None = None
    step: str = ""
    """The step of the pipeline that took so long; empty: it is an item of a stage."""


class Tally(msgspec.Struct, frozen=True, kw_only=True):
    """A text and how often it occurred."""

    text: str
    count: int
    example: str = ""
    """The first item with it."""


class FailureGroup(msgspec.Struct, kw_only=True):
    """Items that failed for the same reason."""

    step: str
    category: str
    message: str
    """Of the first of them."""
    help: str
    """What would help; empty: the message says it, or nobody knows."""
    count: int = 0
    examples: list[str] = []
    """The first of them."""


class FailureTable(msgspec.Struct, frozen=True, kw_only=True):
    """Failed items: the first `ROWS_MAX` of them, in the order of the plan."""

    total: int = 0
    groups: list[FailureGroup] = []
    """By reason, the most frequent first: at most `ROWS_MAX`."""
    rows: list[FailedItem] = []


class Tallies(msgspec.Struct, frozen=True, kw_only=True):
    """Texts by frequency: the most frequent `ROWS_MAX` of them."""

    total: int = 0
    """Occurrences of all of them."""
    distinct: int = 0
    rows: list[Tally] = []


class RunPart(msgspec.Struct, frozen=True, kw_only=True):
    """A process that worked on the run: the first, or one that resumed it."""

    run_id: str
    started_ms: int
    last_ms: int
    """When it ended, or its last sign of life."""
    at_ms: int = 0
    """Where it begins on the time axis."""
    resumed_at: int | None = None
    end: str = ""
    """`ended`, `failed`, or empty: it did not say that it ended."""


class RunReport(msgspec.Struct, frozen=True, kw_only=True):
    """One run of one stage."""

    stage: str
    run_id: str
    state: str
    """`running`; `finished`: every item has an outcome; `stopped`: it said so, by a signal, its error budget or the
    infrastructure; `killed`: it ended without a word; `failed`: it raised an exception; `unknown`: it wrote no
    telemetry, and a later run has replaced its journal."""
    state_text: str
    """The state in a few words, with what stopped it or when it died."""
    is_latest: bool
    started_ms: int
    last_ms: int
    active_ms: int
    parts: list[RunPart]
    version: str = ""
    host: str = ""
    command: str = ""
    policy: str = ""
    workers: int | None = None
    counts: ItemCounts = ItemCounts()
    files: RunOutcome | None = None
    """What a run of the pipeline did, with the names of `inorder run --json`; None: it is a run of a stage, or has
    published nothing."""
    is_pass: bool = False
    """Whether it is a pass of the pipeline: its items are files that had something to do."""
    items_per_s: float = 0.0
    bytes_per_s: float = 0.0
    input_bytes: int = 0
    requests_retried: int = 0
    """Requests that were sent to servers again."""
    eta_s: float | None = None
    """Time left at the rate so far; None: the run is over, or the number of items is unknown."""
    waiting_for: str = ""
    """What a run that is under way waits for, or what one that was killed was doing."""
    running: list[str] = []
    """Items that workers were running at the last sign of life, with their progress."""
    committed: int = 0
    """Items that the journal has as committed."""
    series: Series = Series()
    heat_map: HeatMap = HeatMap()
    worker_timeline: WorkerTimeline = WorkerTimeline()
    marks: list[TimeMark] = []
    mark_counts: dict[str, int] = {}
    """All marks by kind, those that were cut included."""
    spans: list[TimeSpan] = []
    spans_total: int = 0
    windows: list[WindowSpan] = []
    durations: list[DurationStats] = []
    slowest: list[SlowItem] = []
    longest: list[LongItem] = []
    """Spread over the run: the longest of each interval."""
    failures: FailureTable = FailureTable()
    skips: Tallies = Tallies()
    warnings: Tallies = Tallies()
    """Of this run; for the latest run of the pipeline, of all files that are there."""
    notes: list[str] = []
    """Warnings of the run itself."""
    damaged_lines: int = 0
    """Lines of the manifest or the telemetry that cannot be read."""


class FilePoint(msgspec.Struct, frozen=True, kw_only=True):
    """One run in the history of the library."""

    run_id: str
    began_ms: int
    counts: FileCounts


class LibraryContents(msgspec.Struct, frozen=True, kw_only=True):
    """The files of the library."""

    line: str
    """Their counts in words."""
    published_ms: int
    steps: dict[str, dict[str, Any]] = {}
    """By step: what it has made of the files that are there now."""
    history: list[FilePoint] = []
    runs: int = 0


class DatasetReport(msgspec.Struct, frozen=True, kw_only=True):
    """The contents of DATA."""

    library: LibraryContents | None = None
    bytes_total: int = 0
    """Its size on disk."""
    problem: str = ""
    """Why the library cannot be read, or what of it is damaged."""


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """The answer to: is it fine?"""

    level: str
    """`good`, `attention`, `bad` or `running`."""
    state: str
    sentence: str
    details: list[str] = []
    """What else is worth knowing, in sentences."""
    next_step: str = ""
    """What to do."""
    command: str = ""
    """The command for it; empty: there is none."""


class PipelineReport(msgspec.Struct, frozen=True, kw_only=True):
    """A whole report."""

    schema_version: int = SCHEMA_VERSION
    inorder_version: str
    generated_ms: int
    data: str
    option: str = ""
    """What a command needs to find DATA, such as `--data DIR`."""
    verdict: Verdict
    runs: list[RunReport]
    """The latest run of the pipeline and of every stage, or the runs that were asked for."""
    dataset: DatasetReport | None = None
    comparison: Comparison | None = None
    watch: WatchStatus | None = None
    """The watch of this DATA, or the last one; None: there was none, or chosen runs are shown."""
