"""The state of every seq, and the only code that changes it.

The state column (one byte per seq) lives as long as the run. The larger columns, attempt number and owner, cover only
the active windows: `forget` drops them when a window closes. Counts are updated with each transition, so no method
scans the whole ledger.

The ledger enforces the transition table, the commit cursor and fencing:

* a transition that the table does not list raises and changes nothing;
* `commit` moves the cursor over a contiguous run that starts at the cursor, or raises;
* every lease gets the next attempt number, and `fence` clears the owner of an attempt that ended without a result, so
  that late results of that attempt can be distinguished from those of the present owner.

A batch method has the same effect as a loop over single transitions, but is faster. A property test checks that.
"""

from array import array
from collections.abc import Callable, Sequence
from typing import NoReturn

from .invariants import IllegalTransition, raise_violation
from .transitions import TERMINAL_STATES, State, is_legal

UNSEEN = int(State.UNSEEN)
DISPATCHED = int(State.DISPATCHED)
IN_FLIGHT = int(State.IN_FLIGHT)
FAIL = int(State.TERMINAL_FAIL)
CANCEL = int(State.TERMINAL_CANCEL)
COMMITTED = int(State.COMMITTED)

NO_OWNER = -1
_SETTLED_STATES = bytes(TERMINAL_STATES[:3])


class Ledger:
    """States, attempts and owners of the seqs planned so far."""

    def __init__(self) -> None:
        self.states = bytearray()
        self.next_commit_seq = 0
        self.dispatched_count = 0
        self.in_flight_count = 0
        self.terminal_count = 0
        self.committed_count = 0
        self.wall_ms = 0
        self._base = 0
        self._attempts = array("I")
        self._owners = array("q")

    def __len__(self) -> int:
        return len(self.states)

    @property
    def base(self) -> int:
        """First seq that still has an attempt number and an owner."""
        return self._base

    @property
    def size_bytes(self) -> int:
        """Memory used by all columns."""
        windowed = len(self._attempts) * self._attempts.itemsize + len(self._owners) * self._owners.itemsize
        return len(self.states) + windowed

    def extend(self, count: int) -> int:
        """Add the next `count` seqs and return the first of them."""
        start = len(self.states)
        self.states.extend(bytes(count))
        self._attempts.extend(array("I", bytes(4 * count)))
        self._owners.extend(array("q", [NO_OWNER]) * count)
        return start

    def restore_attempts(self, start: int, attempts: dict[int, int]) -> None:
        """Set the attempt numbers of seqs from `start` on to those of an interrupted run."""
        for seq, count in attempts.items():
            if start <= seq < len(self.states):
                self._attempts[seq - self._base] = count

    def attempt(self, seq: int) -> int:
        """Return the number of the latest attempt; 0 before the first."""
        return self._attempts[seq - self._base]

    def owner(self, seq: int) -> int:
        """Return the worker of the latest attempt; NO_OWNER if it was fenced or its window is closed."""
        if not self._base <= seq < len(self.states):
            return NO_OWNER
        return self._owners[seq - self._base]

    def move(self, seq: int, attempted: int, *, owner: int | None = None) -> None:
        """Make one transition of one seq. A transition to IN_FLIGHT needs an owner and begins a new attempt."""
        if not 0 <= seq < len(self.states):
            raise_violation(f"seq {seq} is moved but was never planned")
        prior = self.states[seq]
        if not is_legal(prior, attempted) or (attempted == IN_FLIGHT and owner is None):
            self._raise_illegal(seq, attempted)
        if attempted == COMMITTED and seq != self.next_commit_seq:
            raise_violation(f"commit of seq {seq} out of order, the cursor is at {self.next_commit_seq}")
        self.states[seq] = attempted
        self.dispatched_count += (attempted == DISPATCHED) - (prior == DISPATCHED)
        self.in_flight_count += (attempted == IN_FLIGHT) - (prior == IN_FLIGHT)
        self.terminal_count += (FAIL - 2 <= attempted <= CANCEL) - (prior == FAIL and attempted == DISPATCHED)
        if attempted == COMMITTED:
            self.committed_count += 1
            self.next_commit_seq += 1
        elif attempted == IN_FLIGHT and owner is not None:
            self._attempts[seq - self._base] += 1
            self._owners[seq - self._base] = owner

    def lease(self, seqs: Sequence[int], owner: int) -> list[int]:
        """Move seqs from UNSEEN or DISPATCHED to IN_FLIGHT and return their new attempt numbers."""
        if len(seqs) > 1 and self._is_unseen_run(seqs):
            return self._lease_run(seqs[0], seqs[0] + len(seqs), owner)
        states, attempts, owners, base = self.states, self._attempts, self._owners, self._base
        requeued = 0
        for seq in seqs:
            prior = states[seq]
            if prior == DISPATCHED:
                requeued += 1
            elif prior != UNSEEN:
                self._raise_illegal(seq, IN_FLIGHT)
        if len({*seqs}) != len(seqs):
            raise_violation(f"owner {owner} is given the same seq twice in {list(seqs)}")
        numbers = []
        for seq in seqs:
            states[seq] = IN_FLIGHT
            index = seq - base
            number = attempts[index] + 1
            attempts[index] = number
            owners[index] = owner
            numbers.append(number)
        self.dispatched_count -= requeued
        self.in_flight_count += len(numbers)
        return numbers

    def _is_unseen_run(self, seqs: Sequence[int]) -> bool:
        """Whether the seqs are contiguous, ascending and UNSEEN, as those of most batches are."""
        count = len(seqs)
        if seqs[-1] - seqs[0] != count - 1:
            return False
        run = range(seqs[0], seqs[0] + count)
        return self.states[run.start : run.stop].count(UNSEEN) == count and [*seqs] == [*run]

    def _lease_run(self, start: int, end: int, owner: int) -> list[int]:
        covered = slice(start - self._base, end - self._base)
        numbers = [number + 1 for number in self._attempts[covered]]
        self.states[start:end] = bytes([IN_FLIGHT]) * (end - start)
        self._attempts[covered] = array("I", numbers)
        self._owners[covered] = array("q", [owner]) * (end - start)
        self.in_flight_count += end - start
        return numbers

    def requeue(self, seq: int) -> None:
        """Move a seq from IN_FLIGHT through TERMINAL_FAIL to DISPATCHED, for a retry or a reclaim. Fences the
        attempt."""
        if self.states[seq] != IN_FLIGHT:
            self._raise_illegal(seq, DISPATCHED)
        self.states[seq] = DISPATCHED
        self.in_flight_count -= 1
        self.dispatched_count += 1
        self.fence(seq)

    def fence(self, seq: int) -> None:
        """Clear the owner of the latest attempt, so that anything it still sends is stale."""
        self._owners[seq - self._base] = NO_OWNER

    def settle(self, start: int, outcomes: bytes) -> None:
        """Move the contiguous run from `start` from IN_FLIGHT to its outcomes."""
        end = start + len(outcomes)
        if outcomes.translate(None, _SETTLED_STATES):
            raise_violation(f"seqs {start} to {end - 1} cannot be settled as {sorted(set(outcomes))}")
        run = self.states[start:end]
        if run.count(IN_FLIGHT) != len(outcomes):
            seq = self._find_wrong(start, lambda state: state != IN_FLIGHT, "settled")
            self._raise_illegal(seq, outcomes[seq - start])
        self.states[start:end] = outcomes
        self.in_flight_count -= len(outcomes)
        self.terminal_count += len(outcomes)

    def cancel(self, start: int, end: int) -> None:
        """Move every seq of the range to TERMINAL_CANCEL. None of them may be terminal already."""
        run = self.states[start:end]
        counts = [run.count(state) for state in (UNSEEN, DISPATCHED, IN_FLIGHT)]
        if sum(counts) != end - start:
            self._raise_illegal(self._find_wrong(start, lambda state: state > IN_FLIGHT, "cancelled"), CANCEL)
        self.states[start:end] = bytes([CANCEL]) * (end - start)
        self.dispatched_count -= counts[1]
        self.in_flight_count -= counts[2]
        self.terminal_count += end - start

    def commit(self, end: int) -> None:
        """Move every seq from the cursor to `end` from its terminal state to COMMITTED, and the cursor to `end`. Raises
        if it is there already: only `replay_commit` may be repeated."""
        start = self.next_commit_seq
        if end <= start:
            raise_violation(f"a commit up to seq {end - 1} moves nothing: the cursor is at {start}")
        run = self.states[start:end]
        terminal = sum(run.count(state) for state in TERMINAL_STATES)
        if terminal != end - start:
            self._raise_illegal(
                self._find_wrong(start, lambda state: state not in TERMINAL_STATES, "committed"), COMMITTED
            )
        self.states[start:end] = bytes([COMMITTED]) * (end - start)
        self.committed_count += end - start
        self.next_commit_seq = end

    def replay_commit(self, end: int) -> None:
        """Mark seqs below `end` as COMMITTED because the journal says so. Idempotent, unlike every other method."""
        start = self.next_commit_seq
        if end <= start:
            return
        if end > len(self.states):
            raise_violation(f"the journal commits seq {end - 1} but only {len(self.states)} were planned")
        if self.states[start:end].count(UNSEEN) != end - start:
            raise_violation(f"the journal commits seqs {start} to {end - 1}, which this run has already begun")
        self.states[start:end] = bytes([COMMITTED]) * (end - start)
        self.terminal_count += end - start
        self.committed_count += end - start
        self.next_commit_seq = end

    def forget(self, end: int) -> None:
        """Drop attempt numbers and owners below `end`: those windows are closed."""
        count = end - self._base
        del self._attempts[:count]
        del self._owners[:count]
        self._base = end

    def _find_wrong(self, start: int, is_wrong: Callable[[int], bool], what: str) -> int:
        """Find the first seq that makes a batch transition illegal. Called only if there is one."""
        seq = start
        while seq < len(self.states) and not is_wrong(self.states[seq]):
            seq += 1
        if seq >= len(self.states):
            raise_violation(f"seq {seq} is {what} but was never planned")
        return seq

    def _raise_illegal(self, seq: int, attempted: int) -> NoReturn:
        raise IllegalTransition(
            seq=seq, prior=self.states[seq], attempted=attempted, owner=self.owner(seq), wall_ms=self.wall_ms
        )
