"""Who gets what next.

Workers pull; nothing is queued on a busy worker that an idle one could have had. The oldest active window is served
first, the second one only while its bytes allow. Under soft pressure items go out one by one to half of the workers,
rounded up; under hard pressure nothing goes out but the one item that the cursor waits for. That exception is what
keeps backpressure from ever deadlocking: whatever else is full, the run can always move at its oldest end.
"""

from heapq import heappop

from .commands import Dispatch, PressureChanged
from .leases import Lease
from .pressure import Level
from .state import Board
from .windows.window import ACTIVE_WINDOWS_MAX, Window


class Dispatcher:
    """Gives items to idle workers."""

    def __init__(self, board: Board) -> None:
        self._board = board

    def pulled(self, worker: int, limit: int) -> None:
        """A worker asks for items. One that was told to stop asks in vain."""
        board = self._board
        if worker in board.stopped:
            return
        limit = max(1, limit)
        board.workers.setdefault(worker, "")
        board.idle[worker] = limit
        board.demand += limit - board.limits.get(worker, 0)
        board.limits[worker] = limit

    def run(self) -> None:
        """Serve idle workers, the longest waiting first, until there is nobody or nothing left."""
        board = self._board
        self.observe()
        while board.retries_due and board.retries_due[0][0] <= board.now_ms:
            seq = heappop(board.retries_due)[1]
            board.window_of(seq).ready.add_again(seq)
        while board.idle:
            worker = next(iter(board.idle))
            if not self._serve(worker):
                board.counters.starved_steps += self._is_starved()
                return
            self.observe()

    def observe(self) -> None:
        """Bring the pressure up to date and tell when it changed."""
        board = self._board
        pressure = board.pressure
        windows = board.windows
        share = board.share_bytes
        first = windows[0].used_bytes if windows else 0
        second = windows[1].used_bytes if len(windows) > 1 else 0
        values = (first + second + share, first + share, board.commit_lag, board.memory_bytes)
        pressure.observe_prefetch(second + share)
        if pressure.observe(board.now_ms, values):
            paused_ms = pressure.paused_ms(board.now_ms)
            change = PressureChanged(
                pressure.level.name.lower(), pressure.reason, board.now_ms, paused_ms, pressure.resumes
            )
            board.out.append(change)

    def _is_starved(self) -> bool:
        """Whether a worker idles for no other reason than that the windows are too small."""
        board = self._board
        if board.ready_count or board.intake.ended or board.pressure.level != Level.NORMAL:
            return False
        return len(board.windows) == ACTIVE_WINDOWS_MAX and board.windows[-1].sealed

    def _serve(self, worker: int) -> bool:
        board = self._board
        if not board.windows:
            return False
        level = board.pressure.level
        is_slowed = level == Level.SOFT
        is_crowded = is_slowed and len(board.leases) * 2 >= len(board.workers)
        if level == Level.HARD or is_crowded:
            return self._serve_cursor(worker)
        limit = 1 if is_slowed else board.idle[worker]
        is_served = any(self._serve_from(window, worker, limit) for window in self._served_windows())
        board.counters.slowed_dispatches += is_slowed and is_served
        return is_served

    def _served_windows(self) -> list[Window]:
        board = self._board
        if len(board.windows) > 1 and not board.pressure.prefetch_open:
            board.counters.prefetch_refusals += 1
            return board.windows[:1]
        return board.windows

    def _serve_cursor(self, worker: int) -> bool:
        """The one item that may always go: the cursor is at it, and nothing but it can move the run. While the commit
        lane is still busy with lower seqs, that is what the cursor waits for."""
        window = self._board.windows[0]
        seq = self._board.ledger.next_commit_seq
        if seq not in window.ready:
            return False
        isolated = window.ready.is_suspect(seq)
        window.ready.take_exactly(seq)
        self._board.counters.cursor_admissions += 1
        self._grant(window, worker, [seq], isolated=isolated)
        return True

    def _serve_from(self, window: Window, worker: int, limit: int) -> bool:
        board = self._board
        ready = window.ready
        if not ready:
            return False
        suspect = ready.take_alone()
        if suspect is not None:
            self._grant(window, worker, [suspect], isolated=True)
            return True
        if ready.is_reordered and board.now_ms - window.opened_ms >= board.options.aged_ms:
            seqs = ready.take_oldest()
            board.counters.aged_dispatches += 1
        else:
            seqs = ready.take(self._batch_size(window, limit), board.workers[worker])
        self._grant(window, worker, seqs, isolated=False)
        return True

    def _batch_size(self, window: Window, limit: int) -> int:
        """As many as the worker wants, the bytes allow and fairness to the other workers leaves."""
        board = self._board
        if board.learned_bytes < 0:
            return 1
        options = board.options.pressure
        room = min(
            options.buffered_bytes_hard - board.used_bytes,
            options.window_bytes_hard - window.used_bytes,
        )
        fair = -(-board.ready_count // len(board.workers))
        return max(1, min(limit, board.options.batch_max, room // board.share_bytes, fair))

    def _grant(self, window: Window, worker: int, seqs: list[int], *, isolated: bool) -> None:
        board = self._board
        share = board.share_bytes
        attempts = board.ledger.lease(seqs, worker)
        lease = Lease(worker, seqs, share_bytes=share, isolated=isolated, now_ms=board.watch_ms)
        board.leases.grant(lease)
        window.used_bytes += share * len(seqs)
        key = window.ready.key_of(seqs[0])
        board.counters.dispatches += 1
        board.counters.isolated_dispatches += isolated
        board.counters.local_batches += bool(key) and board.workers[worker] == key
        board.workers[worker] = key
        del board.idle[worker]
        board.out.append(Dispatch(worker, seqs, attempts, key, isolated, share))
