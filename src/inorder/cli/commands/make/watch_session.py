"""Runs a watch for the command: the lock, the sources, the runs, and what is printed about them."""

import datetime
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from inorder.cli.exit_codes import Exit, raise_interrupts
from inorder.cli.extras import require_extra
from inorder.cli.output import claim_stdout, info, pluralize, print_json, to_one_line
from inorder.cli.output import error as print_error
from inorder.cli.parameters import Given
from inorder.cli.pipeline import read_run_settings, report_run, run_all
from inorder.cli.settings import Settings, SettingsReader
from inorder.errors import require
from inorder.host.clock import Clock, SystemClock
from inorder.host.filesystem import SystemFilesystem
from inorder.pipeline.outcome import RunOutcome, describe_counts
from inorder.pipeline.passes import KeptBetweenRuns
from inorder.sources.address import resolve_source
from inorder.stage.data_layout import require_current_data, require_directory
from inorder.watch.changes import SourceChanges
from inorder.watch.contracts import RunResult
from inorder.watch.feed import SourceFeed
from inorder.watch.loop import Watcher
from inorder.watch.options import WatchOptions
from inorder.watch.polling import RemoteSource
from inorder.watch.retention import prune_telemetry
from inorder.watch.source import LocalSource
from inorder.watch.status import StatusWriter, WatchPlace

_INTERRUPTED = (Exit.INTERRUPTED, Exit.TERMINATED)


def run_watch(sources: Sequence[str], options: WatchOptions, given: Given, *, as_json: bool) -> int:
    """Watch the sources until a signal comes. Returns the exit code."""
    require_extra("ingest")
    require_extra("watch")
    claim_stdout()
    settings = read_run_settings(SettingsReader(given))
    for source in map(resolve_source, sources):
        require(isinstance(source, str) or source.exists(), f"no such file or directory: {source}")
    require_directory(settings.data)
    require_current_data(settings.data)
    place = WatchPlace(settings.data)
    lock = place.lock()
    try:
        with raise_interrupts():
            return _watch(place, sources, options, given, settings, as_json=as_json)
    finally:
        lock.release()


def _watch(
    place: WatchPlace,
    sources: Sequence[str],
    options: WatchOptions,
    given: Given,
    settings: Settings,
    *,
    as_json: bool,
) -> int:
    """Watch, under the lock."""
    clock = SystemClock()
    excluded = _list_excluded(settings)
    resolved = [resolve_source(source) for source in sources]
    local = [LocalSource(os.fspath(source), excluded) for source in resolved if isinstance(source, Path)]
    remote = [RemoteSource(source) for source in resolved if isinstance(source, str)]
    printer = WatchPrinter(clock, is_quiet=settings.is_quiet, as_json=as_json)
    status = StatusWriter(place, SystemFilesystem(), clock, list(sources))
    feed = SourceFeed(local, remote, clock, int(options.poll_s * 1000), printer.warn, status.on_listed)
    kept = KeptBetweenRuns()
    runs = _Runs(sources, given, printer, kept)
    started_ms = clock.wall_ms()

    def run(hints: frozenset[str] | None) -> RunResult:
        try:
            return runs.run(hints)
        finally:
            prune_telemetry(SystemFilesystem(), settings.data, started_ms, options.keep_runs)

    printer.announce(sources, options)
    problem = ""
    try:
        return Watcher(feed, run, [status, printer], clock, options).watch()
    except Exception as error:
        problem = str(error)
        raise
    finally:
        feed.close()
        kept.close()
        status.end(problem)


def _list_excluded(settings: Settings) -> set[str]:
    """What the runs write themselves, which may lie below a source."""
    values = (settings.values[name].value for name in ("data", "telemetry_dir", "metrics_file"))
    paths = {os.path.abspath(value) for value in values if value}
    return paths | {f"{path}.new" for path in paths}


class _Runs:
    """Runs the pipeline. The first run prints what `inorder run` prints. Later ones are summed up by the printer, and
    show progress on a terminal only."""

    def __init__(self, sources: Sequence[str], given: Given, printer: "WatchPrinter", kept: KeptBetweenRuns) -> None:
        self._sources = sources
        self._given = given
        self._printer = printer
        self._kept = kept
        self._is_first = True
        self._warned: frozenset[str] = frozenset()
        """What the latest run has warned of."""

    def run(self, hints: frozenset[str] | None) -> RunResult:
        """Run once. `hints` are the only paths that may have changed; None: everything is compared."""
        is_silent = not self._is_first and not sys.stderr.isatty()
        given = {**self._given, "quiet": True} if is_silent else dict(self._given)
        if not self._is_first:
            given.pop("recreate", None)
        outcome, code = run_all(self._sources, given, hints=hints, kept=self._kept, report=self._report)
        self._is_first = False
        self._printer.outcome = outcome
        problem = outcome.cancel_reason or "the run failed" if code == Exit.FAILED else ""
        return RunResult(code, problem, is_interrupted=code in _INTERRUPTED)

    def _report(self, outcome: RunOutcome) -> None:
        if self._is_first or outcome.stop_kind is not None:
            report_run(outcome, read_run_settings(SettingsReader(self._given)))
        else:
            for warning in outcome.warnings:
                if warning not in self._warned:
                    self._printer.warn(warning)
        self._warned = frozenset(outcome.warnings)


class WatchPrinter:
    """Prints what a watch does: lines on stderr, or JSON lines on stdout."""

    def __init__(self, clock: Clock, *, is_quiet: bool, as_json: bool) -> None:
        self._clock = clock
        self._is_quiet = is_quiet
        self._as_json = as_json
        self._problem = ""
        self.outcome: RunOutcome | None = None
        """Of the latest run; None: it has none."""

    def announce(self, sources: Sequence[str], options: WatchOptions) -> None:
        """Say what is watched."""
        times = f"{options.settle_s:g} s after the last change, at most {options.settle_s_max:g} s after the first"
        message = f"watching {', '.join(sources)}: a run starts {times}"
        self._print("watching", message, sources=sources, **msgspec.to_builtins(options))

    def warn(self, message: str) -> None:
        """Print a problem that does not end the watch."""
        self._print("warning", message, is_problem=True)

    def on_changes(self, changes: SourceChanges) -> None:
        """Nothing is printed until a run starts."""

    def on_run_started(self, number: int, changes: SourceChanges) -> None:
        """Announce a run."""
        self.outcome = None
        paths = ", ".join(changes.paths)
        more = f" and {changes.count - len(changes.paths)} more" if changes.count > len(changes.paths) else ""
        message = f"run {number}: {pluralize(changes.count, 'change')} in {paths}{more}" if paths else f"run {number}"
        self._print("run_started", message, run=number, changes=changes.count, paths=changes.paths)

    def on_run_ended(self, number: int, result: RunResult, duration_ms: int) -> None:
        """Sum up a run."""
        outcome = self.outcome
        counts = "" if outcome is None else describe_counts(outcome.counts)
        message = f"run {number}: {counts}   in {duration_ms / 1000:.1f} s"
        if not result.problem:
            self._problem = ""
        fields = {"exit_code": result.exit_code, "duration_ms": duration_ms, "outcome": outcome}
        is_problem = result.exit_code != Exit.DONE
        self._print("run_ended", message if outcome is not None else "", is_problem=is_problem, run=number, **fields)

    def on_waiting(self, reason: str) -> None:
        """Say that sources are missing, or are there again."""
        if reason:
            self._print("waiting", f"{reason}; nothing is run until it is there again", is_problem=True, reason=reason)
        else:
            self._print("returned", "all sources are there again", is_problem=True)

    def on_retry(self, problem: str, wait_ms: int) -> None:
        """Say why a run failed, once per reason."""
        is_known, self._problem = problem == self._problem, problem
        message = "" if is_known else f"{problem}; trying again, first after {wait_ms / 1000:g} s"
        self._print("retrying", message, is_problem=True, problem=problem, wait_ms=wait_ms)

    def _print(self, event: str, message: str, *, is_problem: bool = False, **fields: Any) -> None:
        if self._as_json:
            print_json({"event": event, "time_ms": self._clock.wall_ms(), "message": message, **fields})
        if not message:
            return
        if is_problem:
            print_error(message)
        elif not self._is_quiet:
            now = datetime.datetime.fromtimestamp(self._clock.wall_ms() / 1000)
            info(f"{now:%H:%M:%S} {to_one_line(message)}")
