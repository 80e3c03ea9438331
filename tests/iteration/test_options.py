"""What `imap` refuses, and says so by the name of the option or the place of the item."""

import math
from contextlib import closing
from typing import Any

import pytest

import inorder
from inorder import OperatorError, iteration
from inorder.sim.clock import VirtualClock
from tests.support.gates import alive

pytestmark = pytest.mark.usefixtures("no_leaks")


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"policy": "gpu"}, "policy must be one of io, cpu, inline, got 'gpu'"),
        ({"engine": "dask"}, "engine must be one of local, ray, got 'dask'"),
        ({"engine": "ray", "policy": "inline"}, "it needs engine='local'"),
        ({"ray": inorder.RayOptions()}, "the option ray needs engine='ray'"),
        ({"errors": "ignore"}, "errors must be one of raise, yield, got 'ignore'"),
        ({"workers": 0}, "workers must be between 1 and 1024, got 0"),
        ({"workers": -1}, "workers must be between 1 and 1024, got -1"),
        ({"workers": 1025}, "workers must be between 1 and 1024, got 1025"),
        ({"timeout_s": 0}, "timeout_s must be greater than 0, got 0"),
        ({"timeout_s": -1}, "timeout_s must be greater than 0, got -1"),
        ({"timeout_s": math.nan}, "timeout_s must be greater than 0, got nan"),
        ({"retries": -1}, "retries.* must be between 0 and 1000, got -1"),
        ({"retries": 1001}, "retries.* must be between 0 and 1000, got 1001"),
        ({"buffered_bytes_max": 0}, "buffered_bytes_max must be at least 1, got 0"),
        ({"buffered_bytes_max": -1}, "buffered_bytes_max must be at least 1, got -1"),
        ({"schedule": "lifo"}, "schedule must be one of fifo, sjf, got 'lifo'"),
        ({"cost": 3}, "cost must be a function"),
        ({"policy": "inline", "workers": 2}, "the policy inline has one worker, got workers=2"),
        ({"policy": "inline", "timeout_s": 1}, "the policy inline cannot interrupt an item.*timeout_s"),
    ],
    ids=str,
)
def test_a_bad_option_is_refused_by_name_before_anything_starts(options: dict[str, Any], complaint: str) -> None:
    taken: list[int] = []
    before = alive()
    with pytest.raises(OperatorError, match=complaint) as caught:
        inorder.imap(str, (taken.append(n) for n in range(3)), **options)
    assert caught.value.exit_code == 2
    assert taken == []
    assert alive() == before


@pytest.mark.parametrize(
    "options",
    [{"workers": 1}, {"workers": 64}, {"timeout_s": math.inf}, {"retries": 1000}, {"buffered_bytes_max": 1}],
    ids=str,
)
def test_the_last_value_that_is_allowed_works(options: dict[str, Any]) -> None:
    assert list(inorder.imap(str, range(3), **options)) == ["0", "1", "2"]


def test_something_that_cannot_be_iterated_is_refused_before_anything_starts() -> None:
    before = alive()
    with pytest.raises(TypeError, match="not iterable"):
        inorder.imap(str, 7)  # type: ignore[arg-type]
    assert alive() == before


@pytest.mark.parametrize("policy", ["io", "cpu", "inline"])
def test_something_that_cannot_be_called_is_refused_before_anything_starts(policy: Any) -> None:
    before = alive()
    with pytest.raises(OperatorError, match="the first argument of imap must be a function, got 5"):
        inorder.imap(5, range(3), policy=policy)  # type: ignore[arg-type]
    assert alive() == before


@pytest.mark.parametrize("schedule", ["fifo", "sjf"])
@pytest.mark.parametrize("cost", [-1.0, math.nan, math.inf])
def test_a_cost_that_is_no_cost_is_refused_with_the_place_of_its_item(schedule: Any, cost: float) -> None:
    results = inorder.imap(
        str, range(5), policy="inline", schedule=schedule, cost=lambda item: cost if item == 3 else 1
    )
    with pytest.raises(OperatorError, match=f"plan item 3 has cost {cost}"):
        list(results)


@pytest.mark.parametrize("price", [None, "cheap", [1]])
def test_a_cost_that_is_no_number_is_refused_with_its_item(price: Any) -> None:
    results = inorder.imap(str, ["a", "b"], policy="inline", cost=lambda item: price if item == "b" else 1)
    with pytest.raises(OperatorError, match=r"cost must return a number, got .* for 'b'"):
        list(results)


def test_an_error_of_the_cost_function_comes_through() -> None:
    with pytest.raises(ZeroDivisionError):
        list(inorder.imap(str, range(5), policy="inline", cost=lambda item: 1 / item))


@pytest.fixture
def still_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Time stands still, so a slow moment of the machine cannot cut the plan short."""
    monkeypatch.setattr(iteration, "SystemClock", VirtualClock)


@pytest.mark.req("CMP-4")
@pytest.mark.parametrize("policy", ["io", "inline"])
@pytest.mark.parametrize(
    ("schedule", "order"), [("sjf", [1, 3, 4, 2, 0]), ("fifo", [0, 1, 2, 3, 4])], ids=["sjf", "fifo"]
)
@pytest.mark.usefixtures("still_clock")
def test_the_schedule_orders_the_work_and_never_the_results(policy: Any, schedule: Any, order: list[int]) -> None:
    costs = [9, 1, 7, 2, 3]
    started = []

    def function(item: int) -> int:
        started.append(item)
        return item

    options = {"policy": policy, "schedule": schedule, "workers": 1}
    with closing(inorder.imap(function, range(5), cost=costs.__getitem__, **options)) as results:
        assert list(results) == [0, 1, 2, 3, 4]
    assert started == order


class Measure(float):
    """A number of a class of its own, as libraries for numbers return them."""


def test_a_cost_may_be_a_number_of_a_class_of_its_own() -> None:
    assert list(inorder.imap(str, range(3), policy="inline", cost=Measure)) == ["0", "1", "2"]
