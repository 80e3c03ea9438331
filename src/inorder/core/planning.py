"""The plan's way into windows: asked for lazily, checked, placed, sealed, resized at boundaries."""

from .board import Board
from .commands import NeedItems, WindowOpened, WindowSealed
from .events import Planned
from .invariants import check
from .windows import ACTIVE_WINDOWS_MAX, SizingSnapshot, Window


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
        self.fill()

    def fill(self) -> None:
        """Put planned items into windows, opening and sealing as the caps demand."""
        board = self._board
        planner, windows = board.planner, board.windows
        while planner.carry:
            if not windows or windows[-1].sealed:
                if len(windows) == ACTIVE_WINDOWS_MAX:
                    return
                window = planner.open(len(board.ledger), board.now_ms)
                windows.append(window)
                board.out.append(WindowOpened(window.id, window.start, window.target_entries, planner.sizing))
            window = windows[-1]
            is_full = planner.fill(window)
            board.ledger.extend(window.end - len(board.ledger))
            if is_full:
                board.out.append(WindowSealed(planner.seal(window)))
        if board.intake.ended and windows and not windows[-1].sealed:
            board.out.append(WindowSealed(planner.seal(windows[-1])))

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
        missing = plan_ahead - board.ready_count
        if missing * 2 > plan_ahead:
            self._asked_count = missing
            board.out.append(NeedItems(missing))
