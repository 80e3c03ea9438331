"""Read this first: the one place where the pure kernel meets the world.

    poll the engine ─▶ kernel.step(now, event) ─▶ perform the commands ─▶ again

The runtime decides nothing. It owns what the kernel must not touch: the plan's iterator, the items themselves, the
engine and the clock. `turn` is one round; `run` goes on until the kernel has ended the run. Commit runs are handed to
`commit`, which calls `acknowledge` once they are safe: at once for a sink, one item at a time for an iterator.
"""

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from inorder.core.commands import (
    Command,
    CommitRun,
    Dispatch,
    NeedItems,
    RetryScheduled,
    Stopping,
    StopWorker,
    Summary,
    WindowOpened,
)
from inorder.core.events import CancelRequested, Committed, Event, Planned, Tick
from inorder.core.invariants import raise_violation
from inorder.core.kernel import Kernel
from inorder.core.options import KernelOptions
from inorder.core.resume_point import ResumePoint
from inorder.core.windows.plan import PlanItem
from inorder.engines.base import SLACK_BYTES, Batch, Engine, Task
from inorder.host.clock import Clock

PLAN_SLICE_MS = 10
"""A slow plan is not waited for longer than this once it has yielded something."""

COMMIT_PATIENCE_S = 5.0
"""The commit thread wakes the run when it is done; this is for looking around meanwhile."""

Commit = Callable[["Runtime", CommitRun, Sequence[Any]], None]
Observer = Callable[[int, Event, Sequence[Command] | None], None]
"""Sees every step: the time, the event, and the commands, or None where the kernel raised."""


class Memory(NamedTuple):
    """What a run with a journal brings along."""

    resume_point: ResumePoint = ResumePoint()
    """Where the run before was interrupted."""
    passed_by: Callable[[Any], None] | None = None
    """Is shown every item that was committed then."""
    note: Callable[[WindowOpened | RetryScheduled], None] | None = None
    """Is told what the journal must know of besides outcomes."""
    commits_elsewhere: bool = False
    """Runs are committed on another thread: while one is, the run may wait for that alone."""


class Runtime:
    """One run: a plan of (description, item) pairs, an engine to work on them, and somebody to commit to. None in the
    plan: what comes next is not asked for before everything so far is committed."""

    def __init__(
        self,
        plan: Iterable[tuple[PlanItem, Any] | None],
        engine: Engine,
        commit: Commit,
        clock: Clock,
        *,
        options: KernelOptions,
        total: int | None = None,
        observer: Observer | None = None,
        memory: Memory | None = None,
    ) -> None:
        self._plan = iter(plan)
        self._engine = engine
        self._commit = commit
        self._clock = clock
        self._observer = observer
        self._memory = memory = memory or Memory()
        self._items: dict[int, Any] = {}
        self._next_seq = 0
        self._committed_end = memory.resume_point.end
        self._pause_end = 0
        """The plan is not asked for more before everything below is committed."""
        self._unanswered: NeedItems | None = None
        self._slack_bytes = min(SLACK_BYTES, options.pressure.buffered_bytes_hard // 16)
        self._inbox: deque[Event | BaseException] = deque([Tick()])
        self._perform: dict[type[Any], Callable[[Any], None]] = {
            NeedItems: self._need_items,
            Dispatch: self._dispatch,
            StopWorker: lambda command: self._engine.stop_worker(command.worker, command.reason),
            CommitRun: self._commit_run,
            Stopping: self._ask_no_more,
        }
        if memory.note is not None:
            self._perform[WindowOpened] = self._perform[RetryScheduled] = memory.note
        epoch_ms = clock.wall_ms() - clock.now_ms()
        self.kernel = Kernel(options, total=total, epoch_ms=epoch_ms, resume_point=memory.resume_point)
        try:
            self._engine.start()
        except BaseException:
            self._engine.close()
            raise

    @property
    def summary(self) -> Summary | None:
        """How the run ended, once it has."""
        return self.kernel.summary

    def run(self) -> Summary:
        """Turn until the run has ended, then let the engine go."""
        try:
            while self.kernel.summary is None:
                self.turn()
            return self.kernel.summary
        finally:
            self.close()

    def turn(self, *, wait: bool = True) -> None:
        """One round: take what has happened, and do what follows. Waits for the first event unless told not to."""
        is_waiting = wait and not self._inbox
        self._inbox.extend(self._engine.poll(self._patience_s() if is_waiting else 0.0))
        if not self._inbox:
            if is_waiting and self.kernel.wake_at_ms is None and not self._is_committed_elsewhere():
                raise_violation(f"nothing can happen any more; the run waits for {self.kernel.snapshot().waiting_for}")
            self._inbox.append(Tick())
        while self._inbox:
            self._step(self._inbox.popleft())

    def post(self, event: Event | BaseException) -> None:
        """Tell the run of something, from any thread. An exception is raised by the turn that finds it."""
        self._inbox.append(event)
        self._engine.wake()

    def acknowledge(self, end: int) -> None:
        """Everything below `end` is committed."""
        self._inbox.append(Committed(end))

    def cancel(self, reason: str, grace_ms: int | None = None) -> None:
        """Stop the run, from any thread; with no grace, now."""
        self.post(CancelRequested(reason, grace_ms))

    def close(self) -> None:
        """Let the engine go, whatever state the run is in."""
        self._items.clear()
        self._inbox.clear()
        self.kernel.release()
        self._engine.close()

    def _step(self, event: Event | BaseException) -> None:
        if isinstance(event, BaseException):
            raise event
        now_ms = self._clock.now_ms()
        try:
            commands = self.kernel.step(now_ms, event)
        except Exception:
            if self._observer is not None:
                self._observer(now_ms, event, None)
            raise
        if self._observer is not None:
            self._observer(now_ms, event, commands)
        for command in commands:
            perform = self._perform.get(type(command))
            if perform is not None:
                perform(command)
        if isinstance(event, Committed):
            self._committed_end = event.end
            if self._unanswered is not None:
                self._need_items(self._unanswered)

    def _is_committed_elsewhere(self) -> bool:
        """Whether another thread has a run in hand, and will say so."""
        return self._memory.commits_elsewhere and self.kernel.is_committing

    def _patience_s(self) -> float | None:
        wake_at_ms = self.kernel.wake_at_ms
        if wake_at_ms is None:
            return COMMIT_PATIENCE_S if self._is_committed_elsewhere() else None
        return max(0, wake_at_ms - self._clock.now_ms()) / 1000

    def _need_items(self, command: NeedItems) -> None:
        self._unanswered = command if self._committed_end < self._pause_end else None
        if self._unanswered is not None:
            return
        began_ms = self._clock.now_ms()
        planned: list[PlanItem] = []
        ended = False
        while len(planned) < command.count:
            try:
                following = next(self._plan)
            except StopIteration:
                ended = True
                break
            if following is None:
                self._pause_end = self._next_seq
                if planned or self._committed_end < self._pause_end:
                    break
                continue  # everything before the barrier is committed already
            description, item = following
            planned.append(description)
            if self._next_seq >= self._memory.resume_point.end:
                self._items[self._next_seq] = item
            elif self._memory.passed_by is not None:
                self._memory.passed_by(item)
            self._next_seq += 1
            if self._clock.now_ms() - began_ms > PLAN_SLICE_MS:
                break
        if planned or ended:
            self._inbox.append(Planned(planned, ended))
        else:
            self._unanswered = command

    def _ask_no_more(self, _: Stopping) -> None:
        """Whatever the plan still has, nobody wants it."""
        self._unanswered = None

    def _dispatch(self, command: Dispatch) -> None:
        pairs = zip(command.seqs, command.attempts, strict=True)
        tasks = [Task(seq, attempt, self._items[seq]) for seq, attempt in pairs]
        bytes_max = command.share_bytes * len(tasks) + self._slack_bytes
        self._engine.dispatch(Batch(command.worker, tasks, command.isolated, bytes_max))

    def _commit_run(self, run: CommitRun) -> None:
        items = [self._items.pop(seq) for seq in range(run.start, run.end)]
        self._commit(self, run, items)
