"""The stall watchdog: which item the commit position waits for, and since when.

Commits are in order, so one item that hangs holds back all items after it. A run is *stalled* if nothing was committed
for a while. The watchdog decides nothing: it says what the run waits for.
"""

import time
from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from inorder.core.invariants import Head
from inorder.core.kernel import Kernel
from inorder.engines.base import ResizableEngine
from inorder.engines.progress import ItemProgress, WorkerActivity

RUNNING_SHOWN_MAX = 16
"""Running items in a snapshot: those that run longest."""
SHOWN_S_MIN = 1.0
"""Items that take less time are gone before anybody has read about them."""

_CHECK_S_MIN = 0.1
_CHECK_S_MAX = 5.0
_BLOCKED_S_MIN = 1.0

FindItemId = Callable[[int], str]
"""Returns the `item_id` of a seq that is not committed; empty: unknown."""


class HeadReport(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What the commit position waits for, in words and numbers for people."""

    state: str
    """`planning`, `queued`, `dispatched`, `running`, `retry-waiting`, `committing` or `outage`."""
    seq: int | None = None
    item_id: str = ""
    worker: int | None = None
    running_s: float | None = None
    """Since when its worker runs it."""
    step: str = ""
    """The step that it is in; empty: it has none."""
    retry_in_s: float | None = None
    """When its next attempt is due, or the next one at the server."""
    server: str = ""
    """The server that is down."""
    reason: str = ""
    """Why it is taken to be down."""
    since_s: float | None = None
    """Since when, as seconds since 1970."""
    is_paused: bool = False
    """It is not dispatched because of backpressure."""
    progress: dict[str, Any] | None = None
    """What it reported last: `done`, `total`, `note` and `age_s`."""

    @property
    def name(self) -> str:
        """The item, or what else the run waits for."""
        if self.state == "committing":
            return f"the commit of {self.item_id or f'item {self.seq}'}"
        if self.server:
            return self.server
        if self.seq is None:
            return "the plan"
        return self.item_id or f"item {self.seq}"

    def describe(self) -> str:
        """Name the item, its state and worker, and its last progress note."""
        details = {
            "running": f", running on worker {self.worker} for {self.running_s or 0:.0f} s" + describe_step(self.step),
            "dispatched": f", given to worker {self.worker}",
            "queued": ", waiting for a worker" + (" (dispatch is paused)" if self.is_paused else ""),
            "outage": f", down since {_format_time(self.since_s)} ({self.reason})"
            + (f"; next attempt in {self.retry_in_s:.0f} s" if self.retry_in_s else ""),
            "retry-waiting": f", waiting {self.retry_in_s or 0:.0f} s for its retry",
        }.get(self.state, "")
        if self.progress is None:
            return f"{self.name}{details}"
        return f"{self.name}{details}: {describe_progress(self.progress)} ({self.progress['age_s']:.0f} s ago)"


def _format_time(at_s: float | None) -> str:
    return time.strftime("%H:%M:%S", time.localtime(at_s))


def describe_step(step: str) -> str:
    """Describe in words which step an item is in; empty: it has none."""
    return f" in step {step!r}" if step else ""


def describe_progress(progress: dict[str, Any]) -> str:
    """Describe in words what an item has reported."""
    return ItemProgress(progress["done"], progress["total"], progress["note"]).describe()


def describe_running(item: dict[str, Any]) -> str:
    """Describe in words the step and the progress of an item in the gauge `running`; empty: it has reported neither."""
    progress = "" if item["progress"] is None else describe_progress(item["progress"])
    return ": ".join(filter(None, (item.get("step", ""), progress)))


def report_head(head: Head, now_ms: int, activities: Sequence[WorkerActivity], find_item_id: FindItemId) -> HeadReport:
    """Describe what the commit position waits for, from the kernel's view and from what the workers are running."""
    state, running_s, progress, step = head.state, None, None, ""
    for activity in activities:
        if head.state == "dispatched" and (activity.worker, activity.seq) == (head.worker, head.seq):
            state, running_s = "running", round(activity.elapsed_s, 3)
            progress, step = _to_dict(activity.progress), activity.step
    return HeadReport(
        state="planning" if head.seq is None and not head.server else state,
        seq=head.seq,
        item_id="" if head.seq is None else find_item_id(head.seq),
        worker=head.worker,
        running_s=running_s,
        step=step,
        retry_in_s=None if head.due_ms is None else max(0, head.due_ms - now_ms) / 1000,
        is_paused=head.is_paused,
        server=head.server,
        reason=head.reason,
        since_s=round(time.time() - (now_ms - head.since_ms) / 1000, 3) if head.server else None,
        progress=progress,
    )


def report_running(activities: Sequence[WorkerActivity], find_item_id: FindItemId) -> list[dict[str, Any]]:
    """Describe what the workers are running, longest running first."""
    longest = sorted(activities, key=lambda activity: -activity.elapsed_s)[:RUNNING_SHOWN_MAX]
    return [
        {
            "seq": activity.seq,
            "item_id": find_item_id(activity.seq),
            "attempt": activity.attempt,
            "worker": activity.worker,
            "running_s": round(activity.elapsed_s, 3),
            "step": activity.step,
            "progress": _to_dict(activity.progress),
        }
        for activity in longest
    ]


def _to_dict(progress: ItemProgress | None) -> dict[str, Any] | None:
    if progress is None:
        return None
    return {
        "done": progress.done,
        "total": progress.total,
        "note": progress.note,
        "age_s": round(progress.age_s, 3),
    }


class ActivityReader:
    """Reads what the workers are running; less often the more there are, so that a thousand cost no more than ten."""

    def __init__(self, engine: ResizableEngine) -> None:
        self._engine = engine
        self._found: list[WorkerActivity] = []
        self._due_ms = 0

    def read(self, now_ms: int) -> list[WorkerActivity]:
        """Return what the workers are running, or were a moment ago."""
        if now_ms >= self._due_ms:
            self._found = self._engine.list_activity()
            self._due_ms = now_ms + len(self._found)
        return self._found


def read_head(kernel: Kernel, reader: ActivityReader | None, now_ms: int, find_item_id: FindItemId) -> dict[str, Any]:
    """Return the gauges `head` and `running`. Must be called on the thread that runs the kernel."""
    head = kernel.find_head()
    if head.state == "ended":
        return {"head": None, "running": []}
    activities = [] if reader is None else reader.read(now_ms)
    return {
        "head": report_head(head, now_ms, activities, find_item_id),
        "running": report_running(activities, find_item_id),
    }


class StallEnded(msgspec.Struct, frozen=True):
    """Something was committed again."""

    waited_s: float
    head: HeadReport
    """What the run waited for."""


class StallWatchdog:
    """Notices when nothing is committed for `limit_s`; 0: never."""

    def __init__(self, limit_s: float, now_s: float) -> None:
        self._limit_s = limit_s
        self._position = -1
        self._moved_s = now_s
        self._stalled_at: HeadReport | None = None
        self._longest: StallEnded | None = None

    @property
    def interval_s(self) -> float:
        """The time between two checks."""
        return min(max(self._limit_s / 4, _CHECK_S_MIN), _CHECK_S_MAX) if self._limit_s > 0 else _CHECK_S_MAX

    @property
    def blocked_s(self) -> float:
        """The time after which a run that takes no step, although it was asked to, is blocked by its plan."""
        return max(2 * self.interval_s, _BLOCKED_S_MIN)

    @property
    def is_stalled(self) -> bool:
        """Whether nothing was committed for the limit."""
        return self._stalled_at is not None

    def measure_wait_s(self, now_s: float) -> float:
        """Return the time since the last commit."""
        return now_s - self._moved_s

    def check(
        self, now_s: float, position: int, head: HeadReport | None, read_s: float | None = None
    ) -> HeadReport | StallEnded | None:
        """Take in the commit position and what it waits for; None: the run has ended. `read_s` is when that was read;
        None: now. Returns the head when a stall begins, and a `StallEnded` when it ends. A head that was read before
        the limit is not believed: it may be of a commit that has ended since."""
        waited_s = self.measure_wait_s(now_s)
        if position != self._position or head is None:
            self._position, self._moved_s = position, now_s
            return self._end(waited_s)
        if self._limit_s <= 0 or (now_s if read_s is None else read_s) - self._moved_s < self._limit_s:
            return None
        is_new, self._stalled_at = self._stalled_at is None, head
        return head if is_new else None

    def _end(self, waited_s: float) -> StallEnded | None:
        head, self._stalled_at = self._stalled_at, None
        if head is None:
            return None
        ended = StallEnded(round(waited_s, 3), head)
        if self._longest is None or ended.waited_s > self._longest.waited_s:
            self._longest = ended
        return ended

    def describe_longest(self) -> list[str]:
        """Describe the longest stall that has ended, for the report of the run. Empty: there was none."""
        if self._longest is None:
            return []
        return [f"nothing was committed for {self._longest.waited_s:.0f} s: {self._longest.head.describe()}"]


def format_note(watchdog: StallWatchdog, gauges: dict[str, Any], now_s: float, *, names_all: bool = False) -> str:
    """Format what the progress display says about the item that the run waits for, or about one that reports
    progress or a step and has been running for a while. Empty: neither. `names_all`: about the first that runs,
    whatever it reports."""
    head: HeadReport | None = gauges.get("head")
    if head is not None and head.server:
        return f"waiting for {head.describe()}"
    if watchdog.is_stalled and head is not None:
        return f"waiting {watchdog.measure_wait_s(now_s):.0f} s for {head.describe()}"
    running = gauges.get("running", ())
    if not names_all:
        running = [one for one in running if one["running_s"] >= SHOWN_S_MIN and describe_running(one)]
    if not running:
        return ""
    first = min(running, key=lambda one: one["seq"])
    return ": ".join(filter(None, (first["item_id"], describe_running(first))))
