"""Dispatch: which items go to which worker.

Workers pull, so no item waits for a busy worker that an idle one could have run. The oldest active window is served
first, the second one only while its bytes allow. Under soft pressure, items go out one at a time to half of the
workers, rounded up. Under hard pressure, only the item that the cursor waits for goes out. Because of that exception
backpressure cannot deadlock: the run can always make progress at its lowest seq.
"""

from heapq import heappop

from .commands import Dispatch, PressureChanged
from .events import Pulled
from .leases import Lease
from .pressure import Level
from .state import KernelState
from .windows.window import ACTIVE_WINDOWS_MAX, Window


class Dispatcher:
    """Dispatches items to idle workers."""

    def __init__(self, state: KernelState) -> None:
        self._state = state

    def on_pulled(self, event: Pulled) -> None:
        """Note that a worker is idle. A pull of a worker that was told to stop is ignored."""
        state = self._state
        worker = event.worker
        if worker in state.stopping_workers:
            return
        limit = max(1, event.limit)
        state.workers.setdefault(worker, "")
        state.idle[worker] = limit
        state.demand += limit - state.pull_limits.get(worker, 0)
        state.pull_limits[worker] = limit

    def run(self) -> None:
        """Serve idle workers, longest waiting first, until no worker or no item is left."""
        state = self._state
        self.observe()
        while state.retries_due and state.retries_due[0][0] <= state.now_ms:
            seq = heappop(state.retries_due)[1]
            state.find_window(seq).ready.requeue(seq)
        while state.idle:
            worker = next(iter(state.idle))
            if not self._serve(worker):
                if self._is_starved():
                    state.note_starved()
                return
            self.observe()

    def observe(self) -> None:
        """Update the pressure and report a change of its level."""
        state = self._state
        pressure = state.pressure
        windows = state.windows
        share = state.share_bytes
        first = windows[0].used_bytes if windows else 0
        second = windows[1].used_bytes if len(windows) > 1 else 0
        values = (first + second + share, first + share, state.commit_lag, state.resident_bytes)
        pressure.observe_prefetch(second + share)
        if pressure.observe(state.now_ms, values):
            paused_ms = pressure.paused_ms(state.now_ms)
            change = PressureChanged(
                pressure.level.name.lower(), pressure.reason, state.now_ms, paused_ms, pressure.resumes
            )
            state.commands.append(change)

    def _is_starved(self) -> bool:
        """Whether a worker is idle only because the windows are too small."""
        state = self._state
        if state.ready_count or state.pressure.level != Level.NORMAL:
            return False
        if state.intake.is_ended and not state.cutter.carry:
            return False
        return len(state.windows) == ACTIVE_WINDOWS_MAX and state.windows[-1].is_sealed

    def _serve(self, worker: int) -> bool:
        state = self._state
        outage = state.outage
        if not state.windows or (outage is not None and (outage.probe is not None or state.now_ms < outage.due_ms)):
            return False
        level = state.pressure.level
        is_slowed = level == Level.SOFT
        is_crowded = is_slowed and len(state.leases) * 2 >= len(state.workers)
        if level == Level.HARD or is_crowded:
            return self._serve_cursor(worker)
        limit = 1 if is_slowed or outage is not None else state.idle[worker]
        is_served = any(self._serve_from(window, worker, limit) for window in self._choose_windows())
        state.counters.slowed_dispatches += is_slowed and is_served
        return is_served

    def _choose_windows(self) -> list[Window]:
        state = self._state
        if len(state.windows) > 1 and not state.pressure.is_prefetch_open:
            state.counters.prefetch_refusals += 1
            return state.windows[:1]
        return state.windows

    def _serve_cursor(self, worker: int) -> bool:
        """Dispatch the item at the cursor, if it is ready: only this item can make the run progress. While lower seqs
        are being committed the cursor waits for the commit lane, and no item is dispatched."""
        window = self._state.windows[0]
        seq = self._state.ledger.next_commit_seq
        if seq not in window.ready:
            return False
        isolated = window.ready.is_suspect(seq)
        window.ready.take_seq(seq)
        self._state.counters.cursor_admissions += 1
        self._grant(window, worker, [seq], isolated=isolated)
        return True

    def _serve_from(self, window: Window, worker: int, limit: int) -> bool:
        state = self._state
        ready = window.ready
        if not ready:
            return False
        suspect = ready.take_suspect()
        if suspect is not None:
            self._grant(window, worker, [suspect], isolated=True)
            return True
        if ready.is_reordered and state.now_ms - window.opened_ms >= state.options.aged_ms:
            seqs = ready.take_oldest()
            state.counters.aged_dispatches += 1
        else:
            size = self._choose_batch_size(window, limit)
            seqs = ready.take(size, state.workers[worker], state.workers.values())
        self._grant(window, worker, seqs, isolated=False)
        return True

    def _choose_batch_size(self, window: Window, limit: int) -> int:
        """Limit a batch by what the worker asked for, the bytes available, and a fair share of the ready items."""
        state = self._state
        if state.expected_bytes < 0:
            return 1
        options = state.options.pressure
        room = min(
            options.buffered_bytes_hard - state.used_bytes,
            options.window_bytes_hard - window.used_bytes,
        )
        fair = -(-state.ready_count // len(state.workers))
        return max(1, min(limit, state.options.batch_max, room // state.share_bytes, fair))

    def _grant(self, window: Window, worker: int, seqs: list[int], *, isolated: bool) -> None:
        state = self._state
        share = state.share_bytes
        attempts = state.ledger.lease(seqs, worker)
        held = dict(zip(seqs, attempts, strict=True))
        lease = Lease(worker, held, share_bytes=share, isolated=isolated, now_ms=state.watched_ms)
        state.leases.grant(lease)
        window.used_bytes += share * len(seqs)
        if state.outage is not None:
            state.outage.probe = seqs[0]
        key = window.ready.get_key(seqs[0])
        state.counters.dispatches += 1
        state.counters.isolated_dispatches += isolated
        state.counters.local_batches += bool(key) and state.workers[worker] == key
        state.workers[worker] = key
        del state.idle[worker]
        known = state.partials
        partials = {seq: known[seq] for seq in seqs if seq in known} if known else {}
        state.commands.append(Dispatch(worker, seqs, attempts, key, isolated, share, partials))
