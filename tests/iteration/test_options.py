"""What `imap` refuses, and says so by the name of the option or the place of the item."""

import math
from contextlib import closing
from typing import Any

import pytest

import inorder
from inorder import OperatorError, iteration
from inorder.sim.clock import VirtualClock
from tests.support.gates import alive
from tests.support.options import for_imap

pytestmark = pytest.mark.usefixtures("no_leaks")


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"policy": "gpu"}, "policy must be one of io, cpu, inline, got 'gpu'"),
        ({"engine": "dask"}, "engine must be one of local, ray, got 'dask'"),
        ({"engine": "ray", "policy": "inline"}, "where='ray' has processes, and policy='inline' none"),
        ({"where": "cloud"}, "where must be one of processes, threads, inline, ray, got 'cloud'"),
        ({"where": "threads", "policy": "io"}, "where replaces policy and engine; leave those out"),
        ({"ray": inorder.RayOptions(cpus=2)}, "the option ray needs where='ray'"),
        ({"where": "threads", "recycle_tasks": 2}, "recycle_tasks needs worker processes, not where='threads'"),
        ({"order": "random"}, "order must be one of input, none, key, got 'random'"),
        ({"order": "key"}, "order='key' needs key=, a function that returns what items have in common"),
        ({"order": "none", "journal": "x"}, "a journal needs order='input', got order='none'"),
        ({"key": str}, "key needs order='key' or journal=PATH"),
        ({"key": 3, "order": "key"}, "key must be a function of one item"),
        ({"version": 3}, "version must be text, got 3"),
        ({"version": "3"}, "fsync, version and spool need journal=PATH"),
        ({"errors": "ignore"}, "errors must be one of raise, yield, got 'ignore'"),
        ({"workers": 0}, "workers must be between 1 and 1024, got 0"),
        ({"workers": -1}, "workers must be between 1 and 1024, got -1"),
        ({"workers": 1025}, "workers must be between 1 and 1024, got 1025"),
        ({"timeout_s": 0}, "timeout_s must be greater than 0, got 0"),
        ({"timeout_s": -1}, "timeout_s must be greater than 0, got -1"),
        ({"timeout_s": math.nan}, "timeout_s must be greater than 0, got nan"),
        ({"timeout_s": "1"}, "timeout_s must be a number of seconds, got '1'"),
        ({"workers": 1.5}, "workers must be an integer, got 1.5"),
        ({"retries": 1.5}, "retries must be an integer, got 1.5"),
        ({"lease_s": "1"}, "lease_s must be a number of seconds, got '1'"),
        ({"retries": -1}, "retries must be between 0 and 1000, got -1"),
        ({"retries": 1001}, "retries must be between 0 and 1000, got 1001"),
        ({"buffered_bytes_max": 0}, "buffered_bytes_max must be between 1 and 4611686018427387904, got 0"),
        ({"buffered_bytes_max": -1}, "buffered_bytes_max must be between 1 and 4611686018427387904, got -1"),
        ({"schedule": "lifo"}, "schedule must be one of fifo, sjf, got 'lifo'"),
        ({"cost": 3}, "cost must be a function"),
        ({"where": "inline", "workers": 2}, "where='inline' has one worker, got workers=2"),
        ({"where": "inline", "timeout_s": 1}, "where='inline' cannot interrupt an item.*timeout_s"),
    ],
    ids=str,
)
def test_a_bad_option_is_refused_by_name_before_anything_starts(options: dict[str, Any], complaint: str) -> None:
    taken: list[int] = []
    before = alive()
    with pytest.raises(OperatorError, match=complaint) as caught:
        inorder.imap(str, (taken.append(n) for n in range(3)), **for_imap(**options))
    assert caught.value.exit_code == 2
    assert taken == []
    assert alive() == before


@pytest.mark.parametrize(
    "options",
    [{"workers": 1}, {"workers": 64}, {"timeout_s": math.inf}, {"retries": 1000}, {"buffered_bytes_max": 1}],
    ids=str,
)
def test_the_last_value_that_is_allowed_works(options: dict[str, Any]) -> None:
    assert list(inorder.imap(str, range(3), **for_imap(**{"where": "threads"} | options))) == ["0", "1", "2"]


def test_something_that_cannot_be_iterated_is_refused_before_anything_starts() -> None:
    before = alive()
    with pytest.raises(TypeError, match="not iterable"):
        inorder.imap(str, 7, where="threads")  # type: ignore[arg-type]
    assert alive() == before


@pytest.mark.parametrize("where", ["threads", "processes", "inline"])
def test_something_that_cannot_be_called_is_refused_before_anything_starts(where: Any) -> None:
    before = alive()
    with pytest.raises(OperatorError, match="the first argument of imap must be a function, got 5"):
        inorder.imap(5, range(3), where=where)  # type: ignore[arg-type]
    assert alive() == before


@pytest.mark.parametrize("schedule", ["fifo", "sjf"])
@pytest.mark.parametrize("cost", [-1.0, math.nan, math.inf])
def test_a_cost_that_is_no_cost_is_refused_with_the_place_of_its_item(schedule: Any, cost: float) -> None:
    results = inorder.imap(
        str,
        range(5),
        cost=lambda item: cost if item == 3 else 1,
        where="inline",
        options=inorder.RunOptions(schedule=schedule),
    )
    with pytest.raises(OperatorError, match=f"plan item 3 has cost {cost}"):
        list(results)


@pytest.mark.parametrize("name", ["cost", "size", "batch_key"])
def test_an_exception_of_a_function_of_an_item_names_both(name: Any) -> None:
    options: dict[str, Any] = {name: {"a": 1}.__getitem__ if name != "batch_key" else {"a": "a"}.__getitem__}
    with pytest.raises(KeyError) as caught:
        list(inorder.imap(str, ["a", "b"], where="inline", **options))
    assert caught.value.__notes__ == [f"{name} raised this for the item 'b'"]


@pytest.mark.parametrize("price", [None, "cheap", [1]])
def test_a_cost_that_is_no_number_is_refused_with_its_item(price: Any) -> None:
    results = inorder.imap(str, ["a", "b"], cost=lambda item: price if item == "b" else 1, where="inline")
    with pytest.raises(OperatorError, match=r"cost must return a number, got .* for 'b'"):
        list(results)


def test_an_error_of_the_cost_function_comes_through() -> None:
    with pytest.raises(ZeroDivisionError):
        list(inorder.imap(str, range(5), cost=lambda item: 1 / item, where="inline"))


@pytest.fixture
def still_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Time stands still, so a slow moment of the machine cannot cut the plan short."""
    monkeypatch.setattr(iteration, "SystemClock", VirtualClock)


@pytest.mark.req("CMP-4")
@pytest.mark.parametrize("where", ["threads", "inline"])
@pytest.mark.parametrize(
    ("schedule", "order"), [("sjf", [1, 3, 4, 2, 0]), ("fifo", [0, 1, 2, 3, 4])], ids=["sjf", "fifo"]
)
@pytest.mark.usefixtures("still_clock")
def test_the_schedule_orders_the_work_and_never_the_results(where: Any, schedule: Any, order: list[int]) -> None:
    costs = [9, 1, 7, 2, 3]
    started = []

    def function(item: int) -> int:
        started.append(item)
        return item

    options = for_imap(where=where, schedule=schedule, workers=1)
    with closing(inorder.imap(function, range(5), cost=costs.__getitem__, **options)) as results:
        assert list(results) == [0, 1, 2, 3, 4]
    assert started == order


class Measure(float):
    """A number of a class of its own, as libraries for numbers return them."""


def test_a_cost_may_be_a_number_of_a_class_of_its_own() -> None:
    assert list(inorder.imap(str, range(3), cost=Measure, where="inline")) == ["0", "1", "2"]
