"""The loop of a watch: wait for changes, gather them, run, and again.

It ends by a signal, by an error that a person has to look at (an operator error before the first run is complete,
damaged data), and by nothing else. What may pass by itself is retried: DATA in use by another run, a full disk, a
machine that failed. While a source is not there nothing is run, and the documents of the source stay in DATA.

A run is told at which paths something may have changed, and looks at nothing else. It compares everything if that is
not known, and after a run that was not complete: the changes before it may not have been seen.
"""

from collections.abc import Callable, Sequence

from inorder.errors import BusyError, InfrastructureError, OperatorError
from inorder.host.clock import Clock

from .changes import GatherWindow, SourceChanges
from .contracts import RunResult, WatchObserver
from .feed import SourceFeed
from .options import WatchOptions

BACKOFF_MS, BACKOFF_MS_MAX = 1_000, 60_000
_LOOK_MS = 1_000
"""Between two looks whether the sources are still there, which no event may show."""
_RETRYABLE = (InfrastructureError, OperatorError, OSError)
_COMPLETE = (0, 3)
"""Exit codes of runs that have looked at everything they were told of: files may have failed."""
RunOnce = Callable[[frozenset[str] | None], RunResult]
"""Runs once. Gets the paths at which something may have changed; None: everything is compared."""


class Watcher:
    """Runs again whenever the sources have changed. The clock, the feed and the run are passed in."""

    def __init__(
        self,
        feed: SourceFeed,
        run: RunOnce,
        observers: Sequence[WatchObserver],
        clock: Clock,
        options: WatchOptions,
    ) -> None:
        self._feed = feed
        self._run_once = run
        self._observers = observers
        self._clock = clock
        self._window = GatherWindow(int(options.settle_s * 1000), int(options.settle_s_max * 1000))
        self._runs = 0
        self._has_run = False
        """Whether a run was complete: settings and sources are usable."""
        self._is_current = False
        """Whether the last run was complete, so that only later changes matter."""
        self._absence = ""
        self._failures = 0
        self._retry_ms: int | None = None

    def watch(self) -> int:
        """Run now and after every change, until a signal stops a run. Returns the exit code."""
        result = self._run(SourceChanges())
        while not result.is_interrupted:
            self._wait_until_due()
            result = self._run(self._window.take())
        return result.exit_code

    def _wait_until_due(self) -> None:
        """Wait until there is a reason for a run, and all sources are there."""
        while True:
            now_ms = self._clock.now_ms()
            is_absent = self._check_sources(now_ms)
            due_ms = self._find_due()
            if not is_absent and due_ms is not None and due_ms <= now_ms:
                return
            wait_ms = _LOOK_MS if is_absent or due_ms is None else min(_LOOK_MS, due_ms - now_ms)
            changes = self._feed.wait(wait_ms)
            if changes.count:
                self._window.add(self._clock.now_ms(), changes)
                for observer in self._observers:
                    observer.on_changes(self._window.changes)

    def _find_due(self) -> int | None:
        """When the next run starts; None: nothing is pending. A change does not cut a wait for a retry short."""
        return self._window.due_ms if self._retry_ms is None else self._retry_ms

    def _check_sources(self, now_ms: int) -> bool:
        """Whether a source is missing. One that has returned counts as a change."""
        absences = "; ".join(self._feed.find_absences())
        if absences != self._absence:
            for observer in self._observers:
                observer.on_waiting(absences)
            if not absences:
                self._window.add(now_ms, SourceChanges(1))
            self._absence = absences
        return bool(absences)

    def _run(self, changes: SourceChanges) -> RunResult:
        self._runs += 1
        began_ms = self._clock.now_ms()
        for observer in self._observers:
            observer.on_run_started(self._runs, changes)
        self._retry_ms = None
        try:
            self._feed.prepare()
            result = self._run_once(changes.hints if self._is_current else None)
        except _RETRYABLE as error:
            if isinstance(error, OperatorError) and not isinstance(error, BusyError) and not self._has_run:
                raise
            result = RunResult(getattr(error, "exit_code", 1), str(error))
        self._is_current = not result.problem and result.exit_code in _COMPLETE
        for observer in self._observers:
            observer.on_run_ended(self._runs, result, self._clock.now_ms() - began_ms)
        if result.problem:
            self._plan_retry(result.problem)
        else:
            self._failures, self._has_run = 0, True
        return result

    def _plan_retry(self, problem: str) -> None:
        wait_ms = min(BACKOFF_MS << min(self._failures, 16), BACKOFF_MS_MAX)
        self._failures += 1
        self._retry_ms = self._clock.now_ms() + wait_ms
        for observer in self._observers:
            observer.on_retry(problem, wait_ms)
