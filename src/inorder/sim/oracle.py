"""How every item must end, worked out from the scenario alone: one worker, one item at a time, no clock.

An item that hangs without a time limit never ends: whatever is committed lies before it.
"""

import msgspec

from inorder.core.transitions import State

from .scenario import Fate, Scenario, SimItem

_ENDINGS = {
    Fate.OK: State.TERMINAL_SUCCESS,
    Fate.SKIP: State.TERMINAL_SKIP,
    Fate.FAIL: State.TERMINAL_FAIL,
    Fate.HOSTILE: State.TERMINAL_FAIL,
    Fate.HANG: State.TERMINAL_FAIL,
}


class Ending(msgspec.Struct, frozen=True):
    """How one item ends, and what it cost."""

    outcome: State
    retries: int


class Prophecy(msgspec.Struct, frozen=True, kw_only=True):
    """The endings of the items up to the one where the error budget runs out, if it does."""

    endings: tuple[Ending, ...]
    stops_early: bool

    def count(self, outcome: State) -> int:
        """Items that end like this."""
        return sum(ending.outcome is outcome for ending in self.endings)


def foretell(scenario: Scenario) -> Prophecy:
    """Go through the plan in order."""
    endings: list[Ending] = []
    failed = 0
    budget = scenario.options.error_budget
    for window in _windows(scenario):
        left = scenario.options.retry.window_retries_max
        for item in window:
            ending = _ending(item, scenario.options.retry.retries_max, left)
            if item.fate is Fate.HANG and scenario.timeout_ms is None and ending.retries == item.failures:
                return Prophecy(endings=tuple(endings), stops_early=False)
            if left is not None:
                left -= ending.retries
            endings.append(ending)
            failed += ending.outcome is State.TERMINAL_FAIL
            if budget is not None and failed > budget:
                return Prophecy(endings=tuple(endings), stops_early=True)
    return Prophecy(endings=tuple(endings), stops_early=False)


def _ending(item: SimItem, retries_max: int, left: int | None) -> Ending:
    allowed = retries_max if left is None else min(retries_max, left)
    if item.failures > allowed:
        return Ending(State.TERMINAL_FAIL, allowed)
    return Ending(_ENDINGS[item.fate], item.failures)


def _windows(scenario: Scenario) -> list[list[SimItem]]:
    """The plan cut by the caps. It matters only where retries are bounded per window; those are not adaptive."""
    limits = scenario.options.windows
    windows: list[list[SimItem]] = []
    cost, size = 0.0, 0
    for item in scenario.items:
        window = windows[-1] if windows else []
        is_full = len(window) >= min(limits.entries, limits.span_max)
        is_full = is_full or cost + item.cost > limits.cost_max or size + item.size_hint > limits.bytes_max
        if not window or is_full:
            windows.append([])
            cost, size = 0.0, 0
        windows[-1].append(item)
        cost += item.cost
        size += item.size_hint
    return windows
