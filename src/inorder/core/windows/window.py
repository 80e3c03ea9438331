"""Contiguous windows over the plan.

The plan is cut into windows `[start, end)` in seq order, every seq in exactly one. At most two are active: the first
commits, the second only computes ahead, and nothing beyond them is dispatched, planned or remembered.

A window *fills* as the plan is consumed and may be dispatched from while it does, so a slow plan delays nobody. It is
*sealed* when a cap is reached, the plan ends, or the next item would not fit. Caps look at the items alone, so the
same plan and options give the same windows whatever the timing. The one exception is adaptive sizing, which moves the
target at a window boundary: it is a pure function of a snapshot, and the target is recorded with the window, so that
the same snapshots give the same windows.
"""

from collections import deque
from hashlib import blake2b

import msgspec

from inorder.core.events import Envelope
from inorder.core.options import KernelOptions, WindowOptions
from inorder.core.ready_queue import Ready
from inorder.core.retry import WindowRetries

from .plan import PlanItem

ACTIVE_WINDOWS_MAX = 2
"""The first commits, the second computes ahead. A hard limit: utilisation under skew comes from window sizing."""
_JSON = msgspec.json.Encoder()


class WindowRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A sealed window, for the journal and the report."""

    id: int
    start: int
    end: int
    """Last seq of the window, inclusive."""
    predicted_cost: float
    predicted_bytes: int
    entries: int
    oversize: bool
    seed_hash: str
    """Of the options that cut windows and every plan item up to the end of this one."""


class SizingSnapshot(msgspec.Struct, frozen=True, kw_only=True):
    """What adaptive sizing looks at, taken when a window closes."""

    target_entries: int
    commit_lag: int
    used_bytes: int
    bytes_soft: int
    retries: int
    entries: int
    starved_steps: int


class Window:
    """One active window."""

    def __init__(self, id_: int, start: int, target_entries: int, options: KernelOptions, now_ms: int) -> None:
        self.id = id_
        self.start = start
        self.end = start
        """One past the last seq planned so far."""
        self.target_entries = target_entries
        self.opened_ms = now_ms
        self.sealed = False
        self.oversize = False
        self.predicted_cost = 0.0
        self.predicted_bytes = 0
        self.size_bytes_max = 0
        self.ready = Ready(options.schedule)
        self.retries = WindowRetries(options.retry, target_entries)
        self.parked: dict[int, Envelope] = {}
        """Failures whose retry waits for lower seqs, see `WindowRetries`."""
        self.suspects: set[int] = set()
        self.frontier = start
        """First seq whose outcome is not yet computed."""
        self.computed_count = 0
        self.used_bytes = 0
        """Results computed and not yet committed, and what is set aside for those still running."""

    @property
    def entries(self) -> int:
        """Items planned into this window so far."""
        return self.end - self.start


class WindowPlanner:
    """Cuts the plan. Items that do not fit the windows open now wait in `carry`."""

    def __init__(self, options: KernelOptions) -> None:
        self._options = options
        self._hash = blake2b(_JSON.encode(_cutting(options.windows)), digest_size=16)
        self._next_id = 0
        self.target_entries = options.windows.entries
        self.sizing: SizingSnapshot | None = None
        """The snapshot behind the present target; None: the options'."""
        self.carry: deque[PlanItem] = deque()

    def open(self, start: int, now_ms: int) -> Window:
        """Begin the next window at `start`."""
        target = min(self.target_entries, self._options.windows.span_max)
        window = Window(self._next_id, start, target, self._options, now_ms)
        self._next_id += 1
        return window

    def restore(self, id_: int, target_entries: int, sizing: SizingSnapshot | None) -> None:
        """The next window has been open before, with this number and size."""
        self._next_id = id_
        self.target_entries = target_entries
        self.sizing = sizing

    def pass_by(self, count: int) -> None:
        """Let the first `count` items of `carry` go: their window was closed long ago."""
        self._hash.update(_identity([self.carry.popleft() for _ in range(count)]))

    def fill(self, window: Window, *, committed_end: int = 0) -> bool:
        """Move items from `carry` into the window; whether it is full now. Those below `committed_end` are done."""
        limits = self._options.windows
        carry, ready = self.carry, window.ready
        seq = window.end
        cost, size = window.predicted_cost, window.predicted_bytes
        room = window.target_entries - window.entries
        full = False
        placed: list[PlanItem] = []
        while carry and room > len(placed) and not full:
            item = carry[0]
            cost_after, size_after = cost + item.cost, size + item.size_bytes
            if cost_after > limits.cost_max or size_after > limits.bytes_max:
                full = True
                if seq > window.start:
                    break
                window.oversize = True
            placed.append(carry.popleft())
            cost, size = cost_after, size_after
            if item.size_bytes > window.size_bytes_max:
                window.size_bytes_max = item.size_bytes
            if seq >= committed_end:
                ready.add_fresh(seq, item.cost, item.batch_key)
            seq += 1
        self._hash.update(_identity(placed))
        window.end = seq
        window.predicted_cost, window.predicted_bytes = cost, size
        return full or room == len(placed)

    def seal(self, window: Window) -> WindowRecord:
        """Fix the bounds of the window."""
        window.sealed = True
        return WindowRecord(
            id=window.id,
            start=window.start,
            end=window.end - 1,
            predicted_cost=window.predicted_cost,
            predicted_bytes=window.predicted_bytes,
            entries=window.entries,
            oversize=window.oversize,
            seed_hash=self._hash.hexdigest(),
        )

    def resize(self, snapshot: SizingSnapshot) -> None:
        """Choose the size of the windows opened from now on."""
        self.sizing = snapshot
        self.target_entries = resized(self._options.windows, snapshot)[0]


def _identity(items: list[PlanItem]) -> bytes:
    """The items as bytes, the same however the plan is cut into answers. Ids need not be valid text, file names are
    not; and a cost may be a number of any class."""
    try:
        return _JSON.encode_lines(items)
    except (TypeError, UnicodeEncodeError):
        return b"".join(_lone_identity(item) for item in items)


def _lone_identity(item: PlanItem) -> bytes:
    try:
        return _JSON.encode(item) + b"\n"
    except (TypeError, UnicodeEncodeError):
        return ascii(msgspec.structs.astuple(item)).encode() + b"\n"


def _cutting(options: WindowOptions) -> list[object]:
    """The options that decide where the plan is cut."""
    return [
        options.entries,
        options.entries_min,
        options.entries_max,
        options.span_max,
        options.cost_max,
        options.bytes_max,
        options.adaptive,
    ]


def resized(options: WindowOptions, snapshot: SizingSnapshot) -> tuple[int, str]:
    """The next target and why. Trouble halves it, idle workers double it, in that order of precedence."""
    target = snapshot.target_entries
    if snapshot.used_bytes > snapshot.bytes_soft:
        return max(options.entries_min, target // 2), "shrink: buffered bytes above the soft mark"
    if snapshot.retries * 4 >= snapshot.entries:
        return max(options.entries_min, target // 2), "shrink: a quarter of the window was retried"
    if snapshot.commit_lag * 2 > target:
        return max(options.entries_min, target // 2), "shrink: commit lags by more than half a window"
    if snapshot.starved_steps:
        return min(options.entries_max, target * 2), "grow: workers found nothing to do"
    return target, "keep"
