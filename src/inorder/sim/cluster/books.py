"""What a cluster promises, checked against books of its own: every seq once and in order, and the byte budget.

The referee of the small worlds looks at everything and is too slow for a thousand workers. This one keeps two
accounts, both from events and commands alone. *Order*: which attempt was answered by the worker that held it, and what
was handed to the commit lane. *Bytes*: shares set aside for running items, and results not yet committed. Two things
may go beyond the budget, as `docs/specs/backpressure.md` says: the item the cursor waits for, and a result larger than
its share. What they bring is kept apart as `excess_bytes`, and all the rest must fit.
"""

from collections.abc import Callable, Sequence
from typing import Any

from inorder.core.commands import Command, CommitRun, Dispatch, Reclaimed
from inorder.core.events import Committed, Event, Finished
from inorder.sim.referee import Foul, demand


class _Held:
    """What one worker holds: the attempt of each seq, and the share of each."""

    def __init__(self, command: Dispatch) -> None:
        self.attempts = dict(zip(command.seqs, command.attempts, strict=True))
        self.share_bytes = command.share_bytes


class ClusterBooks:
    """The accounts of one run."""

    def __init__(self, budget_bytes: int) -> None:
        self._budget_bytes = budget_bytes
        self._leases: dict[int, _Held] = {}
        self._computed: dict[int, tuple[int, int]] = {}
        """Attempt and size of what is computed and not yet acknowledged."""
        self._excess: dict[int, int] = {}
        """Bytes of a seq that may go beyond the budget."""
        self.begun = 0
        """Seqs below this have been given to a worker, or one above them has."""
        self.handed = 0
        self.acknowledged = 0
        self.refused = 0
        """Results of attempts that had been given up."""
        self.used_bytes = 0
        self.excess_bytes = 0
        self.used_bytes_max = 0
        self._on: dict[type[Any], Callable[[Any], None]] = {
            Finished: self._finished,
            Committed: self._committed,
            Dispatch: self._dispatched,
            Reclaimed: self._reclaimed,
            CommitRun: self._commit_run,
        }

    def observe(self, _now_ms: int, event: Event, commands: Sequence[Command] | None) -> None:
        """One step of the kernel."""
        for seen in (event, *(commands or ())):
            act = self._on.get(type(seen))
            if act is not None:
                act(seen)
        self.used_bytes_max = max(self.used_bytes_max, self.used_bytes)
        if self.used_bytes > self._budget_bytes + self.excess_bytes:
            allowed = f"a budget of {self._budget_bytes} and {self.excess_bytes} that may be beyond it"
            raise Foul(f"the byte budget is held: {self.used_bytes} bytes are buffered, of {allowed}")

    def _dispatched(self, command: Dispatch) -> None:
        demand(command.worker not in self._leases, f"worker {command.worker} holds nothing when it is given work")
        self._leases[command.worker] = _Held(command)
        self.begun = max(self.begun, command.seqs[-1] + 1)
        promised_bytes = command.share_bytes * len(command.seqs)
        for seq in command.seqs:
            demand(seq >= self.handed and seq not in self._computed, f"seq {seq} is not computed twice")
        if command.seqs == [self.acknowledged]:
            self._exceed(self.acknowledged, promised_bytes)
        self.used_bytes += promised_bytes

    def _finished(self, event: Finished) -> None:
        held = self._leases.get(event.worker)
        for envelope in event.envelopes:
            seq, size = envelope.seq, envelope.payload_bytes
            if held is None or held.attempts.get(seq) != envelope.attempt:
                self.refused += 1
                continue
            del held.attempts[seq]
            self._computed[seq] = (envelope.attempt, size)
            self.used_bytes += size - held.share_bytes
            if seq in self._excess:
                self._exceed(seq, size)
            elif size > held.share_bytes:
                self._exceed(seq, size - held.share_bytes)
        if held is not None and not held.attempts:
            del self._leases[event.worker]

    def _reclaimed(self, command: Reclaimed) -> None:
        held = self._leases[command.worker]
        demand(held.attempts.pop(command.seq) == command.attempt, f"seq {command.seq} is taken from its holder")
        self.used_bytes -= held.share_bytes
        self._exceed(command.seq, 0)
        if not held.attempts:
            del self._leases[command.worker]

    def _commit_run(self, command: CommitRun) -> None:
        demand(self.handed == self.acknowledged, "one run at a time is with the commit lane")
        demand(command.start == self.handed, f"the run starts at the cursor {self.handed}")
        for envelope in command.envelopes:
            seq = self.handed
            demand(envelope.seq == seq, f"seq {seq} comes next, not {envelope.seq}")
            demand(seq in self._computed, f"seq {seq} was computed")
            attempt = self._computed[seq][0]
            demand(envelope.payload == ("result", seq, attempt), f"seq {seq} commits the result that was accepted")
            self.handed += 1

    def _committed(self, event: Committed) -> None:
        for seq in range(self.acknowledged, event.end):
            self.used_bytes -= self._computed.pop(seq)[1]
            self._exceed(seq, 0)
        self.acknowledged = event.end

    def _exceed(self, seq: int, size: int) -> None:
        """This much of a seq may be beyond the budget."""
        self.excess_bytes += size - self._excess.pop(seq, 0)
        if size:
            self._excess[seq] = size
