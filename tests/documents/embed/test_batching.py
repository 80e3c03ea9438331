"""Many callers, one model."""

import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pytest

from inorder.documents.embed.batching import Batcher, BatchLimits, Tokens
from inorder.documents.embed.providers.base import Matrix
from inorder.documents.embed.providers.local_model import ModelProvider
from inorder.stage.contracts import StageError
from tests.lanes.doubles import Caller
from tests.support.gates import Gate

pytestmark = pytest.mark.req("DOC-3", "LAN-10")


class Letters:
    """A model that counts letters: a text is its codes, a row says how many there are, their sum, and the last."""

    dimensions = 3

    def __init__(self, batch_tokens_max: int = 64, gate: Gate | None = None) -> None:
        self.batch_tokens_max = batch_tokens_max
        self.length_ratio_min = 0.0
        self.gate = gate
        self.batches: list[list[int]] = []
        self.events: list[str] = []
        self.closed = 0

    def tokenize(self, texts: Sequence[str]) -> Sequence[Tokens]:
        if "untokenizable" in texts:
            raise ValueError("cannot tokenize")
        self.events.append("tokenize")
        return [[ord(letter) for letter in text] for text in texts]

    def begin(self, batch: Sequence[Tokens]) -> Callable[[], Matrix]:
        self.events.append("begin")
        if self.gate is not None:
            self.gate.hold()
        if any(tokens and tokens[0] == ord("!") for tokens in batch):
            raise RuntimeError("the model chokes")
        self.batches.append([len(tokens) for tokens in batch])
        return lambda: self._rows(batch)

    def _rows(self, batch: Sequence[Tokens]) -> Matrix:
        self.events.append("rows")
        if any(tokens and tokens[0] == ord("?") for tokens in batch):
            raise RuntimeError("the model chokes late")
        return np.array([self.row(tokens) for tokens in batch], dtype=np.float32)

    @staticmethod
    def row(tokens: Tokens) -> tuple[int, int, int]:
        return len(tokens), sum(tokens), tokens[-1] if tokens else 0

    def close(self) -> None:
        self.closed += 1


def true_rows(texts: Sequence[str]) -> list[list[float]]:
    return [[float(part) for part in Letters.row([ord(letter) for letter in text])] for text in texts]


@pytest.fixture
def gate() -> Iterator[Gate]:
    gate = Gate()
    yield gate
    gate.open()


MakeBatcher = Callable[..., Batcher]


@pytest.fixture
def make() -> Iterator[MakeBatcher]:
    made: list[Batcher] = []

    def make_batcher(encoder: Any, **limits: Any) -> Batcher:
        made.append(Batcher("test", encoder, BatchLimits(**limits)))
        return made[-1]

    yield make_batcher
    for batcher in made:
        batcher.close()


def texts_of(*lengths: int) -> list[str]:
    return [chr(97 + number % 26) * length for number, length in enumerate(lengths)]


def test_rows_come_back_in_the_order_of_the_texts(make: MakeBatcher) -> None:
    texts = texts_of(*(number * 7 % 41 for number in range(100)))
    assert make(Letters()).embed(texts).tolist() == true_rows(texts)


def test_no_texts_no_rows(make: MakeBatcher) -> None:
    assert make(Letters()).embed([]).shape == (0, 3)


def test_batches_hold_texts_of_like_length_within_the_budget(make: MakeBatcher) -> None:
    model = Letters(batch_tokens_max=30)
    model.length_ratio_min = 0.01
    make(model).embed(texts_of(1, 9, 2, 10, 3, 8, 50, 3))
    assert model.batches == [[50], [10, 9, 8], [3, 3, 2, 1]]


def test_without_padding_texts_stay_in_order_and_a_batch_has_as_many_as_fit(make: MakeBatcher) -> None:
    model = Letters(batch_tokens_max=30)
    make(model).embed(texts_of(1, 9, 2, 10, 8, 1, 50, 3))
    assert model.batches == [[1, 9, 2, 10, 8], [1], [50], [3]]


@pytest.mark.req("DAT-4")
def test_a_caller_with_tokens_gets_its_rows_before_those_of_later_callers_are_computed(
    make: MakeBatcher, gate: Gate
) -> None:
    model = Letters(batch_tokens_max=4, gate=gate)
    batcher = make(model, batches_started_max=1)
    first = Caller(batcher.embed_tokens, [[1, 2, 3]])
    gate.await_arrivals()
    callers = [Caller(batcher.embed_tokens, [[number] * 4]) for number in (5, 6)]
    gate.open()
    assert first.answer().tolist() == [[3, 6, 3]]
    assert [caller.answer().tolist() for caller in callers] == [[[4, 20, 5]], [[4, 24, 6]]]
    assert batcher.embed_tokens([]).shape == (0, 3)


def test_every_batch_is_counted_once_for_telemetry() -> None:
    provider = ModelProvider("test", Letters(batch_tokens_max=30))
    try:
        provider.embed(texts_of(1, 9, 2, 10, 3, 8, 50, 3))
        assert (provider.batches.take(), provider.batches.take()) == ((4, 8), (0, 0))
    finally:
        provider.close()


def test_a_batch_ends_where_padding_would_cost_too_much(make: MakeBatcher) -> None:
    model = Letters(batch_tokens_max=1000)
    model.length_ratio_min = 0.5
    make(model).embed(texts_of(4, 10, 5, 0, 2, 9))
    assert model.batches == [[10, 9, 5], [4, 2], [0]]


def test_callers_who_come_while_the_model_is_busy_share_a_batch(make: MakeBatcher, gate: Gate) -> None:
    model = Letters(batch_tokens_max=1000, gate=gate)
    batcher = make(model)
    first = Caller(batcher.embed, texts_of(5))
    gate.await_arrivals()
    lists = [texts_of(3, number) for number in range(1, 9)]
    others = [Caller(batcher.embed, texts) for texts in lists]
    until_waiting(batcher, len(others))
    gate.open()
    assert first.answer().tolist() == true_rows(texts_of(5))
    for caller, texts in zip(others, lists, strict=True):
        assert caller.answer().tolist() == true_rows(texts)
    assert [len(batch) for batch in model.batches] == [1, 16]


def until_waiting(batcher: Batcher, count: int) -> None:
    """Wait until this many requests wait for the model."""
    waiting = threading.Event()
    while batcher.statistics().depth < count:
        waiting.wait(0.001)


def test_a_batch_is_begun_before_the_one_ahead_of_it_is_fetched(make: MakeBatcher) -> None:
    model = Letters(batch_tokens_max=5)
    make(model).embed(texts_of(5, 5, 5))
    assert model.events == ["tokenize", "begin", "begin", "rows", "begin", "rows", "rows"]


@pytest.mark.parametrize("bad", ["!", "?"])
def test_an_error_reaches_only_the_caller_who_caused_it(make: MakeBatcher, gate: Gate, bad: str) -> None:
    batcher = make(Letters(batch_tokens_max=1000, gate=gate))
    first = Caller(batcher.embed, texts_of(1))
    gate.await_arrivals()
    good, guilty, also_good = (Caller(batcher.embed, ["fine", text, "good"]) for text in ("ok", f"{bad}bad", "yes"))
    until_waiting(batcher, 3)
    gate.open()
    first.answer()
    assert good.answer().tolist() == true_rows(["fine", "ok", "good"])
    assert also_good.answer().tolist() == true_rows(["fine", "yes", "good"])
    with pytest.raises(RuntimeError, match="chokes"):
        guilty.answer()
    assert batcher.embed(["again"]).tolist() == true_rows(["again"])


def test_a_text_that_cannot_be_tokenized_fails_its_own_caller(make: MakeBatcher) -> None:
    batcher = make(Letters())
    with pytest.raises(ValueError, match="cannot tokenize"):
        batcher.embed(["untokenizable"])
    assert batcher.embed(["fine"]).tolist() == true_rows(["fine"])


def test_a_model_that_gives_too_few_rows_is_caught(make: MakeBatcher) -> None:
    class Forgetful(Letters):
        def _rows(self, batch: Sequence[Tokens]) -> Matrix:
            return super()._rows(batch)[:-1]

    with pytest.raises(RuntimeError, match="for 2 texts"):
        make(Forgetful()).embed(["a", "b"])


def test_closing_tells_everybody_who_waits_and_does_not_hang_on_a_stuck_model(make: MakeBatcher, gate: Gate) -> None:
    model = Letters(gate=gate)
    batcher = make(model, close_s=0.01, requests_max=1)
    callers = [Caller(batcher.embed, texts_of(4))]
    gate.await_arrivals()
    callers += [Caller(batcher.embed, texts_of(4)) for _ in range(8)]
    until_waiting(batcher, 1)
    batcher.close()
    batcher.close()
    for caller in callers:
        with pytest.raises(StageError, match="closed"):
            caller.answer()
    with pytest.raises(StageError, match="closed"):
        batcher.embed(["late"])
    assert model.closed == 2


def test_many_callers_at_once_all_get_their_own_rows(make: MakeBatcher) -> None:
    batcher = make(Letters(batch_tokens_max=200), requests_max=2, sorted_texts_max=20)
    lists = [texts_of(*((number * step) % 37 for step in range(1, 30))) for number in range(1, 25)]
    callers = [Caller(batcher.embed, texts) for texts in lists]
    for caller, texts in zip(callers, lists, strict=True):
        assert caller.answer().tolist() == true_rows(texts)
