"""The promises of a cluster run, checked independently: every seq once and in order, and the byte budget.

The referee checks everything and is too slow for a thousand workers. These books keep two accounts, both from events
and commands alone. *Order*: which attempt was answered by the worker that held it, and what was handed to the commit
lane. *Bytes*: shares reserved for running items, and results that are not committed. Two things may exceed the budget,
as `docs/specs/backpressure.md` says: the item that the cursor waits for, and a result larger than its share. They are
counted separately as `excess_bytes`; everything else must fit.
"""

from collections.abc import Callable, Sequence
from typing import Any

from inorder.core.commands import Command, CommitRun, Dispatch, Reclaimed
from inorder.core.events import Committed, Event, Finished
from inorder.sim.referee import PromiseBroken, expect


class _ClusterLease:
    """What one worker holds: the attempt of each seq, and the bytes reserved per seq."""

    def __init__(self, command: Dispatch) -> None:
        self.attempts = dict(zip(command.seqs, command.attempts, strict=True))
        self.share_bytes = command.share_bytes


class ClusterBooks:
    """The accounts of one run."""

    def __init__(self, budget_bytes: int) -> None:
        self._budget_bytes = budget_bytes
        self._leases: dict[int, _ClusterLease] = {}
        self._computed: dict[int, tuple[int, int]] = {}
        """Attempt and size of each seq that is computed and not yet acknowledged."""
        self._excess: dict[int, int] = {}
        """Bytes of a seq that may exceed the budget."""
        self.begun = 0
        """One above the highest seq that was given to a worker."""
        self.handed = 0
        self.acknowledged = 0
        self.refused = 0
        """Results of reclaimed attempts."""
        self.used_bytes = 0
        self.excess_bytes = 0
        self.used_bytes_max = 0
        self._handlers: dict[type[Any], Callable[[Any], None]] = {
            Finished: self._on_finished,
            Committed: self._on_committed,
            Dispatch: self._on_dispatch,
            Reclaimed: self._on_reclaimed,
            CommitRun: self._on_commit_run,
        }

    def observe(self, _now_ms: int, event: Event, commands: Sequence[Command] | None) -> None:
        """Record and check one step of the kernel."""
        for seen in (event, *(commands or ())):
            act = self._handlers.get(type(seen))
            if act is not None:
                act(seen)
        self.used_bytes_max = max(self.used_bytes_max, self.used_bytes)
        if self.used_bytes > self._budget_bytes + self.excess_bytes:
            allowed = f"a budget of {self._budget_bytes} and an allowed excess of {self.excess_bytes}"
            raise PromiseBroken(f"the byte budget is held: {self.used_bytes} bytes are buffered, with {allowed}")

    def _on_dispatch(self, command: Dispatch) -> None:
        expect(command.worker not in self._leases, f"worker {command.worker} holds nothing when it is given work")
        self._leases[command.worker] = _ClusterLease(command)
        self.begun = max(self.begun, command.seqs[-1] + 1)
        promised_bytes = command.share_bytes * len(command.seqs)
        for seq in command.seqs:
            expect(seq >= self.handed and seq not in self._computed, f"seq {seq} is not computed twice")
        if command.seqs == [self.acknowledged]:
            self._set_excess(self.acknowledged, promised_bytes)
        self.used_bytes += promised_bytes

    def _on_finished(self, event: Finished) -> None:
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
                self._set_excess(seq, size)
            elif size > held.share_bytes:
                self._set_excess(seq, size - held.share_bytes)
        if held is not None and not held.attempts:
            del self._leases[event.worker]

    def _on_reclaimed(self, command: Reclaimed) -> None:
        held = self._leases[command.worker]
        expect(held.attempts.pop(command.seq) == command.attempt, f"seq {command.seq} is taken from its holder")
        self.used_bytes -= held.share_bytes
        self._set_excess(command.seq, 0)
        if not held.attempts:
            del self._leases[command.worker]

    def _on_commit_run(self, command: CommitRun) -> None:
        expect(self.handed == self.acknowledged, "one run at a time is with the commit lane")
        expect(command.start == self.handed, f"the run starts at the cursor {self.handed}")
        for envelope in command.envelopes:
            seq = self.handed
            expect(envelope.seq == seq, f"seq {seq} comes next, not {envelope.seq}")
            expect(seq in self._computed, f"seq {seq} was computed")
            attempt = self._computed[seq][0]
            expect(envelope.payload == ("result", seq, attempt), f"seq {seq} commits the result that was accepted")
            self.handed += 1

    def _on_committed(self, event: Committed) -> None:
        for seq in range(self.acknowledged, event.end):
            self.used_bytes -= self._computed.pop(seq)[1]
            self._set_excess(seq, 0)
        self.acknowledged = event.end

    def _set_excess(self, seq: int, size: int) -> None:
        """Set how many bytes of a seq may exceed the budget."""
        self.excess_bytes += size - self._excess.pop(seq, 0)
        if size:
            self._excess[seq] = size
