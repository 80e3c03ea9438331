"""What comes back from workers, and what becomes of it.

An envelope counts only if its worker holds the lease and its attempt number is the current one. Everything else is
either stale, from an attempt that was fenced or whose window is long closed, and is refused and counted; or it is a
second answer from the very holder whose first was taken, or an answer to something never asked, and then an engine is
broken and the stage ends.
"""

from heapq import heappush

from inorder.errors import Category, Failure

from .commands import Reclaimed, Refused, RetryScheduled
from .events import Envelope, Overran
from .invariants import check, raise_violation
from .leases import Lease
from .ledger import FAIL
from .retry import Verdict, backoff_ms
from .state import Board
from .transitions import State
from .windows.window import Window

SUCCESS = int(State.TERMINAL_SUCCESS)
_OUTCOMES = (SUCCESS, int(State.TERMINAL_SKIP), FAIL)
_DECAY_SHIFT = 4


class Results:
    """Takes envelopes in, and puts what is final into the reorder buffer."""

    def __init__(self, board: Board) -> None:
        self._board = board

    def finished(self, worker: int, envelopes: list[Envelope]) -> None:
        """Envelopes from one worker, in the order it finished them."""
        board = self._board
        ledger = board.ledger
        lease = board.leases.get(worker)
        board.counters.envelopes += len(envelopes)
        for envelope in envelopes:
            seq = envelope.seq
            if lease is None or seq not in lease.seqs or ledger.attempt(seq) != envelope.attempt:
                self._refuse(worker, envelope.seq, envelope.attempt)
                continue
            del lease.seqs[seq]
            window = board.window_of(seq)
            window.used_bytes -= lease.share_bytes
            if lease.isolated:
                window.suspects.discard(seq)  # it lived to answer
            if envelope.outcome == FAIL:
                self._failed(window, envelope)
            else:
                self._hold(window, envelope)
        if lease is not None:
            if lease.seqs:
                board.leases.beat((worker,), board.watch_ms)
            else:
                board.leases.drop(worker)

    def overran(self, event: Overran) -> None:
        """An item ran past its limit: it fails for good, its worker goes, the rest of the batch goes back unharmed."""
        board = self._board
        lease = board.leases.get(event.worker)
        if lease is None or event.seq not in lease.seqs or board.ledger.attempt(event.seq) != event.attempt:
            return
        message = f"ran past its limit of {event.limit_ms} ms"
        board.counters.overruns += 1
        board.leases.drop(event.worker)
        board.stop_worker(event.worker, f"seq {event.seq} {message}")
        self.condemn(lease, event.seq, Failure(category=Category.TIMEOUT, message=message))
        self.reclaim(lease, f"seq {event.seq} {message}")

    def condemn(self, lease: Lease, seq: int, failure: Failure) -> None:
        """A final failure decided here, not reported by the worker; whatever the worker still sends is stale."""
        ledger = self._board.ledger
        window = self._board.window_of(seq)
        del lease.seqs[seq]
        window.used_bytes -= lease.share_bytes
        ledger.fence(seq)
        self._hold(window, Envelope(seq, ledger.attempt(seq), FAIL, failure=failure))

    def reclaim(self, lease: Lease, reason: str, *, suspect: int | None = None) -> None:
        """Everything still under a dropped lease may be dispatched again; a suspect only by itself."""
        board = self._board
        for seq in lease.seqs:
            window = board.window_of(seq)
            window.used_bytes -= lease.share_bytes
            attempt = board.ledger.attempt(seq)
            board.ledger.again(seq)
            board.counters.reclaims += 1
            if seq == suspect:
                window.suspects.add(seq)
            if seq in window.suspects:
                window.ready.add_alone(seq)
            else:
                window.ready.add_again(seq)
            board.out.append(Reclaimed(seq, attempt, lease.worker, seq == suspect, reason))
        lease.seqs.clear()

    def judge(self, window: Window, envelope: Envelope) -> None:
        """Decide whether the latest failure of this item is tried again."""
        board = self._board
        seq = envelope.seq
        verdict = window.retries.judge(seq, is_frontier=seq == window.frontier)
        if verdict is Verdict.WAIT:
            board.counters.retries_parked += 1
            window.parked[seq] = envelope
        elif verdict is Verdict.FINAL:
            board.counters.retries_denied += not window.retries.is_exhausted(seq)
            self._hold(window, envelope)
        else:
            number = window.retries.grant(seq)
            due_ms = board.now_ms + backoff_ms(board.options.retry, seq, number)
            board.counters.retries += 1
            board.ledger.again(seq)
            heappush(board.retries_due, (due_ms, seq))
            board.out.append(RetryScheduled(seq, envelope.attempt, due_ms, _failure_of(envelope), number))

    def _failed(self, window: Window, envelope: Envelope) -> None:
        if _failure_of(envelope).may_succeed_later:
            self.judge(window, envelope)
        else:
            self._hold(window, envelope)

    def _hold(self, window: Window, envelope: Envelope) -> None:
        board = self._board
        seq, size = envelope.seq, envelope.payload_bytes
        if envelope.outcome not in _OUTCOMES or size < 0:
            raise_violation(f"the envelope of seq {seq} claims outcome {envelope.outcome} and {size} bytes")
        board.held[seq] = envelope
        window.computed_count += 1
        window.retries.became_final(seq)
        window.used_bytes += size
        if seq > board.max_seen_seq:
            board.max_seen_seq = seq
        if envelope.outcome != FAIL:
            learned = board.learned_bytes
            board.learned_bytes = size if size > learned else learned - ((learned - size) >> _DECAY_SHIFT)

    def _refuse(self, worker: int, seq: int, attempt: int) -> None:
        board = self._board
        ledger = board.ledger
        check(0 <= seq < len(ledger), f"worker {worker} answers for seq {seq}, which was never planned")
        if seq >= ledger.base:
            current = ledger.attempt(seq)
            check(1 <= attempt <= current, f"worker {worker} answers for attempt {attempt} of seq {seq}, never leased")
            second = attempt == current and worker == ledger.owner(seq)
            check(not second, f"second terminal event for seq {seq} from worker {worker}, attempt {attempt}")
        board.counters.refused += 1
        board.out.append(Refused(worker, seq, attempt))


def _failure_of(envelope: Envelope) -> Failure:
    if envelope.failure is None:
        raise_violation(f"the envelope of seq {envelope.seq} failed without saying why")
    return envelope.failure
