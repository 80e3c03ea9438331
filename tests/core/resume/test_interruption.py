"""A run that is interrupted after any of its seqs and goes on ends like one that never was.

What the second run knows is what a journal would know: the outcomes of what is committed, and of windows and retries
all that was told before the run of outcomes that the interruption fell into.
"""

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inorder.core.commands import CommitRun, RetryScheduled, WindowOpened, WindowSealed
from inorder.core.events import Envelope
from inorder.core.resume_point import ResumePoint, ResumeWindow
from inorder.core.windows.window import SealedWindow
from tests.core.driver import FAIL, SKIP, SUCCESS, Driver, Story, options

words = st.sampled_from(["s", "s", "s", "k", "f", "rs", "rrs", "r"])
choice_lists = st.lists(st.integers(0, 1000), min_size=1, max_size=40)
Outcomes = list[tuple[int, int]]


def played(
    script: Sequence[str],
    choices: Sequence[int],
    workers: int,
    limits: dict[str, Any],
    resume_point: ResumePoint | None = None,
) -> Driver:
    """A run, from the beginning or from there, to its end."""
    driver = Driver(options(**limits), total=len(script), resume_point=resume_point)
    story = Story(driver, script, choices, workers=workers)
    if resume_point is not None:
        story.goes_on({seq: count for seq, count in resume_point.retries_granted.items() if seq >= resume_point.end})
    return story.to_its_end(losses=2)


def outcomes_of(envelopes: Sequence[Envelope]) -> Outcomes:
    return [(envelope.seq, envelope.outcome) for envelope in envelopes]


def known_at(driver: Driver, end: int) -> ResumePoint:
    """What is known of this run when it is interrupted after everything below `end` was acknowledged."""
    opened: list[ResumeWindow] = []
    granted: dict[int, int] = {}
    spent: dict[int, int] = {}
    for command in driver.commands:
        if isinstance(command, WindowOpened):
            opened.append(ResumeWindow(command.id, command.start, command.target_entries, command.sizing))
        elif isinstance(command, RetryScheduled):
            granted[command.seq] = command.retries
        elif isinstance(command, CommitRun):
            granted |= command.retries
            spent |= command.retries
            if command.end >= end:
                break
    while len(opened) > 1 and opened[1].start <= end:
        del opened[0]
    outcomes = bytes(envelope.outcome for envelope in driver.committed[:end])
    start = opened[0].start if end else 0
    return ResumePoint(
        end=end,
        succeeded=outcomes.count(SUCCESS),
        skipped=outcomes.count(SKIP),
        failed=outcomes.count(FAIL),
        retries=sum(count for seq, count in spent.items() if seq < end),
        retries_granted={seq: count for seq, count in granted.items() if seq >= start} if end else {},
        windows=tuple(opened) if end else (),
    )


@pytest.mark.slow
@pytest.mark.req("JRN-3")
@given(
    script=st.lists(words, min_size=1, max_size=16),
    choices=choice_lists,
    again=choice_lists,
    budget=st.none() | st.integers(0, 4),
    entries=st.integers(1, 7),
    bound=st.none() | st.integers(0, 5),
    plan_ahead=st.integers(1, 20),
)
def test_a_run_interrupted_after_any_seq_ends_with_the_same_summary_and_the_same_outcomes(
    script: list[str],
    choices: list[int],
    again: list[int],
    budget: int | None,
    entries: int,
    bound: int | None,
    plan_ahead: int,
) -> None:
    limits = {
        "entries": entries,
        "error_budget": budget,
        "retries_max": 2,
        "window_retries_max": bound,
        "plan_ahead": plan_ahead,
    }
    first = played(script, choices, 3, limits)
    for end in range(len(first.committed) + 1):
        resume_point = known_at(first, end)
        second = played(script, again, 2, limits, resume_point)
        assert second.kernel.summary == first.kernel.summary
        assert outcomes_of(first.committed[:end] + second.committed) == outcomes_of(first.committed)
        if budget is None:
            assert seals(second) == [record for record in seals(first) if record.start >= resume_point.resume_start]


@pytest.mark.slow
@pytest.mark.req("JRN-3", "WIN-6")
@given(script=st.lists(words, min_size=1, max_size=24), choices=choice_lists, again=choice_lists)
def test_windows_that_had_adapted_are_cut_where_they_were(
    script: list[str], choices: list[int], again: list[int]
) -> None:
    limits = {"entries": 3, "entries_max": 8, "adaptive": True, "retries_max": 2, "plan_ahead": 4}
    first = played(script, choices, 3, limits)
    before = {record.start: record for record in seals(first)}
    for end in range(len(first.committed) + 1):
        resume_point = known_at(first, end)
        second = played(script, again, 2, limits, resume_point)
        assert second.kernel.summary == first.kernel.summary
        after = {record.start: record for record in seals(second)}
        for window in resume_point.windows:
            assert after[window.start] == before[window.start]


def seals(driver: Driver) -> list[SealedWindow]:
    """The windows of a run."""
    return [sealed.record for sealed in driver.told(WindowSealed)]
