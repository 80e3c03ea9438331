"""A limit on tokens per minute, over ten minutes of a time that only the test moves."""

import heapq
import random
from collections.abc import Callable
from typing import NamedTuple

import pytest

from inorder.models.limits import RateLimits, ServerLimits, TokenPacer, parse_duration_s, read_rate_limits
from inorder.models.testing import TokenWindow

LIMIT = 60_000
IN_FLIGHT = 50
LATENCY_S = 2.0
MINUTES = 10


class Outcome(NamedTuple):
    """What ten minutes were used for."""

    share: float
    """Of the limit."""
    busy: int
    """Requests that were answered 429."""
    answered: int
    most: float
    """The most tokens that the server has seen in one minute."""


class Time:
    now_s = 0.0


def simulate(charged: str, make_size: Callable[[random.Random], tuple[int, int, int]]) -> Outcome:
    """Send requests as fast as the pacer lets, for ten minutes. `make_size` returns the tokens of a request, of the
    longest answer that it allows, and of its answer."""
    time, chance = Time(), random.Random(7)
    server = TokenWindow(LIMIT, charged, lambda: time.now_s)  # type: ignore[arg-type]
    pacer = TokenPacer(LIMIT, charged)  # type: ignore[arg-type]
    running: list[tuple[float, int, Callable[[], None]]] = []
    charged_tokens = busy = answered = number = 0
    size = make_size(chance)
    while True:
        declared = size[0] + size[1]
        reservation = pacer.reserve(declared, time.now_s)
        starts_s = reservation.starts_s
        while running and (running[0][0] <= starts_s or len(running) == IN_FLIGHT):
            time.now_s, _, end = heapq.heappop(running)
            end()
        time.now_s = max(time.now_s, starts_s)
        if time.now_s > MINUTES * 60:
            return Outcome(charged_tokens / (LIMIT * MINUTES), busy, answered, server.most)
        entry = server.take(declared, size[0])
        if entry is None:
            busy += 1
            time.now_s += 1.0
            continue
        number += 1
        used = size[0] + size[2]

        def end(entry=entry, reservation=reservation, declared=declared, used=used) -> None:  # type: ignore[no-untyped-def]
            server.settle(entry, used)
            pacer.settle(reservation, declared, used)

        heapq.heappush(running, (time.now_s + LATENCY_S, number, end))
        charged_tokens += declared if charged == "declared" else used
        answered += 1
        size = make_size(chance)


def make_page(chance: random.Random) -> tuple[int, int, int]:
    """A page: an image of the same size, a limit that is never reached, and an answer as long as its text."""
    return 1100, 4096, int(chance.lognormvariate(6.5, 0.5))


def make_text(chance: random.Random) -> tuple[int, int, int]:
    """A text of any length, and a short answer."""
    return chance.randint(50, 2500), 500, chance.randint(20, 500)


@pytest.mark.req("MOD-3")
@pytest.mark.parametrize("make_size", [make_page, make_text])
def test_a_server_that_charges_what_is_declared_is_never_asked_for_more_and_used_well(
    make_size: Callable[[random.Random], tuple[int, int, int]],
) -> None:
    outcome = simulate("declared", make_size)
    assert outcome.busy == 0
    assert outcome.most <= LIMIT
    assert outcome.share >= 0.9


@pytest.mark.req("MOD-3")
@pytest.mark.parametrize("make_size", [make_page, make_text])
def test_a_server_that_charges_what_was_used_is_used_well_and_rarely_busy(
    make_size: Callable[[random.Random], tuple[int, int, int]],
) -> None:
    outcome = simulate("used", make_size)
    assert outcome.busy <= 0.01 * outcome.answered
    assert outcome.share >= 0.8


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("1.5", 1.5), ("20ms", 0.02), ("6m0s", 360.0), ("1h2m3.5s", 3723.5), ("soon", None), ("", None), (None, None)],
)
def test_a_duration_in_a_header_is_read(text: str | None, seconds: float | None) -> None:
    assert parse_duration_s(text) == seconds


def test_the_headers_of_a_server_say_its_limits() -> None:
    headers = {
        "x-ratelimit-limit-tokens": "60000",
        "x-ratelimit-remaining-tokens": "0",
        "x-ratelimit-reset-tokens": "6s",
        "x-ratelimit-remaining-requests": "many",
    }
    assert read_rate_limits(headers) == RateLimits(tokens=60_000, tokens_left=0, tokens_reset_s=6.0)


@pytest.mark.req("MOD-3", "LAN-1")
def test_a_client_minds_the_limits_that_a_server_states_unless_the_user_has_set_them() -> None:
    from inorder.models.calls import ServerCalls

    headers = {"x-ratelimit-limit-tokens": "600", "x-ratelimit-limit-requests": "120"}
    for limits, tokens, rate in (
        (ServerLimits(), 600, 2.0),
        (ServerLimits(tokens_per_minute=60, rate_per_s=1.0), 60, 1.0),
    ):
        calls = ServerCalls("test", lambda body, timeout_s: body, limits)
        calls.note_headers(headers)
        assert (calls.limits.tokens_per_minute, calls.limits.rate_per_s) == (tokens, rate)
        calls.close()


@pytest.mark.req("MOD-3")
def test_a_server_without_tokens_is_left_alone_until_it_has_some_again() -> None:
    from inorder.models.calls import ServerCalls

    waits: list[float] = []
    calls = ServerCalls("test", lambda body, timeout_s: body, ServerLimits(), lambda: 100.0, waits.append)
    calls.note_headers({"x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": "7s"})
    assert calls.finish(calls.begin(b"", 10)) == b""
    calls.close()
    assert waits == [7.0]
