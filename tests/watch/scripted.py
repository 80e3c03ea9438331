"""A feed, a run and an observer that follow a script, on a virtual clock."""

from collections.abc import Callable, Sequence
from typing import Any

from inorder.testing import VirtualClock
from inorder.watch.changes import SourceChanges
from inorder.watch.contracts import RunResult
from inorder.watch.loop import Watcher
from inorder.watch.options import WatchOptions

DONE = RunResult(0)
END = RunResult(143, is_interrupted=True)


class Script:
    """What happens, and when. A run may take time and have changes happen meanwhile."""

    def __init__(self, events: Sequence[tuple[int, SourceChanges]] = (), results: Sequence[Any] = ()) -> None:
        self.clock = VirtualClock()
        self.events = list(events)
        self.results = list(results)
        self.run_ms = 100
        self.absent: Callable[[int], list[str]] = lambda now_ms: []
        self.runs: list[tuple[int, int]] = []
        """When each run started, and the number of changes before it."""
        self.hints: list[frozenset[str] | None] = []
        """What each run was told of."""
        self.seen: list[tuple[Any, ...]] = []
        self.prepared = 0
        self.observers: list[Any] = []

    def watch(self, **options: Any) -> int:
        return Watcher(self, self.run, [self, *self.observers], self.clock, WatchOptions(**options)).watch()

    # ---- the feed

    def prepare(self) -> None:
        self.prepared += 1

    def find_absences(self) -> list[str]:
        return self.absent(self.clock.now_ms())

    def wait(self, timeout_ms: int) -> SourceChanges:
        assert timeout_ms > 0, "the loop spins"
        until_ms = self.clock.now_ms() + timeout_ms
        if not self.events or self.events[0][0] > until_ms:
            self.clock.advance_to(until_ms)
            return SourceChanges()
        at_ms, changes = self.events.pop(0)
        self.clock.advance_to(at_ms)
        return changes

    # ---- the run: the last result is an interruption

    def run(self, hints: frozenset[str] | None) -> RunResult:
        self.hints.append(hints)
        self.clock.advance_to(self.clock.now_ms() + self.run_ms)
        result = self.results.pop(0) if self.results else END
        if isinstance(result, BaseException):
            raise result
        assert isinstance(result, RunResult)
        return result

    # ---- the observer

    def on_changes(self, changes: SourceChanges) -> None:
        self.seen.append(("changes", changes.count))

    def on_run_started(self, number: int, changes: SourceChanges) -> None:
        self.runs.append((self.clock.now_ms(), changes.count))

    def on_run_ended(self, number: int, result: RunResult, duration_ms: int) -> None:
        self.seen.append(("ended", result.exit_code))

    def on_waiting(self, reason: str) -> None:
        self.seen.append(("waiting", reason))

    def on_retry(self, problem: str, wait_ms: int) -> None:
        self.seen.append(("retry", problem, wait_ms))

    def list_seen(self, kind: str) -> list[tuple[Any, ...]]:
        return [each[1:] for each in self.seen if each[0] == kind]
