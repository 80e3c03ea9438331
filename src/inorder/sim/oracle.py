"""The expected outcome of every item, derived from the scenario alone: one worker, one item at a time, no clock.

An item that hangs without a time limit never ends: only items before it are committed.
"""

import msgspec

from inorder.core.transitions import State

from .scenario import Fate, Scenario, SimItem

_FATE_OUTCOMES = {
    Fate.OK: State.TERMINAL_SUCCESS,
    Fate.SKIP: State.TERMINAL_SKIP,
    Fate.FAIL: State.TERMINAL_FAIL,
    Fate.HOSTILE: State.TERMINAL_FAIL,
    Fate.HANG: State.TERMINAL_FAIL,
}


class ExpectedOutcome(msgspec.Struct, frozen=True):
    """The expected outcome of one item."""

    outcome: State
    retries: int


class Expected(msgspec.Struct, frozen=True, kw_only=True):
    """The expected outcomes, up to the item that exceeds the error budget, if there is one."""

    outcomes: tuple[ExpectedOutcome, ...]
    stops_early: bool

    def count(self, outcome: State) -> int:
        """Count the items with this outcome."""
        return sum(ending.outcome is outcome for ending in self.outcomes)


def predict(scenario: Scenario) -> Expected:
    """Derive the outcomes from the plan, in order."""
    outcomes: list[ExpectedOutcome] = []
    failed = 0
    budget = scenario.options.error_budget
    for window in _cut_windows(scenario):
        left = scenario.options.retry.window_retries_max
        for item in window:
            ending = _predict_outcome(item, scenario.options.retry.retries_max, left)
            if item.fate is Fate.HANG and scenario.timeout_ms is None and ending.retries == item.failures:
                return Expected(outcomes=tuple(outcomes), stops_early=False)
            if left is not None:
                left -= ending.retries
            outcomes.append(ending)
            failed += ending.outcome is State.TERMINAL_FAIL
            if budget is not None and failed > budget:
                return Expected(outcomes=tuple(outcomes), stops_early=True)
    return Expected(outcomes=tuple(outcomes), stops_early=False)


def _predict_outcome(item: SimItem, retries_max: int, left: int | None) -> ExpectedOutcome:
    allowed = retries_max if left is None else min(retries_max, left)
    if item.failures > allowed:
        return ExpectedOutcome(State.TERMINAL_FAIL, allowed)
    return ExpectedOutcome(_FATE_OUTCOMES[item.fate], item.failures)


def _cut_windows(scenario: Scenario) -> list[list[SimItem]]:
    """Cut the plan into windows. It matters only where retries are limited per window; those are not adaptive."""
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
