"""The plan's way into windows: asked for lazily, checked, placed, sealed, resized at boundaries."""

from inorder.core.commands import NeedItems, WindowOpened, WindowSealed
from inorder.core.events import Planned
from inorder.core.invariants import check
from inorder.core.state import Board
from inorder.errors import require

from .window import ACTIVE_WINDOWS_MAX, SizingSnapshot, Window

PASS_BY_MAX = 8192
"""Items asked for at once while they only pass by."""


class Planning:
    """Consumes the plan no faster than the active windows can take it."""

    def __init__(self, board: Board) -> None:
        self._board = board
        self._starved_before = 0
        self._asked_count = 0

    @property
    def is_asked(self) -> bool:
        """Whether a request is out that the plan has not answered yet."""
        return self._asked_count > 0

    @property
    def is_exhausted(self) -> bool:
        """Every item of the plan has been placed in a window."""
        board = self._board
        return board.intake.ended and not board.planner.carry

    def planned(self, event: Planned) -> None:
        """The plan answers. What comes after a stop is not looked at."""
        board = self._board
        check(self.is_asked, "items were planned that nobody asked for")
        asked_count, self._asked_count = self._asked_count, 0
        if board.stop is not None:
            return
        check(len(event.items) <= asked_count, f"{asked_count} items were asked for, {len(event.items)} came")
        board.intake.admit(event.items)
        board.planner.carry.extend(event.items)
        if event.ended:
            board.intake.end()
            require(
                board.intake.admitted >= board.restored.end,
                f"the plan ended after {board.intake.admitted} items, but {board.restored.end} are already committed",
            )
        self.fill()

    def fill(self) -> None:
        """Put planned items into windows, opening and sealing as the caps demand."""
        board = self._board
        planner, windows = board.planner, board.windows
        self._pass_by()
        while planner.carry:
            if not windows or windows[-1].sealed:
                if len(windows) == ACTIVE_WINDOWS_MAX:
                    return
                window = self._open()
                windows.append(window)
                board.out.append(WindowOpened(window.id, window.start, window.target_entries, planner.sizing))
            window = windows[-1]
            is_full = planner.fill(window, committed_end=board.restored.end)
            start = board.ledger.extend(window.end - len(board.ledger))
            board.ledger.restore_attempts(start, board.restored.granted)
            if board.ledger.next_commit_seq < board.restored.end:
                self._replay(window)
            if is_full:
                board.out.append(WindowSealed(planner.seal(window)))
        if board.intake.ended and windows and not windows[-1].sealed:
            board.out.append(WindowSealed(planner.seal(windows[-1])))

    def _pass_by(self) -> None:
        """Let the items go by that lie in windows which were closed before this run began."""
        board = self._board
        count = min(len(board.planner.carry), board.restored.resume_start - len(board.ledger))
        if count > 0:
            board.planner.pass_by(count)
            board.ledger.extend(count)
            board.ledger.replay_commit(len(board.ledger))
            board.ledger.forget(len(board.ledger))

    def _open(self) -> Window:
        """The next window: as it was, if it was open when the run before was interrupted."""
        board = self._board
        start = len(board.ledger)
        for known in board.restored.windows:
            if known.start == start:
                board.planner.restore(known.id, known.target_entries, known.sizing)
        window = board.planner.open(start, board.now_ms)
        window.retries.restore(board.restored.granted_from(start))
        return window

    def _replay(self, window: Window) -> None:
        """Take note of what the journal says was committed in this window."""
        board = self._board
        start = board.ledger.next_commit_seq
        end = min(board.restored.end, window.end)
        board.ledger.replay_commit(end)
        for seq in range(start, end):
            window.retries.became_final(seq)
        window.computed_count += end - start
        window.frontier = end

    def closed(self, window: Window) -> None:
        """A window has closed: choose the size of the next, from a snapshot and nothing else, and open it."""
        board = self._board
        if board.stop is not None:
            return
        if board.options.windows.adaptive:
            starved_steps = board.counters.starved_steps
            board.planner.resize(
                SizingSnapshot(
                    target_entries=board.planner.target_entries,
                    commit_lag=board.commit_lag,
                    used_bytes=board.used_bytes,
                    bytes_soft=board.options.pressure.buffered_bytes_soft,
                    retries=window.retries.used,
                    entries=window.entries,
                    starved_steps=starved_steps - self._starved_before,
                )
            )
            self._starved_before = starved_steps
        self.fill()

    def ask(self) -> None:
        """Ask for more items when fewer than half of what is wanted ahead wait and a window can take them."""
        board = self._board
        if self.is_asked or board.intake.ended or board.planner.carry:
            return
        windows = board.windows
        if len(windows) == ACTIVE_WINDOWS_MAX and windows[-1].sealed:
            return
        plan_ahead = board.options.windows.plan_ahead
        if board.options.windows.plan_by_demand:
            plan_ahead = max(1, min(plan_ahead, 2 * board.demand))
        if len(board.ledger) < board.restored.end:
            plan_ahead = min(PASS_BY_MAX, board.restored.end - len(board.ledger) + plan_ahead)
        missing = plan_ahead - board.ready_count
        if missing * 2 > plan_ahead:
            self._asked_count = missing
            board.out.append(NeedItems(missing))
