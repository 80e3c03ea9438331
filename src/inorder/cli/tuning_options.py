"""Options for the tuning of a run: its windows and its budgets. Most runs need none of them."""

from functools import partial

from inorder.cli.option_spec import OptionSpec, Section, make_part_option
from inorder.cli.option_types import FlagType, IntegerType, NumberType, SecondsType, SizeType
from inorder.core.options import ENTRIES_MAX

_ENTRIES = IntegerType(1, ENTRIES_MAX, "auto", "items")
_COUNT = IntegerType(1, 2**62, "none", "items")
_COUNT_OR_AUTO = IntegerType(1, 2**62, "auto", "items")
_windows = partial(make_part_option, Section.EXECUTION, "windows")
_budgets = partial(make_part_option, Section.EXECUTION, "budgets")

TUNING = (
    _windows(
        "entries",
        _ENTRIES,
        "Items per window. Two windows are open: how far a run goes ahead of a slow item.",
        meanings={"auto": "1024; on Ray, at least 64 per worker"},
    ),
    _windows(
        "adaptive",
        FlagType(),
        "Enlarge the next window after idle workers, halve it after too many bytes, retries or commit lag.",
    ),
    _windows("entries_min", _ENTRIES, "Fewest items per adaptive window.", meanings={"auto": "64"}),
    _windows("entries_max", _ENTRIES, "Most items per adaptive window.", meanings={"auto": "8192"}),
    _windows("cost_max", NumberType("none", unit="cost"), "Most predicted cost per window."),
    _windows("bytes_max", SizeType("none"), "Most predicted bytes per window, by the size of inputs."),
    _windows(
        "retries_max",
        IntegerType(0, 2**30, "none", unit="retries"),
        "Most retries per window; not with adaptive windows.",
    ),
    _windows("aged_s", SecondsType(), "Start the first waiting item of a window that has been open for longer first."),
    OptionSpec(
        Section.EXECUTION,
        "buffered_bytes_max",
        SizeType(),
        "Most bytes of results that wait to be committed. Above it, only the next item in order is started.",
    ),
    _budgets(
        "buffered_bytes_soft",
        SizeType("auto"),
        "Slow down above this many bytes of waiting results.",
        meanings={"auto": "three quarters of buffered_bytes_max"},
    ),
    _budgets(
        "window_bytes_soft",
        SizeType("auto"),
        "Slow down above this many bytes of waiting results of the first window.",
        meanings={"auto": "three quarters of budgets_window_bytes_hard"},
    ),
    _budgets(
        "window_bytes_hard",
        SizeType("auto"),
        "Pause above this many bytes of waiting results of the first window.",
        meanings={"auto": "buffered_bytes_max"},
    ),
    _budgets(
        "prefetch_bytes_max",
        SizeType("auto"),
        "Most bytes of waiting results of the second window. Above it, only the first is served.",
        meanings={"auto": "half of buffered_bytes_max"},
    ),
    _budgets(
        "commit_lag_soft",
        _COUNT_OR_AUTO,
        "Slow down when results are this many items ahead of the next commit.",
        meanings={"auto": "three quarters of budgets_commit_lag_hard"},
    ),
    _budgets("commit_lag_hard", _COUNT, "Pause when results are this many items ahead of the next commit."),
    _budgets(
        "resident_bytes_soft",
        SizeType("auto"),
        "Slow down above this much resident memory of this process and its workers.",
        meanings={"auto": "three quarters of budgets_resident_bytes_hard"},
    ),
    _budgets("resident_bytes_hard", SizeType("none"), "Pause above this much resident memory. Linux only."),
    _budgets(
        "release_percent",
        IntegerType(1, 99, unit="percent"),
        "Continue when everything is at or below this share of its limit.",
    ),
)
"""The options of `Windows` and `Budgets`, and `buffered_bytes_max`."""
