"""Servers that are busy, slow, broken or closed to us."""

import threading
from collections.abc import Iterator
from typing import Any

import pytest

from inorder.documents.embed.providers.server import ServerProvider
from inorder.errors import OperatorError
from inorder.models import calls
from inorder.models.calls import ServerCalls
from inorder.models.http import KEY_VARIABLE
from inorder.models.limits import ServerLimits, TokenPacer, estimate_tokens
from inorder.stage.contracts import StageError
from tests.documents.embed.servers import (
    Script,
    StillTime,
    assert_true,
    client,
    cut_before_the_answer,
    cut_in_the_middle,
    held_by,
    refusing,
    serving,
    status,
    well,
)
from tests.lanes.doubles import Caller

pytestmark = pytest.mark.req("DOC-5")

TEXTS = ["one", "two words", "and three of them"]


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    monkeypatch.delenv(KEY_VARIABLE, raising=False)


@pytest.fixture
def gate() -> Iterator[threading.Event]:
    gate = threading.Event()
    yield gate
    gate.set()


@pytest.fixture
def time() -> StillTime:
    return StillTime()


def ask(script: Script, time: StillTime | None = None, texts: list[str] = TEXTS, **options: Any) -> Any:
    """Embed the texts with a server that follows the script; what came of it, or what was raised."""
    with serving(script) as address:
        provider = client(address, time, **options)
        try:
            return provider.embed(texts)
        except (StageError, OperatorError) as error:
            return error
        finally:
            provider.close()


@pytest.mark.parametrize("kind", ["tei", "openai"])
def test_a_good_answer_becomes_unit_rows_in_order(kind: str, time: StillTime) -> None:
    script = Script()
    assert_true(ask(script, time, kind=kind), TEXTS)
    assert script.paths == ["/embed" if kind == "tei" else "/v1/embeddings"]
    assert time.waits == []


def test_the_openai_protocol_names_the_model(time: StillTime) -> None:
    script = Script()
    ask(script, time, kind="openai")
    assert script.bodies[0]["model"] == "a-model"


@pytest.mark.parametrize(
    ("headers", "waited_s"),
    [
        ({"Retry_After": "7"}, 7.0),
        ({"Retry_After": "Sun, 06 Nov 1994 08:49:48 GMT", "Date": "Sun, 06 Nov 1994 08:49:37 GMT"}, 11.0),
        ({"Retry_After": "Sun, 06 Nov 1994 08:49:37 GMT"}, 0.0),
        ({"Retry_After": "soon"}, 0.5),
        ({}, 0.5),
    ],
    ids=["seconds", "date", "date in the past", "nonsense", "nothing"],
)
def test_a_server_that_is_asked_too_often_is_left_alone_as_long_as_it_says(
    headers: dict[str, str], waited_s: float, time: StillTime
) -> None:
    script = Script(status(429, **headers))
    assert_true(ask(script, time), TEXTS)
    assert time.waits == [waited_s]
    assert len(script.texts) == 2


def test_what_one_caller_is_told_everybody_minds(time: StillTime) -> None:
    script = Script(status(429, Retry_After="7"))
    with serving(script) as address:
        provider = client(address, time, attempts_max=1)
        with pytest.raises(StageError, match="429") as caught:
            provider.embed(TEXTS)
        assert caught.value.retry_after_s == 7
        time.wait(2.0)
        with pytest.raises(StageError, match="429") as caught:
            provider.embed(["another text"])
        assert (caught.value.outage, caught.value.retry_after_s) == (address, 5)
        time.wait(5.0)
        assert_true(provider.embed(TEXTS), TEXTS)
        provider.close()
    assert script.texts == [TEXTS, ["dimensions"], TEXTS], "it is asked nothing before"


@pytest.mark.req("RTY-5")
def test_a_server_that_wants_more_time_than_there_is_fails_the_call_at_once(time: StillTime) -> None:
    error = ask(Script(status(429, Retry_After="500")), time, deadline_s=60.0)
    assert isinstance(error, StageError)
    assert error.retryable
    assert "60 s" in str(error)
    assert "the next attempt must wait 500 s" in str(error)
    assert error.retry_after_s == 500
    assert time.waits == []


@pytest.mark.parametrize("step", [status(500), status(503), cut_before_the_answer, cut_in_the_middle])
def test_a_failure_of_the_moment_is_tried_again(step: Any, time: StillTime) -> None:
    script = Script(step, step)
    assert_true(ask(script, time), TEXTS)
    assert time.waits == [0.5, 1.0]
    assert len(script.texts) == 3


def test_a_server_that_never_recovers_is_given_up(time: StillTime) -> None:
    script = Script(*[status(500, b"out of\nmemory")] * 9)
    error = ask(script, time, attempts_max=4, backoff_s_max=1.5)
    assert isinstance(error, StageError)
    assert (error.category, error.retryable) == ("provider", True)
    assert "500: out of memory" in str(error)
    assert error.outage.startswith("http://")
    assert time.waits == [0.5, 1.0, 1.5]
    assert script.texts == [TEXTS] * 4 + [["dimensions"]], "it is asked something harmless in the end"


@pytest.mark.req("RTY-5", "ROB-1")
def test_a_text_that_the_server_cannot_take_is_no_outage(time: StillTime) -> None:
    error = ask(Script(otherwise=refusing("two", 500)), time, attempts_max=2)
    assert isinstance(error, StageError)
    assert (error.category, error.retryable, error.outage) == ("provider", True, "")


@pytest.mark.req("RTY-5")
def test_a_server_that_is_down_is_asked_once_until_it_answers_again(time: StillTime) -> None:
    script = Script(*[status(503)] * 4)
    with serving(script) as address:
        provider = client(address, time, attempts_max=2, backoff_s=0.1)
        for passed_s, asked in ((0.0, 3), (0.1, 3), (0.5, 4), (0.1, 4)):
            time.wait(passed_s)
            with pytest.raises(StageError, match="503") as caught:
                provider.embed(TEXTS)
            assert caught.value.outage == address
            assert len(script.texts) == asked
        time.wait(0.5)
        assert_true(provider.embed(TEXTS), TEXTS)
        assert provider.batches.take_retries() == 1
        provider.close()
    assert script.texts[4:] == [["dimensions"], TEXTS]


def test_an_address_where_nothing_listens_is_a_retryable_error(time: StillTime) -> None:
    with serving(Script()) as address:
        pass
    provider = client(address, time, attempts_max=2)
    with pytest.raises(StageError, match="cannot reach http") as caught:
        provider.embed(TEXTS)
    provider.close()
    assert caught.value.retryable


def test_an_answer_that_does_not_come_in_time_is_not_waited_for(gate: threading.Event) -> None:
    with serving(Script(held_by(gate))) as address:
        provider = client(address, deadline_s=0.2)
        with pytest.raises(StageError, match=r"not completed within 0\.2 s") as caught:
            provider.embed(TEXTS)
        assert caught.value.retryable
        gate.set()
        provider.close()


def test_a_request_that_hangs_for_whatever_reason_is_given_up_and_its_place_is_free(gate: threading.Event) -> None:
    bodies = []

    def send(body: bytes, timeout_s: float) -> bytes:
        bodies.append(body)
        if body == b"hang":
            gate.wait(60)
        return body

    asked = ServerCalls("test", send, ServerLimits(in_flight=1, deadline_s=1.0))
    with pytest.raises(StageError, match="no response"):
        asked.finish(asked.begin(b"hang"))
    assert asked.finish(asked.begin(b"go")) == b"go"
    asked.close()
    assert bodies == [b"hang", b"", b"go"]


@pytest.mark.parametrize("code", [401, 403])
def test_a_refused_key_is_the_operators_to_mend(code: int, time: StillTime, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(KEY_VARIABLE, "a-secret")
    script = Script(status(code, b"the key a-secret is not known"))
    error = ask(script, time)
    assert isinstance(error, OperatorError)
    assert "the key *** is not known" in str(error)
    assert KEY_VARIABLE in str(error)
    assert "a-secret" not in str(error)
    assert script.headers[0]["Authorization"] == "Bearer a-secret"
    assert len(script.texts) == 1


def test_a_redirect_is_not_followed_because_it_would_take_the_key_along(time: StillTime) -> None:
    script = Script(status(302, Location="/elsewhere"))
    error = ask(script, time)
    assert isinstance(error, OperatorError)
    assert script.paths == ["/embed"]


def test_a_request_that_the_server_refuses_for_good_is_made_once(time: StillTime) -> None:
    script = Script(status(413, b"too long"))
    error = ask(script, time)
    assert isinstance(error, StageError)
    assert (error.category, error.retryable) == ("provider", False)
    assert "too long" in str(error)
    assert len(script.texts) == 1


@pytest.mark.slow
@pytest.mark.req("LAN-10")
def test_many_texts_go_in_bounded_requests_of_which_few_are_under_way(gate: threading.Event) -> None:
    texts = [f"text {number}" for number in range(100)]
    script = Script(*[held_by(gate)] * 6)
    with serving(script) as address:
        provider = client(address, texts_max=9, in_flight=3)
        callers = [Caller(provider.embed, texts) for _ in range(2)]
        script.has_requests(3)
        soon = threading.Event()
        while (counted := provider.statistics()).running + counted.depth < 6:
            soon.wait(0.001)
        assert counted.running == 3
        gate.set()
        for caller in callers:
            assert_true(caller.answer(), texts)
        counted = provider.statistics()
        provider.close()
    assert max(len(asked) for asked in script.texts) == 9
    assert script.in_flight_max == 3
    assert (counted.submitted, counted.completed) == (24, 24)


@pytest.mark.req("LAN-10")
@pytest.mark.parametrize("first", [well, status(500)], ids=["a second request", "a retry"])
def test_every_request_takes_a_token(first: Any) -> None:
    script = Script(first)
    texts = ["a", "b"] if first is well else ["a"]
    error = ask(script, None, texts, texts_max=1, rate_per_s=0.001, deadline_s=0.2, backoff_s=0.001)
    assert isinstance(error, StageError)
    assert "still queued" in str(error)
    assert len(script.texts) == 1


def test_requests_are_spread_by_their_tokens_and_the_wait_is_not_charged_to_the_deadline() -> None:
    """Each text of 40 bytes counts ten tokens, which take ten seconds."""
    script = Script()
    time = StillTime()
    with serving(script) as address:
        provider = client(address, time, texts_max=1, tokens_per_minute=60, deadline_s=5.0)
        provider.embed(["x" * 40] * 3)
        provider.close()
    assert time.waits == [10.0, 10.0]
    assert len(script.texts) == 3


def test_a_retry_is_charged_for_its_tokens_again() -> None:
    time = StillTime()
    with serving(Script(status(503))) as address:
        provider = client(address, time, tokens_per_minute=60, backoff_s=1.0)
        provider.embed(["x" * 40])
        provider.embed(["x" * 40])
        provider.close()
    assert time.waits == [1.0, 9.0, 10.0], "after the error, for what is left of ten seconds, and for the retry"


def test_a_pause_is_not_saved_up_for_later() -> None:
    pacer = TokenPacer(60)
    assert pacer.reserve(10, 0.0).starts_s == 0.0
    assert pacer.reserve(10, 1000.0).starts_s == 1000.0
    assert pacer.reserve(10, 1000.0).starts_s == 1010.0


@pytest.mark.parametrize(("texts", "tokens"), [([], 0), ([""], 0), (["a"], 1), (["abcd", "abcde"], 3), (["\u706f"], 1)])
def test_a_token_is_taken_for_four_bytes(texts: list[str], tokens: int) -> None:
    assert estimate_tokens(texts) == tokens


def closed_while(provider: ServerProvider, script: Script) -> None:
    """Close the provider once the server has been asked; the caller learns of it."""
    caller = Caller(provider.embed, TEXTS)
    script.has_requests()
    provider.close()
    with pytest.raises(StageError, match="closed"):
        caller.answer()
    with pytest.raises(StageError, match="closed"):
        provider.embed(TEXTS)


def test_closing_tells_a_caller_who_waits_for_an_answer(gate: threading.Event, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calls, "_CLOSE_S", 0.01)
    script = Script(held_by(gate))
    with serving(script) as address:
        closed_while(client(address), script)
        gate.set()


def test_closing_tells_a_caller_who_waits_for_the_next_attempt() -> None:
    script = Script(status(429, Retry_After="100"))
    with serving(script) as address:
        closed_while(client(address), script)


def test_the_dimensions_are_asked_for_where_nothing_was_embedded_yet(time: StillTime) -> None:
    script = Script()
    with serving(script) as address:
        provider = client(address, time)
        assert provider.dimensions == 8
        assert provider.embed([]).shape == (0, 8)
        provider.close()
    assert len(script.texts) == 1
