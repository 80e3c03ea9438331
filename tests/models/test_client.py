"""A model behind a server: what is asked, what is paid, and what is raised."""

import threading
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from inorder.errors import OperatorError, StageError
from inorder.models.answers import Answer, AnswerStore
from inorder.models.budget import ModelBudget, SpendingLimits
from inorder.models.client import ModelClient, require_access
from inorder.models.http import KEY_VARIABLE, RefusedError
from inorder.models.limits import ServerLimits
from inorder.models.question import Image, ModelInput, Question
from inorder.testing import ModelRequest, ModelServer

FAST = ServerLimits(in_flight=8, backoff_s=0.001, deadline_s=20.0)


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    monkeypatch.delenv(KEY_VARIABLE, raising=False)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[AnswerStore]:
    with AnswerStore(str(tmp_path / "answers.sqlite")) as store:
        yield store


def open_client(server: ModelServer, store: AnswerStore, **options: Any) -> ModelClient:
    return ModelClient(f"{server.url}#m", store, **{"limits": FAST, **options})


def ask(client: ModelClient, number: int = 1, **parameters: Any) -> Question:
    return Question(model=client.model, prompt="Read it.", parameters=parameters, input_key=f"f#{number}")


def make_page(number: int = 1) -> ModelInput:
    return ModelInput(text=f"{number:06}")


@pytest.mark.req("MOD-2")
def test_an_answer_that_is_kept_is_not_asked_for_again(store: AnswerStore) -> None:
    with ModelServer(answer="lamp") as server:
        for made in (1, 0):
            client = open_client(server, store)
            contents: list[ModelInput] = []
            answer = client.ask(ask(client), lambda contents=contents: contents.append(make_page()) or contents[0])
            client.close()
            assert (answer.text, answer.finish_reason) == ("lamp", "stop")
            assert len(contents) == made, "what is kept needs no content"
            assert client.statistics().kept == 1 - made
        assert server.answered.total() == server.asked.total() == 1


@pytest.mark.req("MOD-2")
def test_the_same_content_is_not_asked_about_again_wherever_it_stands(store: AnswerStore) -> None:
    with ModelServer(answer="lamp") as server:
        client = open_client(server, store)
        for number in (1, 2, 3):
            assert client.ask(ask(client, number), make_page).text == "lamp"
        client.ask(ask(client, 1), partial(make_page, 2))  # it is drawn otherwise by now
        assert server.asked.total() == 1
        assert client.statistics().kept == 3
        client.ask(ask(client, 4), partial(make_page, 2))
        client.ask(ask(client, 5, temperature=0.5), make_page)
        client.close()
        assert server.asked.total() == 3, "other content, and other parameters, are other questions"
    assert len(store.find([ask(client, number).key for number in (1, 2, 3)])) == 3


@pytest.mark.req("MOD-2")
def test_questions_about_the_same_content_at_the_same_time_are_paid_for_once(store: AnswerStore) -> None:
    with ModelServer(answer="lamp", latency_s=0.05) as server:
        client = open_client(server, store)
        threads = [threading.Thread(target=client.ask, args=(ask(client, number), make_page)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        client.close()
        assert server.asked.total() == 1
    assert client.statistics().kept == 7


@pytest.mark.req("MOD-2", "MOD-4")
def test_an_answer_about_the_same_content_that_was_not_accepted_is_asked_again_from_there(store: AnswerStore) -> None:
    def answer(request: ModelRequest) -> str:
        return "long" if "it is too short" in request.text else "x"

    def check(answer: Answer) -> str:
        return "" if answer.text == "long" else "it is too short"

    with ModelServer(answer=answer) as server:
        client = open_client(server, store)
        client.ask(ask(client, 1), make_page)  # accepts everything
        assert client.ask(ask(client, 2), make_page, check).text == "long"
        assert client.ask(ask(client, 3), make_page, check).text == "long"
        client.close()
        assert server.asked.total() == 2


@pytest.mark.req("MOD-1")
def test_a_request_has_the_image_the_schema_and_the_limits_that_are_asked_for(store: AnswerStore) -> None:
    schema = {"type": "object"}
    with ModelServer() as server:
        client = open_client(server, store)
        question = ask(client, output_tokens_max=99, temperature=0.5, seed=3, schema=schema, dpi=144)
        client.ask(question, lambda: ModelInput(text="Hint.", images=(Image(b"abc", "image/png"),)))
        client.close()
    [request] = server.requests
    assert request.images == ("data:image/png;base64,YWJj",)
    assert request.text == "Read it.\n\nHint."
    assert (request.model, request.schema, request.output_tokens_max) == ("m", schema, 99)
    assert (request.body["temperature"], request.body["seed"], "dpi" in request.body) == (0.5, 3, False)


@pytest.mark.req("MOD-2")
def test_two_threads_with_the_same_question_pay_once(store: AnswerStore) -> None:
    with ModelServer(latency_s=0.05) as server:
        client = open_client(server, store)
        threads = [threading.Thread(target=client.ask, args=(ask(client), make_page)) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        client.close()
        assert server.asked.total() == 1
    assert client.statistics().kept == 7


@pytest.mark.req("MOD-2", "RTY-5")
@pytest.mark.parametrize(
    "fault", ["busy", "busy without a header", "error", "cut", "truncated", "wrong schema", "slow"]
)
def test_a_fault_that_passes_is_tried_again_and_answered_once(fault: Any, store: AnswerStore) -> None:
    with ModelServer(answer="lamp", faults=[fault], retry_after_s=0) as server:
        client = open_client(server, store)
        if fault == "wrong schema":  # the kernel tries it again
            with pytest.raises(StageError, match="invalid") as caught:
                client.ask(ask(client), make_page)
            assert caught.value.retryable
        assert client.ask(ask(client), make_page).text == "lamp"
        client.close()
        assert server.answered.total() == 1
        assert server.asked.total() == (1 if fault == "slow" else 2)


@pytest.mark.req("RTY-5")
def test_a_server_that_hangs_is_given_up_after_the_deadline(store: AnswerStore) -> None:
    with ModelServer(faults=["hang"]) as server:
        client = open_client(server, store, limits=ServerLimits(deadline_s=0.2))
        with pytest.raises(StageError, match=r"not completed within 0\.2 s") as caught:
            client.ask(ask(client), make_page)
        client.close()
    assert caught.value.retryable
    assert caught.value.outage == "", "it answers other requests"


@pytest.mark.req("RTY-5")
def test_a_server_that_is_down_is_an_outage_of_the_run(store: AnswerStore) -> None:
    with ModelServer() as server:
        server.is_down = True
        client = open_client(server, store, limits=ServerLimits(attempts_max=2, backoff_s=0.001))
        with pytest.raises(StageError, match="503") as caught:
            client.ask(ask(client), make_page)
        client.close()
        assert caught.value.outage == server.url
        assert server.answered.total() == 0


@pytest.mark.req("MOD-3")
def test_the_time_that_requests_wait_is_counted_by_reason(store: AnswerStore) -> None:
    now = [100.0]

    def wait(seconds: float) -> None:
        now[0] += seconds

    limits = ServerLimits(attempts_max=3, backoff_s=3.0, tokens_per_minute=6000)
    with ModelServer(faults=["error", "busy"], retry_after_s=7) as server:
        client = open_client(server, store, limits=limits, clock=lambda: now[0], wait=wait)
        for number in (1, 2):
            client.ask(ask(client, number, output_tokens_max=3000), partial(make_page, number))
        found = client.statistics()
        assert (found.requests, found.retried, found.outage) == (4, 2, "")
        assert found.waited_s["retry"] == 3.0
        assert found.waited_s["pause"] == 7.0
        assert found.waited_s["tokens"] > 50.0
        server.is_down = True
        with pytest.raises(StageError, match="503"):
            client.ask(ask(client, 3), partial(make_page, 3))
        now[0] += 60
        assert "503" in client.statistics().outage
        assert client.statistics().down_s >= 60
        server.is_down = False
        client.ask(ask(client, 4), partial(make_page, 4))
        assert (client.statistics().outage, client.statistics().down_s) == ("", 0.0)
        assert client.statistics().waited_s["down"] >= 60
        client.close()


@pytest.mark.req("SIL-4", "CLI-3")
def test_a_wrong_key_is_one_line_before_anything_is_asked(store: AnswerStore, tmp_path: Path) -> None:
    (tmp_path / "key").write_text("right\n")
    with ModelServer(key="right") as server:
        with pytest.raises(RefusedError, match=f"401.*set the environment variable {KEY_VARIABLE}"):
            require_access(f"{server.url}#m")
        require_access(f"{server.url}#m", str(tmp_path / "key"))
        client = open_client(server, store, key_file=str(tmp_path / "key"))
        assert client.ask(ask(client), make_page).text
        client.close()
        assert server.asked.total() == 1


@pytest.mark.req("SIL-4")
def test_credentials_of_an_address_reach_no_key_file_or_message(tmp_path: Path) -> None:
    path = str(tmp_path / "answers.sqlite")
    with ModelServer() as server, AnswerStore(path) as store:
        place = server.url.replace("http://", "http://me:SECRET@")
        client = ModelClient(f"{place}?api_key=SECRET#m", store, limits=FAST)
        client.ask(ask(client), make_page)
        server.is_down = True
        with pytest.raises(StageError) as caught:
            client.ask(ask(client, 2), partial(make_page, 2))
        client.close()
    assert "SECRET" not in client.model + str(caught.value) + caught.value.outage
    assert b"SECRET" not in Path(path).read_bytes()


@pytest.mark.parametrize("address", ["http://h/v1", "ftp://h#m", "h#m", ""])
def test_an_address_that_is_none_is_a_usage_error(address: str, store: AnswerStore) -> None:
    with pytest.raises(OperatorError, match=r"must be an http address|needs the name of a model"):
        ModelClient(address, store)


# ---- Answers that are not accepted


def refuse(times: int) -> Any:
    """Accept an answer after so many others."""
    seen: list[Answer] = []
    return lambda answer: (
        "it is too short" if answer not in seen and (seen.append(answer) or len(seen) <= times) else ""
    )


@pytest.mark.req("MOD-4")
def test_an_answer_that_is_not_accepted_is_asked_again_with_the_reason(store: AnswerStore) -> None:
    def answer(request: ModelRequest) -> str:
        return "long" if "it is too short" in request.text else "x"

    with ModelServer(answer=answer) as server:
        client = open_client(server, store)
        found = client.ask(ask(client), make_page, lambda answer: "" if answer.text == "long" else "it is too short")
        assert found.text == "long"
        assert [message["role"] for message in server.requests[1].body["messages"]] == ["user", "assistant", "user"]
        again = client.ask(ask(client), make_page, lambda answer: "" if answer.text == "long" else "it is too short")
        client.close()
        assert again == found
        assert server.asked.total() == 2, "the answer that was refused is kept, too"


@pytest.mark.req("MOD-4")
def test_a_question_without_an_accepted_answer_fails_with_the_reason_and_costs_nothing_again(
    store: AnswerStore,
) -> None:
    with ModelServer(answer="x") as server:
        client = open_client(server, store)
        for _ in range(2):
            with pytest.raises(StageError, match=r"not accepted: it is too short \(3 answers\)") as caught:
                client.ask(ask(client), make_page, lambda answer: "it is too short")
            assert (caught.value.category, caught.value.retryable) == ("provider", False)
        client.close()
        assert server.asked.total() == 3


@pytest.mark.req("MOD-4")
def test_an_answer_that_was_cut_off_is_asked_again_with_more_room(store: AnswerStore) -> None:
    def check(answer: Answer) -> str:
        return "it is cut off" if answer.finish_reason == "length" else ""

    with ModelServer(answer="a" * 100) as server:
        client = open_client(server, store)
        assert client.ask(ask(client, output_tokens_max=10), make_page, check).text == "a" * 100
        client.close()
    assert [request.output_tokens_max for request in server.requests] == [10, 20, 40]


# ---- Budgets


@pytest.mark.req("MOD-3")
def test_requests_in_flight_never_exceed_a_limit_on_tokens_together(store: AnswerStore) -> None:
    """Each request declares 3 tokens and 100 of its answer, and uses 4 in all: the limit is nearly used up."""
    limit = 400
    errors: list[StageError] = []
    with ModelServer(answer="lamp", latency_s=0.005) as server:
        client = open_client(server, store, budget=ModelBudget(SpendingLimits(tokens_max=limit)))

        def work(numbers: range) -> None:
            for number in numbers:
                try:
                    client.ask(ask(client, number, output_tokens_max=100), partial(make_page, number))
                except StageError as error:
                    errors.append(error)

        threads = [threading.Thread(target=work, args=(range(start, start + 30),)) for start in range(0, 240, 30)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        client.close()
        used = server.tokens_in + server.tokens_out
    assert limit - 104 < used <= limit
    assert server.in_flight_max <= 3, "more could exceed the limit together"
    assert errors[0].budget == str(errors[0])
    assert str(errors[0]).startswith("model_tokens_max=400 is reached")


@pytest.mark.req("MOD-3")
def test_money_is_counted_with_the_prices_of_the_user(store: AnswerStore) -> None:
    with ModelServer(answer="lamp") as server:
        budget = ModelBudget(SpendingLimits(cost_max=15.0, price_in=1_000_000, price_out=2_000_000))
        client = open_client(server, store, budget=budget)
        client.ask(ask(client, output_tokens_max=2), make_page)
        cost = client.statistics().cost
        assert cost == 6.0 == budget.read().cost == server.tokens_in * 1.0 + server.tokens_out * 2.0
        client.ask(ask(client, 2, output_tokens_max=2), partial(make_page, 2))
        with pytest.raises(StageError, match="cost_max=15 is reached"):
            client.ask(ask(client, 3, output_tokens_max=2), partial(make_page, 3))
        client.close()
        assert budget.read().cost <= 20.0


@pytest.mark.req("MOD-3")
def test_a_limit_on_money_without_prices_is_a_usage_error() -> None:
    with pytest.raises(OperatorError, match="cost_max needs prices: set model_price_in"):
        SpendingLimits(cost_max=1.0)


@pytest.mark.req("MOD-3")
def test_a_request_that_fails_gives_back_what_it_has_reserved(store: AnswerStore) -> None:
    budget = ModelBudget(SpendingLimits(tokens_max=1000))
    with ModelServer(faults=["wrong schema"]) as server:
        client = open_client(server, store, budget=budget)
        with pytest.raises(StageError, match="invalid"):
            client.ask(ask(client, output_tokens_max=900), make_page)
        assert (budget.read().reserved_tokens, budget.read().in_flight) == (0, 0)
        client.ask(ask(client, output_tokens_max=900), make_page)
        client.close()


@pytest.mark.req("MOD-4", "MOD-2")
def test_who_looks_for_a_question_finds_only_an_answer_that_was_accepted(store: AnswerStore) -> None:
    """Workers look pages up by the first question, and do not know how often it was asked."""

    def check(answer: Answer) -> str:
        return "" if answer.text == "long" else "it is too short"

    def answer(request: ModelRequest) -> str:
        return "long" if "it is too short" in request.text else "x"

    with ModelServer(answer=answer) as server:
        client = open_client(server, store)
        question = ask(client)
        store.keep(
            question, Answer(text="x", tokens_in=1, tokens_out=1, finish_reason="stop", model="m", seconds=0), "no"
        )
        assert store.find([question.key]) == {}
        client.ask(question, make_page, check)
        client.close()
        assert store.find([question.key])[question.key].text == "long"
        assert server.asked.total() == 1, "the answer that was refused had arrived"
