"""Progress of a stage, on stderr: a bar on a terminal, otherwise a line per interval."""

import contextlib
import sys
from collections import Counter, deque
from typing import Any, NamedTuple, TextIO

from inorder.core.commands import OutageChanged
from inorder.core.options import DRAIN_MS

from .histograms import SlowestItems
from .stall import HeadReport, StallEnded

_RATE_SAMPLES = 12
_BAR_WIDTH_MAX = 40
_STARTING = "starting"
"""What a bar says before there is a rate."""


class StageProgress(NamedTuple):
    """How far a stage has come."""

    stage: str
    total: int | None
    succeeded: int
    skipped: int
    failed: int
    elapsed_s: float
    in_flight: int = 0
    buffered_bytes: int = 0
    commit_lag: int = 0
    note: str = ""
    """The item that the run waits for, or the progress that it reports."""
    unit: str = ""
    """What items are called; empty: items."""
    requests_retried: int = 0
    """Requests that were sent to servers again."""

    @property
    def done(self) -> int:
        """Items with an outcome."""
        return self.succeeded + self.skipped + self.failed

    def count_outcomes(self, planned_count: int) -> dict[str, int]:
        """Return the counts of an outcome for a run that raised. Of a plan of unknown length, what was read counts."""
        scheduled = max(self.done, planned_count if self.total is None else self.total)
        return {
            "scheduled": scheduled,
            "succeeded": self.succeeded,
            "skipped": self.skipped,
            "failed": self.failed,
            "cancelled": scheduled - self.done,
        }


class Rate:
    """Items per second, over the last samples."""

    def __init__(self, done: int) -> None:
        self._samples: deque[tuple[float, int]] = deque([(0.0, done)], maxlen=_RATE_SAMPLES)

    def sample(self, progress: StageProgress) -> float:
        """Add a sample and return the rate."""
        first_s, first_done = self._samples[0]
        self._samples.append((progress.elapsed_s, progress.done))
        elapsed_s = progress.elapsed_s - first_s
        return (progress.done - first_done) / elapsed_s if elapsed_s > 0 else 0.0


def measure_rate(progress: StageProgress, start: int) -> float:
    """Return the items per second of the whole run, which began with so many done."""
    return (progress.done - start) / progress.elapsed_s if progress.elapsed_s > 0 else 0.0


def format_eta(progress: StageProgress, rate: float) -> str:
    """Format the time that is left at this rate, as hours, minutes and seconds."""
    if progress.total is None or rate <= 0:
        return "--:--:--"
    seconds = int((progress.total - progress.done) / rate)
    return f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"


def format_left(progress: StageProgress, rate: float) -> str:
    """Format the time that is left in words; empty: nothing is left, or the time is not known."""
    if progress.total is None or rate <= 0 or progress.done >= progress.total:
        return ""
    seconds = int((progress.total - progress.done) / rate)
    hours = f"{seconds // 3600}:{seconds // 60 % 60:02}" if seconds >= 3600 else str(seconds // 60)
    return f"{hours}:{seconds % 60:02} left"


def format_line(progress: StageProgress, rate: float) -> str:
    """Format progress as one line."""
    total = "?" if progress.total is None else str(progress.total)
    unit = f" {progress.unit}" if progress.unit else ""
    return (
        f"[{progress.stage}] {progress.done}/{total}{unit} | {_format_counts(progress, ' | ')} | "
        f"{_format_rate(progress, rate)}" + (f" | {progress.note}" if progress.note else "")
    )


def _format_counts(progress: StageProgress, separator: str) -> str:
    counts = (f"succ {progress.succeeded}", f"skip {progress.skipped}", f"fail {progress.failed}")
    count = progress.requests_retried
    retried = [f"{count} request{'s' if count > 1 else ''} retried"] if count else []
    return separator.join([*([f"{progress.failed} failed"] if progress.unit else counts), *retried])


def _format_rate(progress: StageProgress, rate: float) -> str:
    if progress.unit:
        return " | ".join(filter(None, (f"{rate:.1f} {progress.unit}/s", format_left(progress, rate))))
    return f"{rate:.1f} it/s | ETA {format_eta(progress, rate)}"


def format_stalled(stage: str, head: HeadReport, waited_s: float) -> str:
    """Format the line that announces a stall."""
    return f"[{stage}] no commit for {waited_s:.0f} s; waiting for {head.describe()}"


def format_stall_ended(stage: str, ended: StallEnded) -> str:
    """Format the line that announces the end of a stall."""
    return f"[{stage}] committing again after {ended.waited_s:.0f} s of waiting for {ended.head.name}"


def format_stopping(stage: str, reason: str, grace_ms: int) -> str:
    """Format the line that announces a stop. The seq of an exceeded budget says nothing to a user."""
    reason = reason.partition(" at seq ")[0]
    if grace_ms <= 0:
        return f"[{stage}] stopping now: {reason}"
    limit = "" if grace_ms >= DRAIN_MS else f" up to {grace_ms / 1000:g} s"
    hint = "; press Ctrl-C again to stop now" if reason.startswith("received ") else ""
    return f"[{stage}] stopping: {reason}; waiting{limit} for running items{hint}"


def format_outage(stage: str, change: OutageChanged, limit_s: float) -> str:
    """Format the line that announces that the run waits for a server, or goes on."""
    if change.is_over:
        return f"[{stage}] {change.server} answers again after {change.waited_ms / 1000:.0f} s"
    limit = f"{limit_s / 60:g} min" if limit_s >= 120 else f"{limit_s:g} s"
    return f"[{stage}] paused: {change.server} is down ({change.reason}); tried again for {limit}, no file fails for it"


def format_adopting(stage: str, count: int) -> str:
    """Format the line that announces the results of an interrupted run."""
    return f"[{stage}] {count} results of the interrupted run are taken over, unless their files have changed"


def format_details(slowest: SlowestItems, categories: Counter[str]) -> list[str]:
    """Format the lines that `verbose` adds."""
    lines = []
    if slowest.items:
        shown = ", ".join(f"{item_id} {exec_ms / 1000:.2f}s" for exec_ms, item_id in slowest.items)
        lines.append(f"  slowest: {shown}")
    if categories:
        found = Counter(categories)  # a copy: the commit thread keeps counting
        shown = ", ".join(f"{category} {count}" for category, count in found.most_common(5))
        lines.append(f"  errors: {shown}")
    return lines


def fit_details(details: str, width: int, note: str = "") -> str:
    """Leave out the last parts of a line that is too long for a terminal. The note follows the first part, and is the
    last to be left out: first without the folder of its item, then without its name."""
    first, *others = details.split(" | ")
    name, colon, said = note.partition(": ")
    for shown in (note, f"{name.rpartition('/')[2]}{colon}{said}", note.rpartition(": ")[2], ""):
        parts = [first, shown] if shown else [first]
        if len(" | ".join(parts)) <= width:
            break
    else:
        return ""
    while others and len(" | ".join([*parts, *others])) > width:
        others.pop()
    return " | ".join([*parts, *others])


class Display:
    """Shows the progress of a stage. This one shows nothing."""

    interval_s = 3600.0

    def show(self, progress: StageProgress, slowest: SlowestItems, categories: Counter[str]) -> None:
        """Show the current progress. Called every `interval_s`."""

    def announce(self, message: str) -> None:
        """Print a line between two updates."""

    def close(self, progress: StageProgress, slowest: SlowestItems, categories: Counter[str]) -> None:
        """Show the final progress and stop."""

    def stop(self) -> None:
        """Stop without showing anything more."""


class LineDisplay(Display):
    """Prints one line per interval, and one at the end."""

    def __init__(self, stream: TextIO, interval_s: float, done: int, *, verbose: bool) -> None:
        self.interval_s = interval_s
        self._stream = stream
        self._rate = Rate(done)
        self._start = done
        self._verbose = verbose

    def show(self, progress: StageProgress, slowest: SlowestItems, categories: Counter[str]) -> None:
        """Print a line with the rate of the last samples."""
        self._print(progress, self._rate.sample(progress), slowest, categories)

    def announce(self, message: str) -> None:
        """Print the message."""
        with contextlib.suppress(OSError, ValueError):
            print(message, file=self._stream, flush=True)

    def close(self, progress: StageProgress, slowest: SlowestItems, categories: Counter[str]) -> None:
        """Print a line with the rate of the whole run, if it had anything to do."""
        if progress.total != 0:
            self._print(progress, measure_rate(progress, self._start), slowest, categories)

    def _print(self, progress: StageProgress, rate: float, slowest: SlowestItems, categories: Counter[str]) -> None:
        lines = [format_line(progress, rate), *(format_details(slowest, categories) if self._verbose else ())]
        with contextlib.suppress(OSError, ValueError):  # the reader has closed the pipe
            self._stream.write("".join(f"{line}\n" for line in lines))
            self._stream.flush()


class BarDisplay(Display):
    """A progress bar on a terminal."""

    interval_s = 0.2

    def __init__(self, stream: TextIO, stage: str, total: int | None, done: int, *, verbose: bool) -> None:
        from rich.console import Console
        from rich.markup import escape
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
        from rich.table import Column

        console = Console(file=stream, highlight=False)
        self._bar_width = min(_BAR_WIDTH_MAX, console.width // 4)
        columns: list[Any] = [
            TextColumn("[bold]{task.description}"),
            BarColumn(bar_width=self._bar_width),
            MofNCompleteColumn(table_column=Column(no_wrap=True)),
            TextColumn("{task.fields[details]}"),
        ]
        self._bar = Progress(*columns, console=console, transient=False)
        self._task = self._bar.add_task(stage, total=total, completed=done, details="")
        self._rate = Rate(done)
        self._start = done
        self._verbose = verbose
        self._escape = escape
        self._bar.start()

    def show(self, progress: StageProgress, slowest: SlowestItems, categories: Counter[str]) -> None:
        """Move the bar."""
        self._update(progress, self._rate.sample(progress))

    def _update(self, progress: StageProgress, rate: float) -> None:
        counts, speed = _format_counts(progress, " "), _format_rate(progress, rate)
        if progress.unit:
            parts = [
                speed if progress.done else _STARTING,
                *([counts] if progress.failed or progress.requests_retried else []),
            ]
        else:
            parts = [counts, speed]
        if self._verbose:
            parts += [f"{progress.in_flight} in flight", f"{progress.buffered_bytes / 2**20:.1f} MB buffered"]
            parts.append(f"lag {progress.commit_lag}")
        details = " | ".join(parts)
        taken = len(f"{progress.stage}  {progress.done}/{progress.total}  ") + self._bar_width
        fitting = self._escape(fit_details(details, self._bar.console.width - taken, progress.note))
        self._bar.update(self._task, total=progress.total, completed=progress.done, details=fitting)

    def announce(self, message: str) -> None:
        """Print the message above the bar."""
        with contextlib.suppress(OSError, ValueError):
            self._bar.console.print(message, markup=False)

    def close(self, progress: StageProgress, slowest: SlowestItems, categories: Counter[str]) -> None:
        """Leave the bar at its final position."""
        with contextlib.suppress(OSError, ValueError):
            self._update(progress, measure_rate(progress, self._start))
            self.stop()
            for line in format_details(slowest, categories) if self._verbose else ():
                self._bar.console.print(line, markup=False)

    def stop(self) -> None:
        """Release the terminal."""
        self._bar.stop()


def open_display(mode: str, stage: str, total: int | None, done: int, interval_s: float, *, verbose: bool) -> Display:
    """Open the display of this mode; `auto` opens a bar if stderr is a terminal, and prints lines otherwise."""
    stream = sys.stderr
    if mode == "none" or stream is None:
        return Display()
    if mode == "bar" or (mode == "auto" and stream.isatty()):
        return BarDisplay(stream, stage, total, done, verbose=verbose)
    return LineDisplay(stream, interval_s, done, verbose=verbose)
