"""Checks every step of a run against the requirements, without relying on the kernel's own state.

Each rule is a promise of the requirements, checked against the referee's own books. The first broken one ends the run
with `PromiseBroken`, which says what was promised and what was observed.
"""

from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from inorder.core.commands import (
    Announce,
    Command,
    CommitRun,
    Dispatch,
    Ended,
    NeedItems,
    PressureChanged,
    Reclaimed,
    ResultRefused,
    RetryScheduled,
    Stopping,
    StopWorker,
    Summary,
    WindowClosed,
    WindowOpened,
    WindowSealed,
)
from inorder.core.events import (
    Committed,
    Delivered,
    Envelope,
    Event,
    Finished,
    HandedOver,
    Loss,
    MemorySampled,
    Overran,
    Planned,
    Pulled,
    WorkerLost,
)
from inorder.core.transitions import State
from inorder.errors import NON_RETRYABLE

from .books import Books
from .scenario import Scenario

_FAIL = State.TERMINAL_FAIL
_SPINS_MAX = 5


class PromiseBroken(Exception):
    """A promise was broken."""


def expect(condition: bool, promise: str) -> None:
    """Raise `PromiseBroken` unless the promise was kept."""
    if not condition:
        raise PromiseBroken(promise)


class Referee:
    """The referee of one run. Call `observe` after every step."""

    def __init__(self, scenario: Scenario) -> None:
        self.books = Books(scenario)
        self.summary: Summary | None = None
        self.last_event: Event | None = None
        self._options = scenario.options
        self._spins = 0
        self._refusals_due = 0
        self._reclaimed: set[int] = set()
        self._overran: int | None = None
        self._must_stop = False
        self._event_handlers: dict[type[Any], Callable[[Any], None]] = {
            Planned: self._on_planned,
            Pulled: self._on_pulled,
            Finished: self._on_finished,
            HandedOver: self._on_handed_over,
            Overran: self._on_overran,
            WorkerLost: self._on_worker_lost,
            Committed: self._on_committed,
            Delivered: self._on_delivered,
            MemorySampled: self._on_memory_sampled,
        }
        self._command_handlers: dict[type[Any], Callable[[Any], None]] = {
            NeedItems: self._on_need_items,
            Dispatch: self._on_dispatch,
            StopWorker: self._on_stop_worker,
            RetryScheduled: self._on_retry_scheduled,
            Reclaimed: self._on_reclaimed,
            ResultRefused: self._on_result_refused,
            WindowOpened: self._on_window_opened,
            WindowSealed: self._on_window_sealed,
            WindowClosed: self._on_window_closed,
            Announce: self._on_announce,
            CommitRun: self._on_commit_run,
            PressureChanged: self._on_pressure_changed,
            Stopping: self._on_stopping,
            Ended: self._on_ended,
        }

    def observe(self, now_ms: int, event: Event, commands: Sequence[Command] | None) -> None:
        """Check one step of the kernel. `commands` is None if it raised; the world then calls `is_second_answer`."""
        books = self.books
        self.last_event = event
        if commands is None:
            return
        expect(not self.is_second_answer(), "a second answer from the current holder is fatal")
        self._check_spinning(now_ms, event, commands)
        books.now_ms = max(books.now_ms, now_ms)
        self._refusals_due, self._overran = 0, None
        self._reclaimed = {command.seq for command in commands if isinstance(command, Reclaimed)}
        handler = self._event_handlers.get(type(event))
        if handler is not None:
            handler(event)
        for command in commands:
            self._command_handlers[type(command)](command)
        expect(books.stopping or not self._must_stop, "the run stops at a limit on tokens or money")
        self._check_step()

    def is_second_answer(self) -> bool:
        """Whether the latest event has a second answer from a current holder, on which the kernel must abort."""
        event, books = self.last_event, self.books
        if not isinstance(event, Finished):
            return False
        held = books.leases.get(event.worker)
        expected = dict(held.attempts) if held is not None else {}
        base = books.windows[0].start if books.windows else books.planned
        for envelope in event.envelopes:
            if expected.pop(envelope.seq, None) == envelope.attempt:
                continue
            is_current = books.attempts.get(envelope.seq) == envelope.attempt
            if envelope.seq >= base and is_current and books.holders.get(envelope.seq) == event.worker:
                return True
        return False

    # ---- Events

    def _on_planned(self, event: Planned) -> None:
        if not self.books.stopping:
            self.books.planned += len(event.items)
            self.books.plan_ended = event.ended

    def _on_pulled(self, event: Pulled) -> None:
        if event.worker not in self.books.gone:
            self.books.idle.add(event.worker)
            self.books.workers.add(event.worker)

    def _on_finished(self, event: Finished) -> None:
        held = self.books.leases.get(event.worker)
        for envelope in event.envelopes:
            if held is not None and held.attempts.get(envelope.seq) == envelope.attempt:
                self.books.suspects.discard(envelope.seq)
                if envelope.failure is not None and envelope.failure.budget:
                    expect(
                        envelope.seq in self._reclaimed, f"seq {envelope.seq}, which nobody pays for, has not failed"
                    )
                    self._must_stop = True
                    continue
                del held.attempts[envelope.seq]
                self._accept(envelope)
            else:
                self._refusals_due += 1
        if held is not None and not held.attempts:
            del self.books.leases[event.worker]

    def _on_handed_over(self, event: HandedOver) -> None:
        held = self.books.leases.get(event.worker)
        if held is not None and held.attempts.get(event.seq) == event.attempt:
            self.books.partials[event.seq] = event.partial
        else:
            self._refusals_due += 1

    def _accept(self, envelope: Envelope) -> None:
        books = self.books
        expect(envelope.partial is None, f"only the kernel adds a partial result to seq {envelope.seq}")
        if envelope.outcome != _FAIL:
            books.partials.pop(envelope.seq, None)
        failure = envelope.failure
        has_retries = books.retries.get(envelope.seq, 0) < self._options.retry.retries_max
        if failure is not None and failure.retryable and failure.category not in NON_RETRYABLE and has_retries:
            books.undecided[envelope.seq] = envelope
        else:
            books.final[envelope.seq] = envelope
            books.max_seen = max(books.max_seen, envelope.seq)

    def _on_overran(self, event: Overran) -> None:
        held = self.books.leases.get(event.worker)
        if held is not None and held.attempts.get(event.seq) == event.attempt:
            self._overran = event.seq

    def _on_worker_lost(self, event: WorkerLost) -> None:
        self._take_lease(event.worker)

    def _on_committed(self, event: Committed) -> None:
        books = self.books
        while books.acknowledged < event.end:
            books.outstanding.popleft()
            books.acknowledged += 1

    def _on_delivered(self, event: Delivered) -> None:
        for seq in event.seqs:
            self.books.deliver(seq)

    def _on_memory_sampled(self, event: MemorySampled) -> None:
        self.books.resident_bytes = event.bytes

    # ---- Commands

    def _on_need_items(self, command: NeedItems) -> None:
        books, limits = self.books, self._options.windows
        expect(
            not books.stopping and not books.plan_ended, "no items are requested after the end of the plan or a stop"
        )
        is_full = len(books.windows) == 2 and books.windows[-1].end is not None
        expect(not is_full and command.count <= limits.plan_ahead, "the plan is consumed no faster than windows open")

    def _on_dispatch(self, command: Dispatch) -> None:
        books = self.books
        expect(not books.stopping, "nothing is dispatched after a stop")
        expect(command.worker in books.idle, f"worker {command.worker} is idle when it is given work")
        expect(0 < len(command.seqs) <= self.books.scenario.batch_limit, "a worker gets no more than it asked for")
        for seq, attempt in zip(command.seqs, command.attempts, strict=True):
            expect(0 <= seq < books.planned, f"seq {seq} was planned")
            expect(seq >= books.handed and books.is_ready(seq), f"seq {seq} may be dispatched now")
            expect(books.find_window(seq) is not None, f"seq {seq} lies in an active window")
            expect(attempt == books.attempts.get(seq, 0) + 1, f"attempt {attempt} of seq {seq} is the next one")
        offered = {seq: books.partials[seq] for seq in command.seqs if seq in books.partials}
        expect(command.partials == offered, f"attempts are offered {offered}, not {command.partials}")
        items = [books.scenario.items[seq] for seq in command.seqs]
        expect(len({item.batch_key for item in items}) == 1, "a batch has one key")
        is_suspected = any(seq in books.suspects for seq in command.seqs)
        expect(command.isolated == is_suspected, "suspects, and only they, run isolated")
        expect(not command.isolated or len(command.seqs) == 1, "a suspect runs alone")
        self._check_pressure(command)
        self._check_window_order(command)
        books.lease(command)

    def _check_pressure(self, command: Dispatch) -> None:
        books, limits = self.books, self._options.pressure
        if command.seqs == [books.acknowledged]:
            return
        expect(books.pressure != "hard", "under hard pressure only the item the cursor waits for is dispatched")
        share = command.share_bytes * len(command.seqs)
        expect(books.used_bytes() + share <= limits.buffered_bytes_hard, "the byte budget is held")
        window = books.find_window(command.seqs[0])
        if window is books.windows[0]:
            expect(books.used_bytes(window) + share <= limits.window_bytes_hard, "the budget of the window is held")
        else:
            ahead = books.used_bytes(window) + command.share_bytes
            mark = min(limits.prefetch_bytes_max, limits.window_bytes_soft)
            expect(ahead <= mark, "a second window above its mark is not served")
        expect(books.commit_lag <= limits.commit_lag_hard, "the commit lag is held")
        expect(books.resident_bytes <= limits.resident_bytes_hard, "the memory mark is held")
        is_soft = books.commit_lag > limits.commit_lag_soft or books.resident_bytes > limits.resident_bytes_soft
        expect(not is_soft or books.pressure == "soft", "above a soft mark dispatch is slowed")
        expect(books.pressure == "normal" or len(command.seqs) == 1, "under soft pressure items go out one by one")
        is_crowded = len(books.leases) * 2 >= len(books.workers)
        expect(books.pressure == "normal" or not is_crowded, "under soft pressure at most half of the workers are busy")

    def _check_window_order(self, command: Dispatch) -> None:
        books = self.books
        first = books.windows[0]
        if books.find_window(command.seqs[0]) is first or first.end is None:
            return
        left = [seq for seq in range(max(first.start, books.handed), first.end + 1) if books.is_ready(seq)]
        expect(not left, f"the oldest window is served first, but {left} waited")

    def _on_stop_worker(self, command: StopWorker) -> None:
        self._take_lease(command.worker)

    def _on_retry_scheduled(self, command: RetryScheduled) -> None:
        books, policy = self.books, self._options.retry
        seq = command.seq
        failed = books.undecided.pop(seq, None)
        expect(failed is not None and failed.attempt == command.attempt, f"seq {seq} has just failed")
        books.retries[seq] = books.retries.get(seq, 0) + 1
        expect(books.retries[seq] <= policy.retries_max, f"seq {seq} keeps to its retries")
        window = books.find_window(seq)
        if window is not None and policy.window_retries_max is not None:
            window.retries += 1
            expect(window.retries <= policy.window_retries_max, f"window {window.id} keeps to its retries")
        wait_ms = command.due_ms - books.now_ms
        longest_ms = min(policy.backoff_ms << (books.retries[seq] - 1), policy.backoff_ms_max)
        expect(longest_ms // 2 <= wait_ms <= longest_ms, f"the wait of {wait_ms} ms is exponential with jitter")
        books.waiting[seq] = command.due_ms
        del books.holders[seq]

    def _on_reclaimed(self, command: Reclaimed) -> None:
        books = self.books
        seq = command.seq
        held = books.leases.get(command.worker)
        if held is not None:
            expect(held.attempts.pop(seq, None) == command.attempt, f"seq {seq} is taken from its holder")
            if not held.attempts:
                del books.leases[command.worker]
        del books.holders[seq]
        if command.suspected:
            event = self.last_event
            has_died = isinstance(event, WorkerLost) and event.cause is Loss.DIED
            expect(has_died, f"seq {seq} is suspected only when its worker died")
            books.suspects.add(seq)

    def _on_result_refused(self, command: ResultRefused) -> None:
        self._refusals_due -= 1

    def _on_window_opened(self, command: WindowOpened) -> None:
        books = self.books
        expect(command.id == books.windows_seen, "window ids are dense")
        expect(len(books.windows) < 2, "at most two windows are active")
        last = books.windows[-1].end if books.windows else command.start - 1
        expect(last is not None and command.start == last + 1, "windows are contiguous")
        books.open_window(command)

    def _on_window_sealed(self, command: WindowSealed) -> None:
        limits, record = self._options.windows, command.record
        window = self.books.seal_window(command)
        expect(record.id == window.id and record.start == window.start, "the last window is the one sealed")
        expect(record.entries == record.end - record.start + 1, "a window is contiguous")
        expect(0 < record.entries <= min(window.target_entries, limits.span_max), "the caps on entries are held")
        fits = record.predicted_cost <= limits.cost_max and record.predicted_bytes <= limits.bytes_max
        expect(fits or (record.oversize and record.entries == 1), "the caps on cost and bytes are held")

    def _on_window_closed(self, command: WindowClosed) -> None:
        books = self.books
        window = books.windows.pop(0)
        expect(command.id == window.id and command.end == window.end, "the oldest window closes first")
        expect(books.acknowledged > command.end, "a window closes when the cursor has passed it")

    def _on_announce(self, command: Announce) -> None:
        books = self.books
        for envelope in command.envelopes:
            seq = envelope.seq
            expect(self._options.announces, "results are announced only to those who ask for it")
            expect(seq not in books.announced, f"seq {seq} is announced once")
            expect(not books.is_leased(seq), f"the result of seq {seq} is final")
            books.announced[seq] = envelope.partial

    def _on_commit_run(self, command: CommitRun) -> None:
        books = self.books
        expect(not books.outstanding, "one run at a time is with the commit lane")
        expect(len(command.envelopes) > 0, "no run is empty")
        expect(command.start == books.handed, f"the run starts at the cursor {books.handed}")
        window = books.windows[0]
        for envelope in command.envelopes:
            seq = books.handed
            expect(envelope.seq == seq, f"seq {seq} comes next")
            expect(window.end is None or seq <= window.end, f"seq {seq} lies in the first window")
            accepted = books.undecided.pop(seq) if seq in books.undecided else books.final.pop(seq, envelope)
            latest = books.partials.pop(seq, None)
            is_announced = seq in books.announced
            expect(is_announced == self._options.announces, f"seq {seq} was announced before its commit")
            expect(envelope.partial == latest, f"seq {seq} commits its latest partial result with a failure, once")
            size = envelope.payload_bytes - len(latest or b"")
            computed = msgspec.structs.replace(envelope, partial=None, payload_bytes=size)
            expect(accepted is None or accepted == computed, f"seq {seq} commits the result that was accepted")
            expect(
                accepted is not None or envelope.outcome == _FAIL,
                f"seq {seq}, which the kernel failed, is committed as failed",
            )
            expect(envelope.attempt == books.attempts.get(seq), f"seq {seq} commits its current attempt")
            books.outstanding.append(envelope.payload_bytes)
            books.outcomes.append(envelope.outcome)
            books.applied_partials.append(books.announced[seq] if is_announced else envelope.partial)
            books.max_seen = max(books.max_seen, seq)
            books.handed += 1
        books.acknowledge_delivered()

    def _on_pressure_changed(self, command: PressureChanged) -> None:
        books, limits = self.books, self._options.pressure
        was, books.pressure = books.pressure, command.state
        books.pressure_moves.add(f"{was} to {command.state}")
        if was == "normal":
            return
        level = "hard" if was == "hard" else "soft"
        is_release = was == "hard" or command.state == "normal"
        signals = {
            "buffered_bytes": books.used_bytes(),
            "window_bytes": books.used_bytes(books.windows[0]) if books.windows else 0,
            "commit_lag": books.commit_lag,
            "resident_bytes": books.resident_bytes,
        }
        for name, value in signals.items():
            mark = getattr(limits, f"{name}_{level}") * limits.release_ratio_percent
            expect(not is_release or value * 100 <= mark, f"{name} is at its release level when dispatch resumes")

    def _on_stopping(self, command: Stopping) -> None:
        self.books.stopping = True

    def _on_ended(self, command: Ended) -> None:
        books, summary = self.books, command.summary
        self.summary = summary
        expect(not books.leases, f"no lease survives the end, but {sorted(books.leases)} hold one")
        expect(not books.outstanding, "the run ends after the last acknowledgement")
        counts = [books.outcomes.count(state) for state in (3, 4, 5)]
        expect([summary.succeeded, summary.skipped, summary.failed] == counts, "the summary counts what was committed")
        if summary.total is None or summary.cancelled is None:
            is_unknown = summary.was_cancelled and not books.scenario.announces_total
            expect(
                is_unknown and summary.total is summary.cancelled, "only an unannounced, unfinished plan has no size"
            )
            return
        expect(summary.total == len(books.scenario.items), "the summary names the size of the plan")
        expect(summary.cancelled == summary.total - sum(counts), "whatever was not committed is cancelled")
        expect(books.stopping or summary.cancelled == 0, "nothing is cancelled without a stop")

    # ---- Steps

    def _take_lease(self, worker: int) -> None:
        books = self.books
        books.gone.add(worker)
        books.idle.discard(worker)
        books.workers.discard(worker)
        held = books.leases.pop(worker, None)
        for seq in held.attempts if held is not None else ():
            if seq in self._reclaimed:
                continue
            del books.holders[seq]
            if seq == self._overran or not books.stopping:
                was_isolated = held is not None and held.isolated
                expect(was_isolated or seq == self._overran, f"seq {seq} does not fail on a first suspicion")
                books.final[seq] = None

    def _check_step(self) -> None:
        books = self.books
        expect(self._refusals_due == 0, "every stale result is refused, and no other")
        window = books.windows[0] if books.windows else None
        if window is not None and not books.outstanding and not books.stopping and self.summary is None:
            may_commit = window.end is None or books.handed <= window.end
            is_waiting = may_commit and books.handed in books.final
            expect(not is_waiting, f"the commit lane is idle while seq {books.handed} is computed")

    def _check_spinning(self, now_ms: int, event: Event, commands: Sequence[Command]) -> None:
        is_idle = now_ms <= self.books.now_ms and not commands
        self._spins = self._spins + 1 if is_idle and type(event).__name__ == "Tick" else 0
        expect(self._spins <= _SPINS_MAX, "the loop sleeps when there is nothing to do")
