"""When dispatch slows, pauses and goes on."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inorder.core.options import PressureOptions
from inorder.core.pressure import USER_OPTIONS, Level, Pressure

CALM = (0, 0, 0, 0)
MARKS = {
    "buffered_bytes_soft": 100,
    "buffered_bytes_hard": 200,
    "window_bytes_soft": 50,
    "window_bytes_hard": 150,
    "commit_lag_soft": 10,
    "commit_lag_hard": 20,
    "resident_bytes_soft": 1000,
    "resident_bytes_hard": 2000,
}


def pressure(**marks: Any) -> Pressure:
    return Pressure(PressureOptions(**(MARKS | {"release_ratio_percent": 80} | marks)))


def only(position: int, value: int) -> tuple[int, int, int, int]:
    values = [0, 0, 0, 0]
    values[position] = value
    return tuple(values)


SIGNAL_MARKS = [
    pytest.param(0, 100, 200, id="buffered bytes"),
    pytest.param(1, 50, 150, id="window bytes"),
    pytest.param(2, 10, 20, id="commit lag"),
    pytest.param(3, 1000, 2000, id="resident memory"),
]


@pytest.mark.req("BPR-1", "BPR-4")
@pytest.mark.parametrize(("position", "soft", "hard"), SIGNAL_MARKS)
def test_each_signal_slows_above_its_soft_mark_and_pauses_above_its_hard_one(
    position: int, soft: int, hard: int, request: pytest.FixtureRequest
) -> None:
    signal = request.node.callspec.id
    watched = pressure()
    assert not watched.observe(0, only(position, soft))
    assert watched.observe(0, only(position, soft + 1))
    assert (watched.level, watched.reason) == (
        Level.SOFT,
        f"{signal} {soft + 1} above {USER_OPTIONS[Level.SOFT][position]} {soft}",
    )
    assert not watched.observe(0, only(position, hard))
    assert watched.observe(0, only(position, hard + 1))
    assert (watched.level, watched.reason) == (
        Level.HARD,
        f"{signal} {hard + 1} above {USER_OPTIONS[Level.HARD][position]} {hard}",
    )


@pytest.mark.req("BPR-2")
@pytest.mark.parametrize(("position", "soft", "hard"), SIGNAL_MARKS)
def test_each_level_is_left_only_at_the_release_share_of_its_mark(position: int, soft: int, hard: int) -> None:
    watched = pressure()
    watched.observe(0, only(position, hard + 1))
    assert not watched.observe(1, only(position, hard * 80 // 100 + 1))
    assert watched.observe(2, only(position, hard * 80 // 100))
    assert watched.level is Level.SOFT
    assert not watched.observe(3, only(position, soft * 80 // 100 + 1))
    assert watched.observe(4, only(position, soft * 80 // 100))
    assert (watched.level, watched.reason) == (Level.NORMAL, "")


@pytest.mark.req("BPR-2")
def test_every_signal_must_be_released_not_only_the_one_that_tripped() -> None:
    watched = pressure()
    watched.observe(0, (201, 0, 0, 0))
    assert not watched.observe(1, (0, 0, 17, 0))
    assert watched.level is Level.HARD
    assert watched.observe(2, (0, 0, 16, 0))
    assert watched.level is Level.SOFT
    assert not watched.observe(3, (0, 0, 9, 0))
    assert watched.observe(4, (0, 0, 8, 0))
    assert watched.level is Level.NORMAL


@pytest.mark.req("BPR-2")
def test_a_pause_may_end_in_normal_at_once() -> None:
    watched = pressure()
    watched.observe(0, (201, 0, 0, 0))
    assert watched.observe(1, CALM)
    assert (watched.level, watched.resumes) == (Level.NORMAL, 1)


@pytest.mark.req("BPR-4")
def test_pauses_are_timed_and_resumes_counted() -> None:
    watched = pressure()
    assert watched.paused_ms(5) == 0
    watched.observe(10, (201, 0, 0, 0))
    assert watched.paused_ms(25) == 15
    watched.observe(30, (90, 0, 0, 0))
    assert (watched.level, watched.paused_ms(1000), watched.resumes) == (Level.SOFT, 20, 1)
    watched.observe(100, (201, 0, 0, 0))
    watched.observe(107, CALM)
    assert (watched.paused_ms(1000), watched.resumes) == (27, 2)


@pytest.mark.req("BPR-4")
def test_leaving_soft_is_no_resume() -> None:
    watched = pressure()
    watched.observe(0, (101, 0, 0, 0))
    watched.observe(1, CALM)
    assert (watched.resumes, watched.paused_ms(9)) == (0, 0)


@pytest.mark.req("BPR-3")
@pytest.mark.parametrize(("prefetch", "window"), [(30, 50), (50, 30)])
def test_prefetch_closes_above_its_own_mark_and_above_that_of_a_window(prefetch: int, window: int) -> None:
    watched = pressure(prefetch_bytes_max=prefetch, window_bytes_soft=window)
    watched.observe_prefetch(30)
    assert watched.is_prefetch_open
    watched.observe_prefetch(31)
    assert not watched.is_prefetch_open


@pytest.mark.req("BPR-2", "BPR-3")
def test_prefetch_closes_above_the_soft_mark_of_a_window_and_reopens_at_the_release_share() -> None:
    watched = pressure()
    seen = []
    for window_bytes in (50, 51, 41, 40, 50, 51):
        watched.observe_prefetch(window_bytes)
        seen.append(watched.is_prefetch_open)
    assert seen == [True, False, False, True, True, False]
    assert watched.level is Level.NORMAL


@pytest.mark.slow
@pytest.mark.req("BPR-2")
@given(
    st.lists(st.tuples(*(st.integers(0, 250) for _ in range(4))), max_size=40),
    st.integers(1, 99),
)
def test_a_level_is_entered_above_a_mark_and_left_at_or_below_every_release_level(
    observations: list[tuple[int, int, int, int]], ratio: int
) -> None:
    watched = pressure(resident_bytes_soft=100, resident_bytes_hard=200, release_ratio_percent=ratio)
    soft, hard = (100, 50, 10, 100), (200, 150, 20, 200)
    for now_ms, values in enumerate(observations):
        before = watched.level
        changed = watched.observe(now_ms, values)
        assert changed == (watched.level is not before)
        above_soft = any(value > mark for value, mark in zip(values, soft, strict=True))
        above_hard = any(value > mark for value, mark in zip(values, hard, strict=True))
        assert watched.level >= (Level.HARD if above_hard else Level.SOFT if above_soft else Level.NORMAL)
        if watched.level > before:
            assert above_hard if watched.level is Level.HARD else above_soft
        for level, marks in ((Level.SOFT, soft), (Level.HARD, hard)):
            released = all(value * 100 <= mark * ratio for value, mark in zip(values, marks, strict=True))
            if before >= level > watched.level:
                assert released
            if released and before >= level and not (above_hard if level is Level.HARD else above_soft):
                assert watched.level < level or (level is Level.SOFT and watched.level is Level.HARD)
