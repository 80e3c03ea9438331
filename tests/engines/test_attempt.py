"""One attempt: the envelope of a call, the category of a failure, and the estimated size of a result."""

import asyncio
import io
import json
import pickle
import re
import sys
from collections import OrderedDict, deque
from dataclasses import dataclass
from typing import Any

import pytest

import inorder
from inorder.core.transitions import State
from inorder.engines.attempt import TRACEBACK_CHARACTERS_MAX, classify_error, run_attempt
from inorder.engines.base import Task
from inorder.engines.memory_estimate import estimate_bytes
from inorder.errors import Category

MEGABYTE = 10**6


class Odd(Exception):
    """Of a class without a category."""


class Confessing(Exception):
    """Names its own category."""

    def __init__(self, category: object, retryable: object = None) -> None:
        super().__init__("it was me")
        self.category = category
        if retryable is not None:
            self.retryable = retryable


class Wordless(Exception):
    """Cannot be printed."""

    def __str__(self) -> str:
        raise RuntimeError("no words")


class Evasive(Exception):
    """Raises when its category is read."""

    @property
    def category(self) -> str:
        raise RuntimeError("no comment")


class Touchy:
    """Raises when it is inspected."""

    @property
    def nbytes(self) -> int:
        raise RuntimeError("hands off")


class Restless(dict[str, str]):
    """Changes while it is inspected, like a table that another worker fills."""

    def items(self) -> Any:
        raise RuntimeError("dictionary changed size during iteration")


class Tensor:
    """Has its data outside of Python, like an array of a C library."""

    def __init__(self, nbytes: object) -> None:
        self.nbytes = nbytes


class Record:
    """A plain object."""

    def __init__(self, body: bytes) -> None:
        self.body = body


@dataclass(slots=True)
class Slim:
    """An object without a `__dict__`."""

    body: bytes


def outcome_of_raising(error: BaseException) -> Any:
    def function(item: object) -> None:
        raise error

    return run_attempt(function, Task(7, 3, "item"))


@pytest.mark.req("CMP-2")
def test_a_value_comes_back_in_an_envelope_with_its_seq_attempt_and_size() -> None:
    envelope = run_attempt(lambda item: item * 2, Task(7, 3, "ab"))
    assert (envelope.seq, envelope.attempt, envelope.outcome) == (7, 3, State.TERMINAL_SUCCESS)
    assert (envelope.payload, envelope.payload_bytes, envelope.failure) == ("abab", sys.getsizeof("abab"), None)
    assert envelope.exec_ms >= 0


def test_the_very_object_that_was_returned_comes_back() -> None:
    value = object()
    assert run_attempt(lambda item: value, Task(0, 1, None)).payload is value


@pytest.mark.req("CMP-2")
def test_an_exception_comes_back_in_an_envelope_with_its_traceback() -> None:
    error = ValueError("bad page")
    envelope = outcome_of_raising(error)
    assert (envelope.seq, envelope.attempt, envelope.outcome) == (7, 3, State.TERMINAL_FAIL)
    assert envelope.payload is error
    assert envelope.failure.message == "ValueError: bad page"
    assert "in function" in envelope.failure.detail


def test_an_exception_without_a_message_is_named_by_its_class() -> None:
    assert classify_error(Odd()).message == "Odd"


def dig_left(depth: int) -> int:
    return 1 // 0 if depth == 0 else dig_right(depth - 1)


def dig_right(depth: int) -> int:
    return 1 // 0 if depth == 0 else dig_left(depth - 1)


@pytest.mark.req("RUN-15")
def test_a_deep_traceback_is_kept_short() -> None:
    detail = run_attempt(dig_left, Task(0, 1, 100)).failure.detail
    assert detail.endswith("ZeroDivisionError: integer division or modulo by zero")
    assert 1 <= detail.count("in dig_") <= 64
    assert len(detail) < TRACEBACK_CHARACTERS_MAX + 100


@pytest.mark.req("RUN-15")
def test_a_traceback_begins_with_the_code_of_the_user_and_has_no_values() -> None:
    detail = run_attempt(dig_left, Task(0, 1, 0)).failure.detail
    first, second, *_ = detail.splitlines()
    assert first == "Traceback (most recent call last):"
    assert second.endswith("in dig_left")
    assert "run_attempt" not in detail
    assert "depth = 0" not in detail


@pytest.mark.req("RUN-15")
def test_of_a_long_traceback_the_beginning_and_the_end_are_kept() -> None:
    detail = outcome_of_raising(ValueError("x" * 100_000 + " the end")).failure.detail
    assert detail.startswith("Traceback (most recent call last):")
    assert detail.endswith("x the end")
    assert re.search(r"\n\.\.\. \(\d+ characters left out\) \.\.\.\n", detail)
    assert len(detail) < TRACEBACK_CHARACTERS_MAX + 100


@pytest.mark.req("RUN-15")
def test_the_detail_of_a_stage_error_precedes_its_traceback() -> None:
    detail = outcome_of_raising(inorder.StageError("no model", detail="looked in two places")).failure.detail
    assert detail.startswith("looked in two places\n\nTraceback (most recent call last):")


@pytest.mark.req("RUN-15")
def test_the_error_of_an_iteration_has_the_traceback_of_its_worker() -> None:
    [error] = inorder.imap(dig_left, [1], errors="yield", where="threads")
    assert isinstance(error, inorder.ItemError)
    assert error.traceback.endswith("ZeroDivisionError: integer division or modulo by zero")
    assert "in dig_right" in pickle.loads(pickle.dumps(error)).traceback


@pytest.mark.parametrize("error", [SystemExit(1), GeneratorExit(), asyncio.CancelledError(), StopIteration("value")])
def test_what_would_end_a_thread_is_only_the_failure_of_an_item(error: BaseException) -> None:
    envelope = outcome_of_raising(error)
    assert envelope.outcome == State.TERMINAL_FAIL
    assert envelope.payload is error


def interrupted(item: object) -> None:
    raise KeyboardInterrupt


def test_the_interrupt_of_the_user_gets_through_in_the_thread_that_receives_it() -> None:
    with pytest.raises(KeyboardInterrupt):
        run_attempt(interrupted, Task(0, 1, None), may_interrupt=True)


def test_an_interrupt_in_any_other_thread_is_only_the_failure_of_an_item() -> None:
    assert run_attempt(interrupted, Task(0, 1, None)).outcome == State.TERMINAL_FAIL


def test_an_exception_that_cannot_be_printed_is_still_only_the_failure_of_an_item() -> None:
    envelope = outcome_of_raising(Wordless())
    assert envelope.outcome == State.TERMINAL_FAIL
    assert "Wordless" in envelope.failure.message


def test_an_exception_whose_category_cannot_be_read_is_still_only_the_failure_of_an_item() -> None:
    envelope = outcome_of_raising(Evasive("why me"))
    assert (envelope.outcome, envelope.failure.category) == (State.TERMINAL_FAIL, Category.UNKNOWN)


@pytest.mark.parametrize("value", [Touchy(), Restless(a="b")], ids=["touchy", "restless"])
def test_a_result_that_cannot_be_measured_is_still_a_result(value: object) -> None:
    envelope = run_attempt(lambda item: value, Task(0, 1, None))
    assert envelope.outcome == State.TERMINAL_SUCCESS
    assert envelope.payload is value


@pytest.mark.req("RTY-1")
@pytest.mark.parametrize(
    ("error", "category", "retryable"),
    [
        (FileNotFoundError("a.pdf"), Category.INPUT, False),
        (IsADirectoryError("a"), Category.INPUT, False),
        (NotADirectoryError("a"), Category.INPUT, False),
        (PermissionError("a.pdf"), Category.INPUT, False),
        (ConnectionError("reset"), Category.PROVIDER, True),
        (ConnectionResetError("reset"), Category.PROVIDER, True),
        (BrokenPipeError("gone"), Category.PROVIDER, True),
        (TimeoutError("slow"), Category.PROVIDER, True),
        (OSError(28, "no space left"), Category.IO, False),
        (OSError(5, "input/output error"), Category.IO, True),
        (BlockingIOError("later"), Category.IO, True),
        (io.UnsupportedOperation("not readable"), Category.IO, False),
        (ValueError("bad"), Category.RUNTIME, False),
        (UnicodeDecodeError("utf-8", b"\xff", 0, 1, "bad"), Category.RUNTIME, False),
        (json.JSONDecodeError("bad", "{", 0), Category.RUNTIME, False),
        (TypeError("bad"), Category.RUNTIME, False),
        (KeyError("k"), Category.RUNTIME, False),
        (IndexError("i"), Category.RUNTIME, False),
        (AttributeError("a"), Category.RUNTIME, False),
        (ZeroDivisionError("z"), Category.RUNTIME, False),
        (AssertionError("no"), Category.RUNTIME, False),
        (ModuleNotFoundError("m"), Category.RUNTIME, False),
        (NameError("n"), Category.RUNTIME, False),
        (NotImplementedError("n"), Category.RUNTIME, False),
        (RecursionError("deep"), Category.RUNTIME, False),
        (SyntaxError("s"), Category.RUNTIME, False),
        (SystemExit(1), Category.RUNTIME, False),
        (MemoryError("full"), Category.RUNTIME, False),
        (RuntimeError("?"), Category.UNKNOWN, False),
        (Odd("?"), Category.UNKNOWN, False),
        (ExceptionGroup("several", [ValueError("a")]), Category.UNKNOWN, False),
        (StopIteration("?"), Category.UNKNOWN, False),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, BaseException) else str(value),
)
def test_each_class_of_exception_has_a_category(error: BaseException, category: Category, retryable: bool) -> None:
    failure = classify_error(error)
    assert (failure.category, failure.retryable) == (category, retryable)


@pytest.mark.req("RTY-1")
@pytest.mark.parametrize(
    ("error", "category", "retryable"),
    [
        (Confessing("io", True), Category.IO, True),
        (Confessing("provider", False), Category.PROVIDER, False),
        (Confessing(Category.CONFIG), Category.CONFIG, False),
        (Confessing("weather", True), Category.UNKNOWN, True),
        (Confessing(17, True), Category.UNKNOWN, True),
    ],
    ids=["both given", "retry declined", "retry not given", "an unknown category", "not a string"],
)
def test_an_exception_may_name_its_own_category(error: Confessing, category: Category, retryable: bool) -> None:
    failure = classify_error(error)
    assert (failure.category, failure.retryable) == (category, retryable)


def test_the_category_of_an_exception_overrides_that_of_its_class() -> None:
    error = FileNotFoundError("not there yet")
    error.category, error.retryable = "io", True  # type: ignore[attr-defined]
    failure = classify_error(error)
    assert (failure.category, failure.retryable) == (Category.IO, True)


@pytest.mark.parametrize("value", ["x" * MEGABYTE, b"x" * MEGABYTE, bytearray(MEGABYTE), 10**1000, 1.5, None, True])
def test_a_plain_value_is_as_large_as_python_says(value: object) -> None:
    assert estimate_bytes(value) == sys.getsizeof(value)


@pytest.mark.parametrize(
    "value",
    [
        [bytes(MEGABYTE)],
        (bytes(MEGABYTE),),
        {bytes(MEGABYTE)},
        frozenset({bytes(MEGABYTE)}),
        {"body": bytes(MEGABYTE)},
        {bytes(MEGABYTE): "body"},
        OrderedDict(body=bytes(MEGABYTE)),
        [{"pages": [bytes(MEGABYTE)]}],
        Record(bytes(MEGABYTE)),
        [Record(bytes(MEGABYTE))],
        Tensor(MEGABYTE),
        [Tensor(MEGABYTE)],
        memoryview(bytes(MEGABYTE)),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_lies_inside_a_container_is_counted_once(value: object) -> None:
    assert MEGABYTE <= estimate_bytes(value) < MEGABYTE * 1.01


@pytest.mark.parametrize("value", [Slim(bytes(MEGABYTE)), deque([bytes(MEGABYTE)])], ids=["slots", "deque"])
def test_what_lies_inside_slots_and_queues_is_counted_too(value: object) -> None:
    assert estimate_bytes(value) >= MEGABYTE


def test_a_long_list_is_estimated_from_its_head() -> None:
    assert estimate_bytes([bytes(1000)] * 100_000) == pytest.approx(100_000 * sys.getsizeof(bytes(1000)), rel=0.02)


def test_an_nbytes_that_is_no_number_is_not_believed() -> None:
    assert estimate_bytes(Tensor("plenty")) < 1000


def test_empty_containers_have_a_size() -> None:
    assert all(estimate_bytes(value) > 0 for value in ([], {}, (), set(), Record(b"")))


def test_a_list_that_contains_itself_is_measured_to_an_end() -> None:
    loop: list[object] = [bytes(MEGABYTE)]
    loop.append(loop)
    assert estimate_bytes(loop) >= MEGABYTE


def test_a_mapping_that_contains_itself_is_measured_to_an_end() -> None:
    loop: dict[str, object] = {}
    loop["self"] = loop
    assert estimate_bytes(loop) > 0


class Counted:
    """Counts how often its instances are inspected."""

    visits = 0

    @property
    def nbytes(self) -> int:
        Counted.visits += 1
        return 8


def test_a_matrix_is_estimated_with_a_bounded_number_of_visits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Counted, "visits", 0)
    assert estimate_bytes([[Counted()] * 200] * 200) >= 200 * 200 * 8
    assert Counted.visits <= 10_000
