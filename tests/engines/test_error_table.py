"""Which exceptions are retried: by the table, by the exception itself, by the user; and how long a retry waits."""

import math
import pickle
import subprocess
import sys
from typing import Any

import pytest

import inorder
from inorder.engines.attempt import ClassifiedFunction, classify_error, run_attempt
from inorder.engines.base import Task
from inorder.engines.error_table import RULES, find_rule
from inorder.engines.retry_after import RETRY_AFTER_S_MAX
from inorder.errors import Category
from tests.support.exceptions import (
    BRIEF,
    KINDS,
    Custom,
    ResponseError,
    answer_nonsense,
    foreign,
    give_up_on_network,
    http_error,
    raise_again,
    raise_kind,
)

pytestmark = pytest.mark.req("RTY-5")


@pytest.mark.parametrize("name", KINDS)
def test_each_kind_has_its_category_and_only_what_may_pass_is_retried(name: str) -> None:
    kind = KINDS[name]
    failure = classify_error(kind.make())
    assert (failure.category, failure.may_succeed_later) == (kind.category, kind.is_retried)


def test_every_row_of_the_table_is_tried() -> None:
    found = {find_rule(kind.make()).source for kind in KINDS.values()}
    assert found == {rule.source for rule in RULES}


@pytest.mark.parametrize("name", sorted({name for rule in RULES for name in rule.classes if "." in name}))
def test_a_class_of_a_library_and_a_subclass_of_it_are_recognised_by_name(name: str) -> None:
    base = type(foreign(name))
    derived = type("Derived", (base,), {})
    assert find_rule(base("?")) == find_rule(derived("?"))
    assert name in find_rule(derived("?")).classes


def test_the_last_row_applies_to_everything_and_retries_nothing() -> None:
    assert find_rule(BaseException()) is RULES[-1]
    assert (RULES[-1].category, RULES[-1].is_retryable) == (Category.UNKNOWN, False)


def test_the_attributes_of_an_exception_decide_before_the_table() -> None:
    error = http_error(404)
    error.retryable = True  # type: ignore[attr-defined]
    assert (classify_error(error).category, classify_error(error).retryable) == (Category.PROVIDER, True)
    error.category = "io"  # type: ignore[attr-defined]
    assert (classify_error(error).category, classify_error(error).retryable) == (Category.IO, True)
    error.retryable = False  # type: ignore[attr-defined]
    assert not classify_error(error).retryable


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (Custom("?"), ("io", True)),
        (ConnectionError("?"), ("config", False)),
        (inorder.StageError("?", category="provider"), ("provider", False)),
        (TimeoutError("?"), ("provider", True)),
    ],
    ids=["mapped", "mapped against the table", "left to the exception", "left to the table"],
)
def test_the_mapping_of_the_user_decides_before_everything(error: Exception, expected: tuple[str, bool]) -> None:
    failure = classify_error(error, give_up_on_network)
    assert (failure.category, failure.retryable) == expected
    assert "ignored" not in failure.message


def test_the_mapping_of_the_user_decides_before_the_exception_itself() -> None:
    failure = classify_error(inorder.StageError("no", category="config"), lambda error: ("provider", True))
    assert (failure.category, failure.retryable, failure.message) == (Category.PROVIDER, True, "no")


@pytest.mark.parametrize(
    ("classify", "complaint"),
    [
        (answer_nonsense, "it must return (category, retryable) or None, got ('weather', True)"),
        (lambda error: True, "it must return (category, retryable) or None, got True"),
        (lambda error: ("io", "yes"), "it must return (category, retryable) or None, got ('io', 'yes')"),
        (raise_again, "LookupError: not in my table"),
        (sys.exit, "SystemExit: reset"),
    ],
    ids=["no category", "no tuple", "no flag", "raises", "exits"],
)
def test_a_mapping_that_is_wrong_is_ignored_and_the_message_says_so(classify: Any, complaint: str) -> None:
    failure = classify_error(ConnectionError("reset"), classify)
    assert (failure.category, failure.retryable) == (Category.PROVIDER, True)
    assert failure.message.startswith("ConnectionError: reset (classify was ignored: ")
    assert complaint in failure.message


def test_a_function_takes_its_mapping_along() -> None:
    function = pickle.loads(pickle.dumps(ClassifiedFunction(raise_kind, give_up_on_network)))
    failure = run_attempt(function, Task(0, 1, "custom")).failure
    assert failure is not None
    assert (failure.category, failure.retryable) == (Category.IO, True)
    assert repr(function) == "raise_kind"


@pytest.mark.parametrize(
    ("error", "wait_ms"),
    [
        (http_error(429, Retry_After="120"), 120_000),
        (http_error(429), 0),
        (
            http_error(503, Retry_After="Wed, 21 Oct 2026 07:30:00 GMT", Date="Wed, 21 Oct 2026 07:28:00 GMT"),
            120_000,
        ),
        (http_error(503, Retry_After="soon"), 0),
        (http_error(503, Retry_After="Wed, 21 Oct 2026 07:28:03333333333 GMT"), 0),
        (ResponseError(429, {"Retry-After": "7"}), 7_000),
        (inorder.StageError("busy", category="provider", retryable=True, retry_after_s=1.5), 1_500),
        (http_error(404, Retry_After="120"), 0),
        (http_error(429, Retry_After=f"{RETRY_AFTER_S_MAX:g}"), int(RETRY_AFTER_S_MAX) * 1000),
    ],
    ids=[
        "seconds",
        "none",
        "a date",
        "nonsense",
        "no date",
        "of a response",
        "of a StageError",
        "of no retry",
        "the longest",
    ],
)
def test_the_wait_that_a_server_asks_for_is_not_shortened_by_the_truncated_clock(
    error: BaseException, wait_ms: int
) -> None:
    assert classify_error(error).wait_ms == (wait_ms + 1 if wait_ms else 0)


@pytest.mark.parametrize("wait_s", [RETRY_AFTER_S_MAX + 1, 10**9, math.inf])
def test_a_wait_beyond_the_limit_is_not_shortened_but_fails_and_says_why(wait_s: float) -> None:
    error = inorder.StageError("busy", category="provider", retryable=True, retry_after_s=wait_s)
    failure = classify_error(error)
    assert (failure.retryable, failure.wait_ms) == (False, 0)
    assert failure.message == f"busy (not retried: the wait of {wait_s:g} s is longer than 3600 s)"


@pytest.mark.parametrize("wait_s", [-1.0, math.nan, True, "120"])
def test_a_wait_that_is_none_is_no_wait(wait_s: Any) -> None:
    error = inorder.StageError("busy", category="provider", retryable=True, retry_after_s=wait_s)
    assert (classify_error(error).retryable, classify_error(error).wait_ms) == (True, 0)


def test_the_wait_of_a_stage_error_travels_with_it() -> None:
    error = inorder.StageError("busy", category="provider", retryable=True, retry_after_s=9)
    assert pickle.loads(pickle.dumps(error)).retry_after_s == 9


def test_the_kinds_that_workers_raise_are_of_both_sorts() -> None:
    assert {KINDS[name].is_retried for name in BRIEF} == {True, False}
    assert any(isinstance(KINDS[name].make(), subprocess.CalledProcessError) for name in BRIEF)
