"""The token bucket: never more than the rate and the burst allow, whatever the clock does."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inorder.lanes.token_bucket import TokenBucket

pytestmark = pytest.mark.req("LAN-2")


def takes(bucket: TokenBucket, now_s: float) -> int:
    """How many tokens can be taken at this moment."""
    count = 0
    while bucket.try_take(now_s):
        count += 1
    return count


def test_it_starts_full() -> None:
    assert takes(TokenBucket(1.0, 5), now_s=100.0) == 5


def test_tokens_come_at_the_rate() -> None:
    bucket = TokenBucket(2.0, 1)
    assert takes(bucket, 0.0) == 1
    assert [bucket.try_take(now_s) for now_s in (0.4, 0.5, 0.9, 1.0)] == [False, True, False, True]


def test_a_long_pause_saves_up_no_more_than_the_burst() -> None:
    bucket = TokenBucket(10.0, 3)
    takes(bucket, 0.0)
    assert takes(bucket, 1e6) == 3


def test_the_wait_it_names_is_the_time_to_the_next_token() -> None:
    bucket = TokenBucket(4.0, 1)
    assert bucket.seconds_until_token(0.0) == 0.0
    bucket.try_take(0.0)
    assert bucket.seconds_until_token(0.0) == pytest.approx(0.25)
    assert bucket.seconds_until_token(0.1) == pytest.approx(0.15)
    assert bucket.seconds_until_token(0.25) == 0.0


def test_to_ask_takes_nothing() -> None:
    bucket = TokenBucket(1.0, 1)
    assert [bucket.seconds_until_token(0.0) for _ in range(3)] == [0.0] * 3
    assert takes(bucket, 0.0) == 1


def test_a_clock_that_goes_back_brings_no_token_and_stops_none() -> None:
    bucket = TokenBucket(1.0, 2)
    takes(bucket, 1000.0)
    assert not bucket.try_take(500.0)
    assert not bucket.try_take(500.9)
    assert bucket.try_take(501.0)


def test_a_refund_gives_the_token_back_and_never_more_than_the_burst() -> None:
    bucket = TokenBucket(0.001, 2)
    takes(bucket, 0.0)
    bucket.refund()
    assert takes(bucket, 0.0) == 1
    for _ in range(5):
        bucket.refund()
    assert takes(bucket, 0.0) == 2


RATES = st.floats(0.01, 1e4)
BURSTS = st.integers(1, 50)
STEPS_S = st.lists(st.floats(0, 100), min_size=1, max_size=60)


@pytest.mark.slow
@given(RATES, BURSTS, STEPS_S)
def test_no_stretch_of_time_gives_more_than_the_burst_and_the_rate(
    rate_per_s: float, burst: int, steps_s: list[float]
) -> None:
    bucket = TokenBucket(rate_per_s, burst)
    now_s, taken_at_s = 0.0, []
    for step_s in steps_s:
        now_s += step_s
        taken_at_s += [now_s] * sum(bucket.try_take(now_s) for _ in range(burst + 2))
    for first, start_s in enumerate(taken_at_s):
        for last in range(first, len(taken_at_s)):
            allowed = burst + rate_per_s * (taken_at_s[last] - start_s)
            assert last - first + 1 <= allowed + 1e-3


@pytest.mark.slow
@given(RATES, BURSTS, st.lists(st.floats(-50, 100), min_size=1, max_size=60))
def test_a_jumping_clock_never_gives_more_than_its_steps_forward(
    rate_per_s: float, burst: int, steps_s: list[float]
) -> None:
    bucket = TokenBucket(rate_per_s, burst)
    now_s, taken = 1000.0, 0
    for step_s in steps_s:
        now_s += step_s
        taken += sum(bucket.try_take(now_s) for _ in range(burst + 2))
    forward_s = sum(step_s for step_s in steps_s if step_s > 0)
    assert taken <= burst + rate_per_s * forward_s + 1e-3


@pytest.mark.slow
@given(RATES, BURSTS, st.floats(0, 1e6))
def test_whoever_waits_as_long_as_told_gets_a_token(rate_per_s: float, burst: int, now_s: float) -> None:
    bucket = TokenBucket(rate_per_s, burst)
    for _ in range(burst):
        assert bucket.try_take(now_s)
    for _ in range(5):
        wait_s = bucket.seconds_until_token(now_s)
        assert wait_s > 0
        assert not bucket.try_take(now_s + wait_s / 2)
        now_s += wait_s + 1e-7
        assert bucket.try_take(now_s)
