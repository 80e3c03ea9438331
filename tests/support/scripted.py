"""A runtime and everything around it: an engine that follows a script, and a clock that stands still."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from inorder.core.commands import Command, CommitRun, Dispatch, Summary
from inorder.core.events import Envelope, Event, Finished, Pulled
from inorder.core.options import KernelOptions
from inorder.core.transitions import State
from inorder.core.windows.plan import PlanItem
from inorder.engines.base import Batch, Task
from inorder.errors import Category, Failure
from inorder.runtime.loop import Runtime
from inorder.sim.clock import VirtualClock

FLAKY = Failure(category=Category.IO, message="flaky", retryable=True)
Line = list[Event] | Callable[[], list[Event]]


def done(worker: int, *seqs: int, attempt: int = 1) -> Finished:
    return Finished(worker, [Envelope(seq, attempt, State.TERMINAL_SUCCESS, f"result {seq}", 8) for seq in seqs])


def failed(worker: int, seq: int, attempt: int = 1) -> Finished:
    return Finished(worker, [Envelope(seq, attempt, State.TERMINAL_FAIL, None, 0, FLAKY)])


class Script:
    """An engine that answers each poll with the next line of its script, and with nothing after the last."""

    def __init__(self, *lines: Line) -> None:
        self._lines = iter(lines)
        self.log: list[tuple[str, Any]] = []
        self.patience_s: list[float | None] = []

    def start(self) -> None:
        self.log.append(("start", None))

    def dispatch(self, batch: Batch) -> None:
        self.log.append(("dispatch", batch))

    def stop_worker(self, worker: int, reason: str) -> None:
        self.log.append(("stop", (worker, reason)))

    def poll(self, timeout_s: float | None) -> list[Event]:
        self.patience_s.append(timeout_s)
        line = next(self._lines, [])
        return line() if callable(line) else line

    def wake(self) -> None:
        self.log.append(("wake", None))

    def drain(self) -> None:
        self.log.append(("drain", None))

    def close(self, grace_s: float = 0.0) -> list[Task]:
        self.log.append(("close", None))
        return []

    def logged(self, name: str) -> list[Any]:
        return [what for logged, what in self.log if logged == name]


class Obedient:
    """An engine whose one worker does each item at the next poll, and keeps nothing."""

    def __init__(self) -> None:
        self._events: list[Event] = []

    def start(self) -> None:
        self._events = [Pulled(0)]

    def dispatch(self, batch: Batch) -> None:
        [task] = batch.tasks
        self._events = [done(0, task.seq, attempt=task.attempt), Pulled(0)]

    def stop_worker(self, worker: int, reason: str) -> None:
        raise AssertionError("nobody is to be stopped")

    def poll(self, timeout_s: float | None) -> list[Event]:
        events, self._events = self._events, []
        return events

    def wake(self) -> None:
        """Nobody ever waits here."""

    def drain(self) -> None:
        """Nothing waits to be started."""

    def close(self, grace_s: float = 0.0) -> list[Task]:
        self._events = []
        return []


def plain(*items: Any) -> Iterator[tuple[PlanItem, Any]]:
    return ((PlanItem(), item) for item in items)


def at_once(run: CommitRun, items: Sequence[Any]) -> int:
    return run.end


class Stage:
    """A runtime with everything around it."""

    def __init__(
        self,
        plan: Iterable[tuple[PlanItem, Any]],
        engine: Any,
        commit: Callable[[CommitRun, Sequence[Any]], int | None] = at_once,
        **settings: Any,
    ) -> None:
        total = settings.pop("total", None)
        self.clock = VirtualClock()
        self.engine = engine
        self.steps: list[tuple[int, Event, Sequence[Command] | None]] = []
        self.runs: list[tuple[list[Envelope], list[Any]]] = []
        self._then = commit
        self.runtime = Runtime(
            plan,
            engine,
            self._commit,
            self.clock,
            options=KernelOptions(**settings),
            total=total,
            observer=lambda *step: self.steps.append(step),
        )

    def _commit(self, run: CommitRun, items: Sequence[Any]) -> int | None:
        self.runs.append((run.envelopes, list(items)))
        return self._then(run, items)

    def turn_until(self, condition: Callable[[], bool]) -> None:
        """Turn without waiting until this is so."""
        for _ in range(20):
            if condition():
                return
            self.runtime.turn(wait=False)
        raise AssertionError("it never came to be")

    def told(self, kind: type[Any]) -> list[Any]:
        return [command for _, _, commands in self.steps for command in commands or () if isinstance(command, kind)]

    def happened(self, kind: type[Any]) -> list[Any]:
        return [event for _, event, _ in self.steps if isinstance(event, kind)]

    def has_dispatched(self, count: int = 1) -> bool:
        """Whether so many batches have been given out."""
        return len(self.told(Dispatch)) == count

    @property
    def committed(self) -> list[int]:
        return [envelope.seq for envelopes, _ in self.runs for envelope in envelopes]


def summary_of(total: int | None, succeeded: int, **fields: Any) -> Summary:
    known: dict[str, Any] = {"skipped": 0, "failed": 0, "cancelled": 0, "retries": 0, "was_cancelled": False}
    known |= {"stop_kind": None, "cancel_reason": None, "stopped_at": None}
    return Summary(total=total, succeeded=succeeded, **(known | fields))
