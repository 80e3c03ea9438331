"""Which exceptions `imap` retries, in the calling thread, in threads and in processes."""

import threading
import time
from typing import Any

import pytest

import inorder
from inorder import ItemError
from tests.support.exceptions import BRIEF, KINDS, Custom, ResponseError, give_up_on_network, raise_kind

pytestmark = [pytest.mark.req("RTY-5"), pytest.mark.usefixtures("no_leaks")]


def attempts_of(names: list[str], **options: Any) -> dict[str, tuple[str, int]]:
    """Category and number of attempts of each kind of exception."""
    results = inorder.imap(raise_kind, names, retries=1, errors="yield", **options)
    errors = dict(zip(names, results, strict=True))
    assert all(isinstance(error, ItemError) for error in errors.values())
    return {name: (error.category.value, error.attempts) for name, error in errors.items()}


@pytest.mark.parametrize("where", ["inline", "threads", pytest.param("processes", marks=pytest.mark.process)])
def test_only_errors_that_may_pass_are_tried_again(where: Any) -> None:
    expected = {name: (KINDS[name].category, 2 if KINDS[name].is_retried else 1) for name in BRIEF}
    assert attempts_of(BRIEF, where=where) == expected


@pytest.mark.parametrize("where", ["inline", "threads", pytest.param("processes", marks=pytest.mark.process)])
def test_the_mapping_of_the_user_is_asked_first(where: Any) -> None:
    found = attempts_of(["custom", "refused", "slow", "bug"], where=where, classify=give_up_on_network)
    assert found == {"custom": ("io", 2), "refused": ("config", 1), "slow": ("provider", 2), "bug": ("runtime", 1)}


def test_an_exception_that_the_user_has_retried_may_succeed() -> None:
    calls: list[int] = []

    def function(item: int) -> int:
        calls.append(item)
        if len(calls) == 1:
            raise Custom("not yet")
        return item

    assert list(
        inorder.imap(function, [7], retries=1, where="threads", options=inorder.RunOptions(classify=give_up_on_network))
    ) == [7]
    assert calls == [7, 7]


def test_a_mapping_that_is_no_function_is_refused() -> None:
    with pytest.raises(inorder.OperatorError, match="classify must be callable, got 'ConnectionError'"):
        inorder.imap(str, [1], where="threads", options=inorder.RunOptions(classify="ConnectionError"))  # type: ignore[call-overload]


@pytest.mark.process
def test_a_mapping_that_cannot_be_sent_to_a_process_is_refused_with_what_to_do() -> None:
    held = threading.Lock()
    with pytest.raises(
        inorder.OperatorError, match=r"raise_kind cannot be sent to a worker process.*lock.*: where='threads'"
    ):
        inorder.imap(raise_kind, ["bug"], options=inorder.RunOptions(classify=lambda error: held and None))


def test_a_retry_waits_as_long_as_the_server_asked_for() -> None:
    calls: list[float] = []

    def function(item: str) -> str:
        calls.append(time.monotonic())
        if len(calls) == 1:
            raise ResponseError(429, {"Retry-After": "1"})
        return item

    assert list(inorder.imap(function, ["a"], retries=1, where="threads")) == ["a"]
    assert calls[1] - calls[0] >= 1.0
