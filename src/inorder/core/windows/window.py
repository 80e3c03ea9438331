"""Contiguous windows over the plan.

The plan is cut into windows `[start, end)` in seq order; every seq is in exactly one. At most two are active: the first
commits, the second only computes ahead. Items beyond them are not planned yet.

A window *fills* as the plan is read, and its items can be dispatched meanwhile, so a slow plan delays no ready item. It
is *sealed* when a cap is reached, the plan ends, or the next item would not fit. The caps depend on the items only, so
the same plan and options give the same windows whatever the timing. The one exception is adaptive sizing, which changes
the target at a window boundary. It is a pure function of a snapshot, and the target is recorded with the window, so
that the same snapshots give the same windows.
"""

from bisect import bisect_right
from collections import deque
from hashlib import blake2b
from itertools import accumulate, groupby, islice, repeat
from operator import attrgetter, is_

import msgspec

from inorder.core.events import Envelope
from inorder.core.options import KernelOptions, WindowOptions
from inorder.core.ready_queue import ReadyQueue
from inorder.core.retry import WindowRetries

from .plan import PlanItem

ACTIVE_WINDOWS_MAX = 2
"""The first commits, the second computes ahead. Fixed: to tolerate longer stragglers, make windows larger."""
GROWTH_MIN, GROWTH_MAX = 2, 64
"""Bounds of the factor by which idle workers enlarge the next window."""
_JSON = msgspec.json.Encoder()
_SLICE = 256
"""Items that are compared with the caps of a window at a time."""


class SealedWindow(msgspec.Struct, frozen=True, kw_only=True):
    """The bounds and predictions of a sealed window, for the report."""

    id: int
    start: int
    end: int
    """Last seq of the window (inclusive)."""
    predicted_cost: float
    predicted_bytes: int
    entries: int
    oversize: bool
    seed_hash: str
    """Hash of the options that cut windows and of every plan item up to the end of this window."""


class SizingSnapshot(msgspec.Struct, frozen=True, kw_only=True):
    """The input of adaptive sizing, taken when a window closes. The journal has these fields in this order: new ones
    are added at the end, with a default."""

    target_entries: int
    commit_lag: int
    used_bytes: int
    """The most bytes that all windows used since the last close while a signal was above its soft mark; at least what
    they use now."""
    bytes_soft: int
    retries: int
    entries: int
    starved_steps: int
    resident_bytes: int = 0
    resident_bytes_soft: int = 2**60
    starved_entries: int = 0
    """The largest target with which workers were idle before."""
    starved_ms: int = 0
    """Time from the first idle worker to this close; 0 without one."""
    elapsed_ms: int = 0
    """Time since the last close; for the first window, since it was opened."""


class Window:
    """One active window."""

    def __init__(self, id_: int, start: int, target_entries: int, options: KernelOptions, now_ms: int) -> None:
        self.id = id_
        self.start = start
        self.end = start
        """One past the last seq planned so far."""
        self.target_entries = target_entries
        self.opened_ms = now_ms
        self.is_sealed = False
        self.is_oversize = False
        self.predicted_cost = 0.0
        self.predicted_bytes = 0
        self.size_bytes_max = 0
        self.ready = ReadyQueue(options.schedule)
        self.retries = WindowRetries(options.retry, target_entries)
        self.parked: dict[int, Envelope] = {}
        """Failures whose retry waits for lower seqs; see `WindowRetries`."""
        self.suspects: set[int] = set()
        self.parts: set[int] = set()
        """Items whose failures do not count in the error budget."""
        self.frontier = start
        """First seq that is not computed."""
        self.computed_count = 0
        self.used_bytes = 0
        """Bytes of results that are computed and not committed, and bytes reserved for running items."""

    @property
    def entries(self) -> int:
        """Number of items in this window so far."""
        return self.end - self.start


class WindowCutter:
    """Cuts the plan into windows. Items that do not fit into the active windows wait in `carry`."""

    def __init__(self, options: KernelOptions) -> None:
        self._options = options
        self._hash = blake2b(_JSON.encode(_list_cutting_options(options.windows)), digest_size=16)
        self._next_id = 0
        self.target_entries = options.windows.entries
        self.sizing: SizingSnapshot | None = None
        """The snapshot behind the present target. None: the target is that of the options."""
        self.carry: deque[PlanItem] = deque()

    @property
    def starved_entries(self) -> int:
        """The largest target with which workers were idle, as the snapshots say."""
        known = self.sizing
        if known is None:
            return 0
        return max(known.starved_entries, known.target_entries if known.starved_steps else 0)

    def open(self, start: int, now_ms: int) -> Window:
        """Open the next window at `start`."""
        target = min(self.target_entries, self._options.windows.span_max)
        window = Window(self._next_id, start, target, self._options, now_ms)
        self._next_id += 1
        return window

    def forget_target(self) -> None:
        """Size the windows that an interrupted run has not opened as the options say."""
        if not self._options.windows.adaptive:
            self.target_entries, self.sizing = self._options.windows.entries, None

    def restore(self, id_: int, target_entries: int, sizing: SizingSnapshot | None) -> None:
        """Give the next window the id and size that it had in an interrupted run."""
        self._next_id = id_
        self.target_entries = target_entries
        self.sizing = sizing

    def skip_committed(self, count: int) -> None:
        """Drop the first `count` items of `carry`: their windows are closed."""
        self._hash.update(_encode_items([self.carry.popleft() for _ in range(count)]))

    def fill(self, window: Window, *, committed_end: int = 0) -> bool:
        """Move items from `carry` into the window and return whether it is full. Items below `committed_end` are
        done."""
        carry, limits = self.carry, self._options.windows
        while carry and window.entries < window.target_entries:
            items = list(islice(carry, min(window.target_entries - window.entries, _SLICE)))
            repeated = items[0] if all(map(is_, items, repeat(items[0]))) else None
            costs, sizes = _list_weights(items, repeated)
            costs_after = list(accumulate(costs, initial=window.predicted_cost))
            sizes_after = list(accumulate(sizes, initial=window.predicted_bytes))
            fitting = min(bisect_right(costs_after, limits.cost_max), bisect_right(sizes_after, limits.bytes_max)) - 1
            count = fitting
            if not window.entries + fitting:
                window.is_oversize = True
                count = 1
            window.predicted_cost, window.predicted_bytes = costs_after[count], sizes_after[count]
            self._place(window, items[:count], repeated, committed_end)
            if fitting < len(items):
                return True
        return window.entries == window.target_entries

    def _place(self, window: Window, items: list[PlanItem], repeated: PlanItem | None, committed_end: int) -> None:
        """Move the first items of `carry` into the window. `repeated`: all of them are this one."""
        for _ in items:
            self.carry.popleft()
        start = max(window.end, committed_end)
        fresh = items[start - window.end :]
        if repeated is not None:
            runs = [(repeated.batch_key, [repeated.cost] * len(fresh))] if fresh else []
            encoded = _encode_item(repeated) * len(items)
            window.size_bytes_max = max(window.size_bytes_max, repeated.size_bytes)
        else:
            groups = groupby(fresh, attrgetter("batch_key"))
            runs = [(key, [item.cost for item in group]) for key, group in groups]
            encoded = _encode_items(items)
            window.size_bytes_max = max([window.size_bytes_max, *[item.size_bytes for item in items]])
        for key, costs in runs:
            window.ready.add_fresh(range(start, start + len(costs)), costs, key)
            start += len(costs)
        self._hash.update(encoded)
        if repeated is None or repeated.is_part:
            window.parts.update(seq for seq, item in enumerate(items, start=window.end) if item.is_part)
        window.end += len(items)

    def seal(self, window: Window) -> SealedWindow:
        """Fix the bounds of the window."""
        window.is_sealed = True
        return SealedWindow(
            id=window.id,
            start=window.start,
            end=window.end - 1,
            predicted_cost=window.predicted_cost,
            predicted_bytes=window.predicted_bytes,
            entries=window.entries,
            oversize=window.is_oversize,
            seed_hash=self._hash.hexdigest(),
        )

    def resize(self, snapshot: SizingSnapshot) -> None:
        """Choose the size of the windows opened from now on."""
        self.sizing = snapshot
        self.target_entries = choose_target(self._options.windows, snapshot)[0]


def _list_weights(items: list[PlanItem], repeated: PlanItem | None) -> tuple[list[float], list[int]]:
    """List the costs of items, and their bytes in `windows.bytes_max`. `repeated`: all of them are this one."""
    if repeated is not None:
        return [repeated.cost] * len(items), [repeated.size_bytes or repeated.input_bytes] * len(items)
    return [item.cost for item in items], [item.size_bytes or item.input_bytes for item in items]


def _encode_items(items: list[PlanItem]) -> bytes:
    """Encode items, one by one, so that the result does not depend on how many items a `Planned` held. An id may not be
    valid Unicode (file names need not be), and a cost may be a number of any class."""
    try:
        return _JSON.encode_lines(items)
    except (TypeError, UnicodeEncodeError):
        return b"".join(_encode_item(item) for item in items)


def _encode_item(item: PlanItem) -> bytes:
    try:
        return _JSON.encode(item) + b"\n"
    except (TypeError, UnicodeEncodeError):
        return ascii(msgspec.structs.astuple(item)).encode() + b"\n"


def _list_cutting_options(options: WindowOptions) -> list[object]:
    """List the options that decide where the plan is cut."""
    return [
        options.entries,
        options.entries_min,
        options.entries_max,
        options.span_max,
        options.cost_max,
        options.bytes_max,
        options.adaptive,
    ]


def choose_target(options: WindowOptions, snapshot: SizingSnapshot) -> tuple[int, str]:
    """Choose the next target and say why.

    Buffered bytes or resident memory above its soft mark halve it. Otherwise idle workers enlarge it to what they could
    have computed meanwhile. If no worker was idle, retries and commit lag halve it. Nothing shrinks it to a size with
    which workers were idle before, so that it does not swing between two sizes.
    """
    target = snapshot.target_entries
    half = max(options.entries_min, target // 2)
    smaller = half if half > 2 * snapshot.starved_entries else target
    if snapshot.used_bytes > snapshot.bytes_soft:
        return smaller, "shrink: buffered bytes above the soft mark"
    if snapshot.resident_bytes > snapshot.resident_bytes_soft:
        return smaller, "shrink: resident memory above the soft mark"
    if snapshot.starved_steps:
        return min(options.entries_max, target * _choose_growth(snapshot)), "grow: workers were idle"
    if snapshot.retries * 4 >= snapshot.entries:
        return smaller, "shrink: a quarter of the window was retried"
    if snapshot.commit_lag > options.lag_entries:
        return smaller, "shrink: the commit lag is above its mark"
    return target, "keep"


def _choose_growth(snapshot: SizingSnapshot) -> int:
    """Choose the factor: the time since the last close, as a multiple of the part of it before workers were idle."""
    busy_ms = max(1, snapshot.elapsed_ms - snapshot.starved_ms)
    return max(GROWTH_MIN, min(GROWTH_MAX, -(-snapshot.elapsed_ms // busy_ms)))
