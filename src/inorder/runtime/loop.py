"""The event loop: the one place where the pure kernel meets engines, plans and commits.

    poll the engine ─▶ kernel.step(now, event) ─▶ perform the commands ─▶ repeat

The runtime decides nothing. It owns what the kernel must not touch: the iterator of the plan, the items, the engine and
the clock. `turn` is one round; `run` repeats it until the kernel has ended the run.

A commit run goes to `commit`, which returns the end of what is committed. If it returns None, the commit continues
elsewhere (on a commit thread, or with the consumer of an iterator), and the loop calls `poll_committed` in every round.
"""

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from inorder.core.commands import (
    Announce,
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
from inorder.core.events import CancelRequested, Committed, Delivered, Envelope, Event, MemorySampled, Planned, Tick
from inorder.core.invariants import raise_violation
from inorder.core.kernel import Kernel
from inorder.core.options import KernelOptions
from inorder.core.resume_point import ResumePoint
from inorder.core.windows.plan import PlanItem
from inorder.engines.answering import Answer, AnsweringEngine, Offer, offer_nothing
from inorder.engines.base import SLACK_BYTES, Batch, Engine, Task
from inorder.host.clock import Clock

from .feed import NotYet
from .memory_probe import MemoryProbe

if TYPE_CHECKING:
    from inorder.runtime.adoption import ResultRecorder
    from inorder.runtime.result_log import ResultLog

PLAN_SLICE_MS = 10
"""Once a slow plan has yielded an item, the loop waits no longer than this for further ones."""

PLAN_WAIT_S_MAX = 3600.0
"""Longest wait for a plan that has nothing yet. Whoever adds an item wakes the loop."""
COMMIT_WAIT_MS_MAX = 5000
"""Longest wait for a commit. The commit thread normally wakes the loop earlier."""

Commit = Callable[[CommitRun, Sequence[Any]], int | None]
"""Commits a run, given its items. Returns the end of what is committed; None: `poll_committed` reports it later."""
Observer = Callable[[int, Event, Sequence[Command] | None], None]
"""Called after every step with the time, the event, and the commands, or None if the kernel raised."""

_make_task = partial(tuple.__new__, Task)
"""Does without the constructor of a named tuple, which takes half of the time of a dispatch."""
_SURVIVORS_SHOWN = 10
IN_THREADS = "in threads, which cannot be killed"


def describe_survivors(names: Sequence[str], where: str = IN_THREADS) -> str:
    """Name the items that still run after a run has ended."""
    shown = ", ".join(names[:_SURVIVORS_SHOWN])
    more = f" and {len(names) - _SURVIVORS_SHOWN} more" if len(names) > _SURVIVORS_SHOWN else ""
    return f"still running {where}: {shown}{more}"


class ResumeState(NamedTuple):
    """What a run with a journal needs in order to resume, now and after the next interruption."""

    resume_point: ResumePoint = ResumePoint()
    """Where the previous run was interrupted."""
    skip: Callable[[Any], None] | None = None
    """Called with every item that the previous run has committed."""
    note: Callable[[WindowOpened | RetryScheduled], None] | None = None
    """Called with every command, other than a commit run, that must be journaled."""


class Runtime:
    """One run: a plan of (description, item) pairs, an engine that runs the items, and a commit step. None in the plan
    is a barrier: the items after it are not read before everything before it is committed; `NOT_YET` means that its
    items are still to come. `announce` and `poll_delivered` are for a consumer that takes results out of order (see
    `KernelOptions.announces`). `results` keeps the results
    that are not committed, and has those of an interrupted run, which are adopted. `answer` returns the results of
    items that need no worker. `offer` passes a partial result on to the next attempt at its item."""

    def __init__(
        self,
        plan: Iterable[tuple[PlanItem, Any] | NotYet | None],
        engine: Engine,
        commit: Commit,
        clock: Clock,
        *,
        options: KernelOptions,
        total: int | None = None,
        observer: Observer | None = None,
        resume: ResumeState | None = None,
        poll_committed: Callable[[], int | None] | None = None,
        announce: Callable[[Sequence[Envelope], Sequence[Any]], None] | None = None,
        poll_delivered: Callable[[], list[int]] | None = None,
        results: "ResultLog | None" = None,
        memory: MemoryProbe | None = None,
        answer: Answer | None = None,
        offer: Offer = offer_nothing,
    ) -> None:
        self._plan = iter(plan)
        self._offer = offer
        self._engine = engine if answer is None else AnsweringEngine(engine, answer)
        self._commit = commit
        self._clock = clock
        self._observer = observer
        self._poll_committed = poll_committed
        self._poll_delivered = poll_delivered
        self._memory = memory
        self._sample_due_ms = 0
        self._items: dict[int, Any] = {}
        self._recorder: ResultRecorder | None = None
        self._resume = resume or ResumeState()
        if results is not None:
            self._record_results(results)
        resume = self._resume
        self._next_seq = 0
        self._committed_end = resume.resume_point.end
        self._barrier = 0
        """The plan is not read before every seq below is committed."""
        self._delayed_request: NeedItems | None = None
        self._is_plan_waiting = False
        """Whether the plan had nothing yet when it was read last."""
        self._slack_bytes = min(SLACK_BYTES, options.pressure.buffered_bytes_hard // 16)
        self._grace_s = options.cancel_grace_ms / 1000
        self._inbox: deque[Event] = deque([Tick()])
        self.survivors: list[Task] = []
        """Tasks that were still running when the engine was closed."""
        self._perform: dict[type[Any], Callable[[Any], None]] = {
            NeedItems: self._read_plan,
            Dispatch: self._dispatch,
            StopWorker: lambda command: self._engine.stop_worker(command.worker, command.reason),
            CommitRun: self._commit_run,
            Stopping: self._begin_stop,
        }
        if announce is not None:
            self._perform[Announce] = lambda command: announce(
                command.envelopes, [self._items[envelope.seq] for envelope in command.envelopes]
            )
        if resume.note is not None:
            self._perform[WindowOpened] = self._perform[RetryScheduled] = resume.note
        epoch_ms = clock.wall_ms() - clock.now_ms()
        self.kernel = Kernel(options, total=total, epoch_ms=epoch_ms, resume_point=resume.resume_point)
        try:
            self._engine.start()
        except BaseException:
            self._engine.close()
            raise

    def _record_results(self, results: "ResultLog") -> None:
        """Log the results that are not committed, and adopt those of the interrupted run."""
        from inorder.runtime import adoption  # a run without a log needs none of it

        resume_point = adoption.restore_retries(self._resume.resume_point, results)
        self._resume = self._resume._replace(resume_point=resume_point)
        self._recorder = adoption.ResultRecorder(results, resume_point, self._items)
        if results.is_adopting:
            self._engine = AnsweringEngine(self._engine, partial(adoption.adopt_result, results), self._offer)

    @property
    def summary(self) -> Summary | None:
        """How the run ended; None while it is running."""
        return self.kernel.summary

    def run(self) -> Summary:
        """Run to the end, then close the engine. If an exception ends the run, running items have the same grace period
        as after a cancel."""
        try:
            while self.kernel.summary is None:
                self.turn()
        except BaseException:
            self.close(self._grace_s)
            raise
        self.close()
        return self.kernel.summary

    def turn(self, *, wait: bool = True, wait_s_max: float | None = None) -> None:
        """Handle all events that have happened. Waits for the first one, unless `wait` is false; no longer than
        `wait_s_max`, if that is given."""
        self._poll_commits()
        self._sample_memory()
        if self._is_plan_waiting and self._delayed_request is not None:
            self._read_plan(self._delayed_request)
        is_waiting = wait and not self._inbox
        wait_s = self.find_wait_s() if is_waiting else 0.0
        if wait_s_max is not None:
            wait_s = wait_s_max if wait_s is None else min(wait_s, wait_s_max)
        self._inbox.extend(self._engine.poll(wait_s))
        if is_waiting:
            self._poll_commits()
        if not self._inbox:
            if wait_s is None:
                raise_violation(f"no event is possible; the run waits for {self.kernel.snapshot().waiting_for}")
            self._inbox.append(Tick())
        while self._inbox:
            self._step(self._inbox.popleft())

    def find_item(self, seq: int) -> Any:
        """Return the item of a planned seq that is not handed over for commit; None for any other."""
        return self._items.get(seq)

    def post(self, event: Event) -> None:
        """Add an event. May be called from any thread."""
        self._inbox.append(event)
        self._engine.wake()

    def cancel(self, reason: str, grace_ms: int | None = None) -> None:
        """Stop the run. `grace_ms`: see `CancelRequested`. May be called from any thread."""
        self.post(CancelRequested(reason, grace_ms))

    def close(self, grace_s: float = 0.0) -> list[Task]:
        """Close the engine, whatever the state of the run. Threads that run items have up to `grace_s` to end. Returns
        the tasks that still run after that."""
        self._items.clear()
        self._inbox.clear()
        self.kernel.release()
        self.survivors = self._engine.close(grace_s)
        return self.survivors

    def _step(self, event: Event) -> None:
        now_ms = self._clock.now_ms()
        try:
            commands = self.kernel.step(now_ms, event)
        except Exception:
            if self._observer is not None:
                self._observer(now_ms, event, None)
            raise
        if self._observer is not None:
            self._observer(now_ms, event, commands)
        if self._recorder is not None:
            self._recorder.observe(event, commands)
        for command in commands:
            perform = self._perform.get(type(command))
            if perform is not None:
                perform(command)
        if isinstance(event, Committed):
            self._committed_end = event.end
            if self._delayed_request is not None:
                self._read_plan(self._delayed_request)

    def _poll_commits(self) -> None:
        if self._poll_committed is not None:
            end = self._poll_committed()
            if end is not None:
                self._inbox.append(Committed(end))
        if self._poll_delivered is not None:
            seqs = self._poll_delivered()
            if seqs:
                self._inbox.append(Delivered(seqs))

    def _is_commit_pending(self) -> bool:
        return self._poll_committed is not None and self.kernel.is_committing

    def _sample_memory(self) -> None:
        if self._memory is not None and self._clock.now_ms() >= self._sample_due_ms:
            self._sample_due_ms = self._clock.now_ms() + self._memory.interval_ms
            self._inbox.append(MemorySampled(self._memory.read()))

    def find_wait_s(self) -> float | None:
        """Return how long a turn may wait for an event; None: without limit."""
        if self._is_plan_waiting and self.kernel.wake_at_ms is None and self._memory is None:
            return PLAN_WAIT_S_MAX
        times = [] if self._memory is None else [self._sample_due_ms]
        if self.kernel.wake_at_ms is not None:
            times.append(self.kernel.wake_at_ms)
        elif self._is_commit_pending():
            times.append(self._clock.now_ms() + COMMIT_WAIT_MS_MAX)
        return max(0, min(times) - self._clock.now_ms()) / 1000 if times else None

    def _read_plan(self, command: NeedItems) -> None:
        self._delayed_request, self._is_plan_waiting = None, False
        if self._committed_end < self._barrier:
            self._delayed_request = command
            return
        plan, now_ms, resumed_end = self._plan, self._clock.now_ms, self._resume.resume_point.end
        until_ms = now_ms() + PLAN_SLICE_MS
        planned: list[PlanItem] = []
        ended = False
        while len(planned) < command.count:
            try:
                following = next(plan)
            except StopIteration:
                ended = True
                break
            if isinstance(following, NotYet):
                self._is_plan_waiting = True
                break
            if following is None:
                self._barrier = self._next_seq
                if planned or self._committed_end < self._barrier:
                    break
                continue
            description, item = following
            planned.append(description)
            if self._next_seq >= resumed_end:
                self._items[self._next_seq] = item
            elif self._resume.skip is not None:
                self._resume.skip(item)
            self._next_seq += 1
            if now_ms() > until_ms:
                break
        if planned or ended:
            self._inbox.append(Planned(planned, ended))
        else:
            self._delayed_request = command

    def _begin_stop(self, _: Stopping) -> None:
        self._delayed_request = None
        self._engine.drain()

    def _dispatch(self, command: Dispatch) -> None:
        items = [self._items[seq] for seq in command.seqs]
        if command.partials:
            partials = [command.partials.get(seq) for seq in command.seqs]
            pairs = zip(items, partials, strict=True)
            items = [item if partial is None else self._offer(item, partial) for item, partial in pairs]
        tasks = [*map(_make_task, zip(command.seqs, command.attempts, items, strict=True))]
        bytes_max = command.share_bytes * len(tasks) + self._slack_bytes
        self._engine.dispatch(Batch(command.worker, tasks, command.isolated, bytes_max))

    def _commit_run(self, run: CommitRun) -> None:
        items = [*map(self._items.pop, range(run.start, run.end))]
        end = self._commit(run, items)
        if end is not None:
            self._inbox.append(Committed(end))
