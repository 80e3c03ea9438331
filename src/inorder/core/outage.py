"""Outages: a server that the items need is down or throttles, and the run waits for it.

A failure names the server if that is the cause (`Failure.outage`). The item is not at fault, so it is requeued and no
retry is spent. Nothing is dispatched while an outage lasts, except one item at a time as a *probe*: the first a second
later, then after waits that double. A probe that fails for another reason, or succeeds, ends the outage. If the server
is still down after `outage_ms_max`, the run stops and can be resumed.
"""

from inorder.errors import Failure

from .commands import OutageChanged, Reclaimed
from .state import KernelState, Outage, StopKind

_WAIT_MS_MIN = 1000
_WAIT_MS_MAX = 30_000


class Outages:
    """Begins and ends the outage of a run."""

    def __init__(self, state: KernelState) -> None:
        self._state = state

    def requeue(self, seq: int, attempt: int, worker: int, failure: Failure) -> None:
        """Requeue an item that found a server down."""
        state = self._state
        state.ledger.requeue(seq)
        state.find_window(seq).ready.requeue(seq)
        state.commands.append(Reclaimed(seq, attempt, worker, False, f"{failure.outage} is down"))
        outage = state.outage
        if outage is None:
            state.outage = outage = Outage(failure.outage, failure.message, state.now_ms)
        elif seq == outage.probe:
            outage.server, outage.reason, outage.probe = failure.outage, failure.message, None
            outage.probes += 1
        else:
            return
        wait_ms = max(failure.wait_ms, min(_WAIT_MS_MIN << min(outage.probes, 10), _WAIT_MS_MAX))
        outage.due_ms = state.now_ms + wait_ms
        self._report(outage, wait_ms)
        if outage.due_ms - outage.since_ms > state.options.outage_ms_max:
            state.request_stop(
                StopKind.INFRASTRUCTURE,
                f"{outage.server} is down, and the next attempt would be made after outage_s_max: {outage.reason}",
                state.options.cancel_grace_ms,
            )

    def note_result(self, seq: int) -> None:
        """Note that an attempt has ended and its server was not down."""
        outage = self._state.outage
        if outage is not None and seq == outage.probe:
            self._state.outage = None
            self._report(outage, 0, is_over=True)

    def forget_probe(self, seq: int) -> None:
        """Note that an attempt has ended without a result. If it was the probe, another item is tried."""
        outage = self._state.outage
        if outage is not None and seq == outage.probe:
            outage.probe = None
            outage.due_ms = self._state.now_ms + _WAIT_MS_MIN

    def _report(self, outage: Outage, wait_ms: int, *, is_over: bool = False) -> None:
        waited_ms = self._state.now_ms - outage.since_ms
        self._state.commands.append(
            OutageChanged(outage.server, outage.reason, is_over, outage.probes, waited_ms, wait_ms)
        )
