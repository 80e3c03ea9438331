"""Requests items of the plan, puts them into windows, and resizes windows at their boundaries."""

from inorder.core.commands import NeedItems, WindowOpened, WindowSealed
from inorder.core.events import Planned
from inorder.core.invariants import check
from inorder.core.state import KernelState
from inorder.errors import require

from .window import ACTIVE_WINDOWS_MAX, SizingSnapshot, Window

SKIP_AHEAD_MAX = 8192
"""Items requested at once while they are only skipped."""


class Planner:
    """Reads the plan no faster than the active windows can take its items."""

    def __init__(self, state: KernelState) -> None:
        self._state = state
        self._starved_before = 0
        self._closed_ms = 0
        self._requested_count = 0

    @property
    def is_request_pending(self) -> bool:
        """Whether a `NeedItems` has no reply yet."""
        return self._requested_count > 0

    @property
    def is_exhausted(self) -> bool:
        """Whether every item of the plan is in a window."""
        state = self._state
        return state.intake.is_ended and not state.cutter.carry

    def on_planned(self, event: Planned) -> None:
        """Accept the next items of the plan. Ignored after a stop."""
        state = self._state
        check(self.is_request_pending, "items were planned without a request")
        requested_count, self._requested_count = self._requested_count, 0
        if state.stop is not None:
            return
        check(
            len(event.items) <= requested_count,
            f"{requested_count} items were requested, {len(event.items)} were planned",
        )
        state.intake.admit(event.items)
        state.cutter.carry.extend(event.items)
        if event.ended:
            state.intake.end()
            require(
                state.intake.admitted >= state.resume_point.end,
                f"the plan has {state.intake.admitted} items, but {state.resume_point.end} are already committed; "
                "resume with the same plan",
            )
        self.fill()

    def fill(self) -> None:
        """Put planned items into windows, which are opened and sealed according to the caps."""
        state = self._state
        cutter, windows = state.cutter, state.windows
        self._skip_committed()
        while cutter.carry:
            if not windows or windows[-1].is_sealed:
                if len(windows) == ACTIVE_WINDOWS_MAX:
                    return
                window = self._open()
                windows.append(window)
                state.commands.append(WindowOpened(window.id, window.start, window.target_entries, cutter.sizing))
            window = windows[-1]
            is_full = cutter.fill(window, committed_end=state.resume_point.end)
            start = state.ledger.extend(window.end - len(state.ledger))
            granted = state.resume_point.select_retries(start, window.end)
            if granted:
                state.ledger.restore_attempts(start, granted)
                window.retries.restore(granted)
            if state.ledger.next_commit_seq < state.resume_point.end:
                self._replay(window)
            if is_full:
                state.commands.append(WindowSealed(cutter.seal(window)))
        if state.intake.is_ended and windows and not windows[-1].is_sealed:
            state.commands.append(WindowSealed(cutter.seal(windows[-1])))

    def _skip_committed(self) -> None:
        """Skip the items of windows that were closed before the run was interrupted."""
        state = self._state
        count = min(len(state.cutter.carry), state.resume_point.resume_start - len(state.ledger))
        if count > 0:
            state.cutter.skip_committed(count)
            state.ledger.extend(count)
            state.ledger.replay_commit(len(state.ledger))
            state.ledger.forget(len(state.ledger))

    def _open(self) -> Window:
        """Open the next window, with its previous id and size if it was open when the run was interrupted."""
        state = self._state
        start = len(state.ledger)
        state.cutter.forget_target()
        for known in state.resume_point.windows:
            if known.start == start:
                state.cutter.restore(known.id, known.target_entries, known.sizing)
        return state.cutter.open(start, state.now_ms)

    def _replay(self, window: Window) -> None:
        """Mark the items of this window that the journal records as committed."""
        state = self._state
        start = state.ledger.next_commit_seq
        end = min(state.resume_point.end, window.end)
        state.ledger.replay_commit(end)
        window.retries.mark_final(range(start, end), end - start)
        window.computed_count += end - start
        window.frontier = end

    def on_window_closed(self, window: Window) -> None:
        """Choose the size of the next window, from a snapshot only, and open it."""
        state = self._state
        if state.stop is not None:
            return
        if state.options.windows.adaptive:
            state.cutter.resize(self._take_snapshot(window))
        self.fill()

    def _take_snapshot(self, window: Window) -> SizingSnapshot:
        """Describe the run since the last close, for the size of the next window."""
        state = self._state
        pressure = state.options.pressure
        starved_steps = state.counters.starved_steps
        starved_before, self._starved_before = self._starved_before, starved_steps
        began_ms, self._closed_ms = max(window.opened_ms, self._closed_ms), state.now_ms
        starved_since_ms, state.starved_since_ms = state.starved_since_ms, None
        return SizingSnapshot(
            target_entries=state.cutter.target_entries,
            commit_lag=state.commit_lag,
            used_bytes=max(state.used_bytes, state.pressure.take_bytes_peak()),
            bytes_soft=pressure.buffered_bytes_soft,
            retries=window.retries.used,
            entries=window.entries,
            starved_steps=starved_steps - starved_before,
            resident_bytes=state.resident_bytes,
            resident_bytes_soft=pressure.resident_bytes_soft,
            starved_entries=state.cutter.starved_entries,
            starved_ms=0 if starved_since_ms is None else state.now_ms - starved_since_ms,
            elapsed_ms=state.now_ms - began_ms,
        )

    def request_items(self) -> None:
        """Request items if less than half of `plan_ahead` are ready and a window can take more."""
        state = self._state
        if self._requested_count or state.intake.is_ended or state.cutter.carry:
            return
        windows = state.windows
        if len(windows) == ACTIVE_WINDOWS_MAX and windows[-1].is_sealed:
            return
        plan_ahead = state.options.windows.plan_ahead
        if state.options.windows.plan_by_demand:
            plan_ahead = max(1, min(plan_ahead, 2 * state.demand))
        if len(state.ledger) < state.resume_point.end:
            plan_ahead = min(SKIP_AHEAD_MAX, state.resume_point.end - len(state.ledger) + plan_ahead)
        missing = plan_ahead - state.ready_count
        if missing * 2 > plan_ahead:
            self._requested_count = missing
            state.commands.append(NeedItems(missing))
