"""A model behind a server with the chat protocol of OpenAI: vLLM, Ollama, llama.cpp, or a hosted one.

`ask` looks for the answer among those that are kept: to this question, and then to the same question about the same
content, such as a page that another file has, too. It sends a request only if there is none. An answer is kept before
it is returned, so a run that is killed repeats at most the requests in flight. An answer that the caller does not
accept is asked again with the reason. Each of these questions has a key of its own, so a later run goes through the
same answers without a request.
"""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

import msgspec

from inorder.errors import StageError
from inorder.host.credentials import hide_credentials

from .address import parse_address
from .answers import Answer, AnswerStore
from .budget import ModelBudget
from .calls import ServerCalls
from .http import KEY_REFUSED, RefusedError, RetryableError, open_server_address, request
from .limits import ServerLimits, estimate_tokens
from .question import ModelInput, Question
from .waits import WaitReason

MakeInput = Callable[[], ModelInput]
Check = Callable[[Answer], str]
"""Returns why an answer is not accepted; empty: it is."""

_OUTPUT_TOKENS = 4096
"""What a request without a limit of its own is expected to use at most."""
_IMAGE_TOKENS = 1500
"""What an image is expected to use before the server has counted one."""
_ANSWERS_MAX = 3
_HARMLESS = "Say yes."
"""What a server is asked that may be down."""
_HARMLESS_S = 30.0
_HARMLESS_BYTES = 2**20
_REASON = "Your answer was not accepted: {}. Answer the first request again."


class _Message(msgspec.Struct):
    content: str | None = None
    refusal: str | None = None


class _Choice(msgspec.Struct):
    message: _Message
    finish_reason: str | None = None


class _Usage(msgspec.Struct):
    prompt_tokens: int | None = None
    completion_tokens: int | None = None


class _Response(msgspec.Struct):
    choices: list[_Choice]
    usage: _Usage | None = None


class ModelStatistics(msgspec.Struct, frozen=True, kw_only=True):
    """What a client has done.

    >>> ModelStatistics().requests
    0
    """

    asked: int = 0
    """Questions, with those that were asked again because the answer was not accepted."""
    kept: int = 0
    """Of these, how many were answered without a request."""
    answered: int = 0
    """Of these, how many the server has answered."""
    requests: int = 0
    """Attempts, with those that failed."""
    retried: int = 0
    """Of these, how many were sent again because the one before failed."""
    not_accepted: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    cost: float = 0.0
    server_s: float = 0.0
    """The time of all requests that were answered."""
    waited_s: dict[WaitReason, float] = {}
    """The time during which requests waited, by reason."""
    outage: str = ""
    """Why the server is held to be down; empty: it is not."""
    down_s: float = 0.0
    """For how long it is."""


class ModelClient:
    """A model at `URL#MODEL`. Blocking and thread-safe; close it in the end.

    `answers_max` is how often a question is asked until its answer is accepted.
    """

    def __init__(
        self,
        address: str,
        store: AnswerStore,
        *,
        limits: ServerLimits | None = None,
        budget: ModelBudget | None = None,
        key_file: str = "",
        answers_max: int = _ANSWERS_MAX,
        clock: Callable[[], float] = time.monotonic,
        wait: Callable[[float], object] | None = None,
    ) -> None:
        self.model = hide_credentials(address)
        """The address without credentials, for `Question.model`."""
        url, self._name = parse_address(self.model)
        self._store = store
        self._budget = budget or ModelBudget()
        self._limits = limits = limits or ServerLimits()
        self._answers_max = answers_max
        self._clock = clock
        self._chat = open_server_address(url, "/chat/completions", key_file)
        self._lock = threading.Lock()
        self._asking: dict[str, threading.Event] = {}
        self._statistics = ModelStatistics()
        self._images = self._image_tokens = 0
        self._slots = threading.BoundedSemaphore(limits.in_flight)
        """Requests that may be under way. An answer is on disk before its place is used again."""
        place = url.partition("?")[0]
        harmless = Question(model=self.model, prompt=_HARMLESS, parameters={"output_tokens_max": 1})
        question = make_body(self._name, harmless, ModelInput(), [])
        self._calls = ServerCalls(
            "model",
            self._send,
            limits,
            clock,
            wait,
            url=place,
            question=question,
            on_retry=lambda: self._count(retried=1),
        )

    def ask(self, question: Question, make_input: MakeInput, check: Check | None = None) -> Answer:
        """Return the answer to a question. `make_input` is called if a request is sent. Raises StageError, with the
        server as the outage if it is down, and `RefusedError` if it refuses every request."""
        first = question
        check = check or _accept
        refused: list[tuple[str, str]] = []
        for _ in range(self._answers_max):
            answer, reason = self._answer(question, make_input, refused, check)
            if not reason:
                if refused:
                    self._store.keep(first, answer)  # whoever looks for the first question finds it
                return answer
            self._count(not_accepted=1)
            refused.append((answer.text, reason))
            question = _ask_again(first, question, answer, [each for _, each in refused])
        times = f" ({self._answers_max} answers)" if self._answers_max > 1 else ""
        raise StageError(f"the answer of {self._name} is not accepted: {refused[-1][1]}{times}", category="provider")

    def statistics(self) -> ModelStatistics:
        """Return counts at this moment."""
        with self._lock:
            lane = self._calls.statistics()
            return msgspec.structs.replace(
                self._statistics,
                requests=lane.completed + lane.failed + lane.running,
                waited_s=self._calls.waits.read(),
                outage=self._calls.outage,
                down_s=self._calls.waits.read_running("down"),
            )

    def close(self) -> None:
        """Send no further requests. Idempotent."""
        self._calls.close()

    # ---- One question

    def _answer(
        self, question: Question, make_input: MakeInput, refused: list[tuple[str, str]], check: Check
    ) -> tuple[Answer, str]:
        """Return the answer that is kept, or ask for it, and keep it; and why it is not accepted."""
        key = question.key
        with self._take_turn(key):
            answer = self._store.find([key]).get(key) or self._store.find([key], refused=True).get(key)
            if answer is not None:
                self._count(asked=1, kept=1)
                return answer, check(answer)
            sent = make_input()
            content = msgspec.structs.replace(question, input_key=sent.hash).key
            with nullcontext() if content == key else self._take_turn(content), self._slots:
                found = self._store.find_content(content)
                answer = found or self._request(question, sent, refused)
                reason = check(answer)
                self._store.keep(question, answer, reason, content)
        if found is None:
            self._count_answer(answer)
        else:
            self._count(asked=1, kept=1)
        return answer, reason

    def _count_answer(self, answer: Answer) -> None:
        """Count what was paid for an answer."""
        self._count(
            asked=1,
            answered=1,
            tokens_in=answer.tokens_in,
            tokens_out=answer.tokens_out,
            cost=self._budget.cost(answer.tokens_in, answer.tokens_out),
            server_s=answer.seconds,
        )

    @contextmanager
    def _take_turn(self, key: str) -> Iterator[None]:
        """Wait while another thread asks the same question: two documents may have the same page."""
        ended = threading.Event()
        while (other := self._claim(key, ended)) is not ended:
            other.wait()
        try:
            yield
        finally:
            with self._lock:
                del self._asking[key]
            ended.set()

    def _claim(self, key: str, ended: threading.Event) -> threading.Event:
        with self._lock:
            return self._asking.setdefault(key, ended)

    def _request(self, question: Question, content: ModelInput, refused: list[tuple[str, str]]) -> Answer:
        """Send a request, with all its attempts."""
        tokens_in = self._estimate(question, content, refused)
        tokens_out = int(question.parameters.get("output_tokens_max", _OUTPUT_TOKENS))
        body = make_body(self._name, question, content, refused)
        reserved = self._budget.reserve(tokens_in, tokens_out)
        used = (0, 0)
        try:
            call = self._calls.begin(body, tokens_in + tokens_out)
            answer = self._parse(self._calls.finish(call), tokens_in)
            used = answer.tokens_in, answer.tokens_out
            self._calls.settle(call, sum(used))
            self._learn(content, used[0] - self._estimate_texts(question, content, refused))
        finally:
            self._budget.settle(reserved, *used)
        return msgspec.structs.replace(answer, seconds=round(call.seconds, 3))

    def _send(self, body: bytes, timeout_s: float) -> bytes:
        return request(self._chat, body, timeout_s, self._limits.answer_bytes_max, self._calls.note_headers)

    def _parse(self, response: bytes, tokens_in: int) -> Answer:
        try:
            found = msgspec.json.decode(response, type=_Response)
            [choice] = found.choices
        except (ValueError, msgspec.DecodeError) as error:
            raise StageError(
                f"the response of {self._name} is invalid: {error}", category="provider", retryable=True
            ) from None
        text = choice.message.content or ""
        usage = found.usage or _Usage()
        return Answer(
            text=text,
            tokens_in=tokens_in if usage.prompt_tokens is None else usage.prompt_tokens,
            tokens_out=estimate_tokens([text]) if usage.completion_tokens is None else usage.completion_tokens,
            finish_reason="refusal" if choice.message.refusal else choice.finish_reason or "stop",
            model=self.model,
            seconds=0.0,
        )

    # ---- Counting

    def _estimate(self, question: Question, content: ModelInput, refused: list[tuple[str, str]]) -> int:
        with self._lock:
            per_image = self._image_tokens / self._images if self._images else _IMAGE_TOKENS
        return self._estimate_texts(question, content, refused) + round(per_image * len(content.images))

    def _estimate_texts(self, question: Question, content: ModelInput, refused: list[tuple[str, str]]) -> int:
        return estimate_tokens([question.prompt, content.text, *(text for turn in refused for text in turn)])

    def _learn(self, content: ModelInput, tokens: int) -> None:
        """Note how many tokens the server has counted for images."""
        if content.images:
            with self._lock:
                self._images += len(content.images)
                self._image_tokens += max(0, tokens)

    def _count(self, **counts: float) -> None:
        with self._lock:
            before = self._statistics
            changes = {name: getattr(before, name) + count for name, count in counts.items()}
            self._statistics = msgspec.structs.replace(before, **changes)


def require_access(address: str, key_file: str = "") -> None:
    """Raise RefusedError if the server of a model refuses the key. A server that is down, or does not list its models,
    passes."""
    url, _ = parse_address(hide_credentials(address))
    try:
        request(open_server_address(url, "/models", key_file), None, _HARMLESS_S, _HARMLESS_BYTES)
    except RefusedError as error:
        if error.status in KEY_REFUSED:
            raise
    except (RetryableError, StageError):
        return


def _accept(answer: Answer) -> str:
    return ""


def make_body(model: str, question: Question, content: ModelInput, refused: list[tuple[str, str]]) -> bytes:
    """Return the request for a question, with the answers that were not accepted and the reasons."""
    parts: list[dict[str, Any]] = [{"type": "text", "text": f"{question.prompt}\n\n{content.text}".rstrip()}]
    parts += [{"type": "image_url", "image_url": {"url": image.to_url()}} for image in content.images]
    messages: list[dict[str, Any]] = [{"role": "user", "content": parts if content.images else parts[0]["text"]}]
    for text, reason in refused:
        messages.append({"role": "assistant", "content": text})
        messages.append({"role": "user", "content": _REASON.format(reason)})
    body: dict[str, Any] = {"model": model, "messages": messages}
    parameters = question.parameters
    for name, field in (("output_tokens_max", "max_tokens"), ("temperature", "temperature"), ("seed", "seed")):
        if name in parameters:
            body[field] = parameters[name]
    if "schema" in parameters:
        schema = {"name": "answer", "schema": parameters["schema"], "strict": True}
        body["response_format"] = {"type": "json_schema", "json_schema": schema}
    return msgspec.json.encode(body)


def _ask_again(first: Question, last: Question, answer: Answer, reasons: list[str]) -> Question:
    """Return the question for another answer: with the reasons, and with more room if the answer was cut off."""
    again = first.with_parameters(refused=reasons)
    room = last.parameters.get("output_tokens_max")
    if room is not None:
        again = again.with_parameters(output_tokens_max=room * 2 if answer.finish_reason == "length" else room)
    return again
