"""Coverage of the simulator: what must happen in some simulation.

A simulator in which a fault never happens proves nothing about it. Every simulation hits marks: faults that happened,
branches that the kernel took, ways in which runs ended. Over enough seeds every mark of `ALL` must be hit; a test
checks that.
"""

from inorder.core.state import Counters, StopKind

from .scenario import Fate, Faults
from .world import WorldReport

_DECISIONS = (
    "shrink: buffered bytes above the soft mark",
    "shrink: a quarter of the window was retried",
    "shrink: resident memory above the soft mark",
    "shrink: the commit lag is above its mark",
    "grow: workers were idle",
    "keep",
)
_PRESSURE_MOVES = (
    "normal to soft",
    "normal to hard",
    "soft to hard",
    "soft to normal",
    "hard to soft",
    "hard to normal",
)

ALL: tuple[str, ...] = (
    *(f"kernel: {name}" for name in Counters.__struct_fields__),
    *(f"fault: {name}" for name in (*Faults.__struct_fields__, Fate.HOSTILE, Fate.HANG, "clock jump")),
    *(f"stop: {kind}" for kind in StopKind),
    *(f"sizing: {decision}" for decision in _DECISIONS),
    *(f"pressure: {move}" for move in _PRESSURE_MOVES),
    "stop: none",
    "engine caught answering twice",
    "window: oversize",
    "plan: empty",
    "cancelled while computed ahead",
)


def find_marks(report: WorldReport) -> set[str]:
    """Find the marks that this simulation hit."""
    counters = report.statistics
    marks = {f"kernel: {name}" for name in Counters.__struct_fields__ if getattr(counters, name)}
    marks.update(f"fault: {name}" for name in report.faults)
    marks.update(f"sizing: {decision}" for decision in report.books.sizing)
    marks.update(f"pressure: {move}" for move in report.books.pressure_moves)
    summary = report.summary
    if summary is not None:
        marks.add(f"stop: {summary.stop_kind or 'none'}")
        if summary.was_cancelled and report.books.final:
            marks.add("cancelled while computed ahead")
    if report.is_fatal:
        marks.add("engine caught answering twice")
    if report.books.has_oversize_window:
        marks.add("window: oversize")
    if not report.scenario.items:
        marks.add("plan: empty")
    return marks
