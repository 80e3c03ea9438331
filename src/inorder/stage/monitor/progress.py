"""How far a stage is, for whoever watches: a bar on a terminal, a line every few seconds elsewhere; on stderr."""

import contextlib
import sys
from collections import Counter, deque
from typing import Any, NamedTuple, Protocol, TextIO

from .histograms import Slowest

_RATE_SAMPLES = 12


class Standing(NamedTuple):
    """Where a stage stands."""

    stage: str
    total: int | None
    succeeded: int
    skipped: int
    failed: int
    elapsed_s: float
    in_flight: int = 0
    buffered_bytes: int = 0
    commit_lag: int = 0

    @property
    def done(self) -> int:
        """Items with an outcome."""
        return self.succeeded + self.skipped + self.failed


class Rate:
    """Items a second, over the last samples."""

    def __init__(self, done: int) -> None:
        self._samples: deque[tuple[float, int]] = deque([(0.0, done)], maxlen=_RATE_SAMPLES)

    def sample(self, standing: Standing) -> float:
        """Take one, and say how fast it goes."""
        first_s, first_done = self._samples[0]
        self._samples.append((standing.elapsed_s, standing.done))
        elapsed_s = standing.elapsed_s - first_s
        return (standing.done - first_done) / elapsed_s if elapsed_s > 0 else 0.0


def eta(standing: Standing, rate: float) -> str:
    """When it will be done, if it goes on like this."""
    if standing.total is None or rate <= 0:
        return "--:--:--"
    seconds = int((standing.total - standing.done) / rate)
    return f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"


def line(standing: Standing, rate: float) -> str:
    """All of it in one line."""
    total = "?" if standing.total is None else str(standing.total)
    return (
        f"[{standing.stage}] {standing.done}/{total} | succ {standing.succeeded} | skip {standing.skipped} | "
        f"fail {standing.failed} | {rate:.1f} it/s | ETA {eta(standing, rate)}"
    )


def stopping(stage: str, reason: str, grace_ms: int) -> str:
    """What is said when a run is asked to stop."""
    if grace_ms <= 0:
        return f"[{stage}] stopping now: {reason}"
    grace = f"what is under way has {grace_ms / 1000:g} s to end, Ctrl-C again ends it now"
    return f"[{stage}] stopping: {reason}; {grace}"


def details(slowest: Slowest, categories: Counter[str]) -> list[str]:
    """What `-v` adds."""
    lines = []
    if slowest.items:
        shown = ", ".join(f"{item_id} {exec_ms / 1000:.2f}s" for exec_ms, item_id in slowest.items)
        lines.append(f"  slowest: {shown}")
    if categories:
        found = Counter(categories)  # others go on counting
        shown = ", ".join(f"{category} {count}" for category, count in found.most_common(5))
        lines.append(f"  errors: {shown}")
    return lines


class Display(Protocol):
    """Shows where a stage stands."""

    interval_s: float

    def show(self, standing: Standing, slowest: Slowest, categories: Counter[str]) -> None:
        """Called every `interval_s`."""
        ...

    def say(self, message: str) -> None:
        """A line out of turn."""
        ...

    def close(self, standing: Standing, slowest: Slowest, categories: Counter[str]) -> None:
        """The last word."""
        ...

    def stop(self) -> None:
        """Show nothing more."""
        ...


class Silence:
    """Shows nothing."""

    interval_s = 3600.0

    def show(self, standing: Standing, slowest: Slowest, categories: Counter[str]) -> None:
        """Nothing."""

    def say(self, message: str) -> None:
        """Nothing."""

    def close(self, standing: Standing, slowest: Slowest, categories: Counter[str]) -> None:
        """Nothing."""

    def stop(self) -> None:
        """Nothing."""


class Lines:
    """A line an interval, and one at the end."""

    def __init__(self, stream: TextIO, interval_s: float, done: int, *, verbose: bool) -> None:
        self.interval_s = interval_s
        self._stream = stream
        self._rate = Rate(done)
        self._start = done
        self._verbose = verbose

    def show(self, standing: Standing, slowest: Slowest, categories: Counter[str]) -> None:
        """One more line."""
        self._print(standing, self._rate.sample(standing), slowest, categories)

    def say(self, message: str) -> None:
        """One more line."""
        with contextlib.suppress(OSError, ValueError):
            print(message, file=self._stream, flush=True)

    def close(self, standing: Standing, slowest: Slowest, categories: Counter[str]) -> None:
        """The whole of it: the rate is that of the whole run."""
        rate = (standing.done - self._start) / standing.elapsed_s if standing.elapsed_s > 0 else 0.0
        self._print(standing, rate, slowest, categories)

    def stop(self) -> None:
        """There is nothing to take away."""

    def _print(self, standing: Standing, rate: float, slowest: Slowest, categories: Counter[str]) -> None:
        lines = [line(standing, rate), *(details(slowest, categories) if self._verbose else ())]
        with contextlib.suppress(OSError, ValueError):  # nobody reads it any more
            self._stream.write("".join(f"{each}\n" for each in lines))
            self._stream.flush()


class Bar:
    """A bar that moves."""

    interval_s = 0.2

    def __init__(self, stream: TextIO, stage: str, total: int | None, done: int, *, verbose: bool) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

        columns: list[Any] = [
            TextColumn("[bold]{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[said]}"),
        ]
        self._bar = Progress(*columns, console=Console(file=stream, highlight=False), transient=False)
        self._task = self._bar.add_task(stage, total=total, completed=done, said="")
        self._rate = Rate(done)
        self._verbose = verbose
        self._bar.start()

    def show(self, standing: Standing, slowest: Slowest, categories: Counter[str]) -> None:
        """Move it."""
        rate = self._rate.sample(standing)
        said = (
            f"succ {standing.succeeded} skip {standing.skipped} fail {standing.failed} | {rate:.1f} it/s | "
            f"ETA {eta(standing, rate)} | {standing.in_flight} in flight | "
            f"{standing.buffered_bytes / 2**20:.1f} MB buffered | lag {standing.commit_lag}"
        )
        self._bar.update(self._task, completed=standing.done, said=said)

    def say(self, message: str) -> None:
        """A line above it."""
        with contextlib.suppress(OSError, ValueError):
            self._bar.console.print(message, markup=False)

    def close(self, standing: Standing, slowest: Slowest, categories: Counter[str]) -> None:
        """Leave it where it ended."""
        with contextlib.suppress(OSError, ValueError):
            self.show(standing, slowest, categories)
            self.stop()
            for detail in details(slowest, categories) if self._verbose else ():
                self._bar.console.print(detail, markup=False)

    def stop(self) -> None:
        """Let the terminal go."""
        self._bar.stop()


def display(mode: str, stage: str, total: int | None, done: int, interval_s: float, *, verbose: bool) -> Display:
    """What suits the place that stderr goes to."""
    stream = sys.stderr
    if mode == "none" or stream is None:
        return Silence()
    if mode == "bar" or (mode == "auto" and stream.isatty()):
        return Bar(stream, stage, total, done, verbose=verbose)
    return Lines(stream, interval_s, done, verbose=verbose)
