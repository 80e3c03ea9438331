"""Which exceptions of a worker `run_stage` retries, in threads and in processes."""

from typing import Any

import pytest

import inorder
from inorder.stage.engine import make_kernel_options
from tests.stage.jobs import Place
from tests.stage.workers import note
from tests.support.exceptions import BRIEF, KINDS, give_up_on_network, raise_kind

pytestmark = pytest.mark.req("RTY-5")


def raise_its_name(item: inorder.WorkItem) -> Any:
    note(item)
    raise_kind(item.item_id)


def attempts(place: Place) -> dict[str, tuple[str, int]]:
    return {name: (row["error"]["category"], row["attempts"]) for name, row in place.rows().items()}


def items(place: Place, names: list[str]) -> list[inorder.WorkItem]:
    return [place.item(name, outputs={}) for name in names]


@pytest.mark.process
@pytest.mark.parametrize("policy", ["io", "cpu"])
def test_only_errors_that_may_pass_are_tried_again(place: Place, policy: str) -> None:
    outcome = place.run(items(place, BRIEF), raise_its_name, policy=policy, retries=2)
    assert outcome.failed == len(BRIEF)
    expected = {name: (KINDS[name].category, 3 if KINDS[name].is_retried else 1) for name in BRIEF}
    assert attempts(place) == expected
    calls = place.calls.read_text().splitlines()
    assert {name: calls.count(name) for name in BRIEF} == {name: count for name, (_, count) in expected.items()}


@pytest.mark.process
@pytest.mark.parametrize("policy", ["io", "cpu"])
def test_the_mapping_of_the_user_is_asked_first(place: Place, policy: str) -> None:
    names = ["custom", "refused", "slow", "bug"]
    place.run(items(place, names), raise_its_name, policy=policy, retries=1, classify=give_up_on_network)
    assert attempts(place) == {
        "custom": ("io", 2),
        "refused": ("config", 1),
        "slow": ("provider", 2),
        "bug": ("runtime", 1),
    }


def test_the_manifest_names_the_mapping_and_says_the_same_in_every_run(place: Place) -> None:
    place.run([place.item("a")], classify=give_up_on_network)
    place.run([place.item("a")], force=True)
    named, unnamed = (run[0]["options"]["classify"] for run in place.runs())
    assert (named, unnamed) == ("tests.support.exceptions.give_up_on_network", None)


def test_a_mapping_that_is_no_function_is_refused() -> None:
    with pytest.raises(inorder.OperatorError, match="classify must be callable, got 'custom'"):
        inorder.StageOptions(classify="custom")  # type: ignore[arg-type]


@pytest.mark.parametrize(("backoff_s", "first_ms", "longest_ms"), [(0.1, 100, 30_000), (120, 120_000, 120_000)])
def test_no_wait_that_was_asked_for_is_cut(backoff_s: float, first_ms: int, longest_ms: int) -> None:
    retry = make_kernel_options(inorder.StageOptions(retry_backoff_s=backoff_s)).retry
    assert (retry.backoff_ms, retry.backoff_ms_max) == (first_ms, longest_ms)


def test_a_wait_of_more_than_a_day_is_refused() -> None:
    with pytest.raises(inorder.OperatorError, match="retry_backoff_s must be between 0 and 86400, got 86401"):
        inorder.StageOptions(retry_backoff_s=86_401)
