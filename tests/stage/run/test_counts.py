"""The counts of a run that was stopped: they are those of the plan, however it was stopped and however it is given."""

import itertools
import os
import signal
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import msgspec
import pytest

import inorder
from inorder.core.options import KernelOptions
from inorder.stage import plan_reader, run
from inorder.stage.contracts import PassPlan
from tests.stage.jobs import STAGE, Place, to_pass_item
from tests.stage.workers import obey

COUNT = 31
Items = list[inorder.WorkItem]
pytestmark = pytest.mark.req("RUN-8", "CAN-3")


class Again:
    """Items that can be read again, with a barrier among them, and no length."""

    def __init__(self, items: Items) -> None:
        self._items = items

    def __iter__(self) -> Iterator[Any]:
        yield from self._items[:20]
        yield inorder.Barrier()
        yield from self._items[20:]


PLANS: dict[str, Callable[[Items], inorder.StagePlan]] = {
    "a list": lambda items: inorder.StagePlan(STAGE, items),
    "a list whose missing items are removed": lambda items: inorder.StagePlan(STAGE, items, retires=lambda *_: True),
    "a generator": lambda items: inorder.StagePlan(STAGE, (item for item in items)),
    "items with a barrier": lambda items: inorder.StagePlan(STAGE, Again(items), expected_items=3),
}


def go(place: Place, plan: inorder.StagePlan, hooks: inorder.StageHooks | None = None, **options: Any) -> Any:
    return inorder.run_stage(plan, obey, place.options(max_queue=1, workers=1, **options), hooks)


def counts(outcome: inorder.StageOutcome) -> tuple[int, ...]:
    return (outcome.scheduled, outcome.succeeded, outcome.skipped, outcome.failed, outcome.cancelled)


@pytest.mark.parametrize("given", PLANS)
def test_a_run_stopped_by_its_error_budget(place: Place, given: str) -> None:
    items = place.items(COUNT)
    items[2] = place.item("item-0002", "fail")
    outcome = go(place, PLANS[given](items), error_budget=0)
    assert (outcome.stop_kind, counts(outcome)) == ("error budget", (COUNT, 2, 0, 1, COUNT - 3))
    assert outcome.warnings == []


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("given", PLANS)
def test_a_run_stopped_by_a_signal(place: Place, given: str, number: signal.Signals) -> None:
    def stop(item: inorder.WorkItem, result: object, ctx: object) -> None:
        if item.item_id == "item-0004":
            os.kill(os.getpid(), number)

    hooks = inorder.StageHooks(after_item=stop)
    outcome = go(place, PLANS[given](place.items(COUNT)), hooks)
    assert (outcome.stop_kind, outcome.stop_signal, outcome.scheduled) == ("cancelled", number, COUNT)
    assert outcome.succeeded + outcome.cancelled == COUNT
    assert outcome.cancelled > 0
    second = go(place, PLANS[given](place.items(COUNT)))
    assert counts(second) == (COUNT, COUNT, 0, 0, 0)


@pytest.mark.process
@pytest.mark.parametrize("given", PLANS)
def test_a_run_stopped_by_a_failing_machine(place: Place, given: str, monkeypatch: pytest.MonkeyPatch) -> None:
    make = run.make_kernel_options

    def make_without_budget(options: inorder.StageOptions, *, has_groups: bool) -> KernelOptions:
        return msgspec.structs.replace(make(options, has_groups=has_groups), infrastructure_budget=0)

    monkeypatch.setattr(run, "make_kernel_options", make_without_budget)
    items = place.items(COUNT)
    items[2] = place.item("item-0002", "kill")
    outcome = go(place, PLANS[given](items), policy="cpu")
    assert (outcome.stop_kind, counts(outcome)) == ("infrastructure", (COUNT, 2, 0, 0, COUNT - 2))


@pytest.mark.parametrize("given", PLANS)
def test_a_run_that_raises_tells_its_counts_to_telemetry(place: Place, given: str) -> None:
    items = place.items(COUNT)
    items[2] = place.item("item-0002", "full disk", meta={"room": str(place.folder / "room")})
    with pytest.raises(inorder.InfrastructureError):
        go(place, PLANS[given](items), cancel_grace_s=0)
    [path] = (place.data / "telemetry").iterdir()
    last = msgspec.json.decode(path.read_bytes().splitlines()[-1])
    assert last["event"] == "run_failed"
    assert last["succeeded"] + last["cancelled"] == last["scheduled"]
    assert last["succeeded"] == len(place.lines()[1:]) <= 2
    assert (last["skipped"], last["failed"]) == (0, 0)
    assert last["scheduled"] >= 3
    if given.startswith("a list"):
        assert last["scheduled"] == COUNT


@pytest.mark.slow
def test_items_that_are_up_to_date_are_not_checked_to_be_counted(place: Place) -> None:
    go(place, inorder.StagePlan(STAGE, place.items(COUNT)))
    items = place.items(COUNT)
    items[0] = place.item("item-0000", "fail", cfg_hash="2")
    outcome = go(place, inorder.StagePlan(STAGE, (item for item in items)), error_budget=0)
    assert counts(outcome) == (COUNT, 0, 0, 1, COUNT - 1)


def endless(place: Place) -> Iterable[inorder.WorkItem]:
    yield place.item("bad", "fail")
    for number in itertools.count():
        yield inorder.WorkItem(item_id=str(number))


def test_a_plan_without_an_end_is_counted_as_far_as_there_is_time(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plan_reader, "_COUNT_S_MAX", 0.0)
    outcome = go(place, inorder.StagePlan(STAGE, endless(place)), error_budget=0)
    assert outcome.scheduled == outcome.failed + outcome.cancelled
    assert outcome.cancelled > 0
    why = "it has more items than can be read in 0 s"
    warning = f"the plan was not read to its end ({why}); it has at least {outcome.scheduled} items"
    assert outcome.warnings == [warning]


def test_a_plan_that_raises_while_it_is_counted_is_an_estimate(place: Place) -> None:
    def items() -> Iterator[inorder.WorkItem]:
        yield place.item("bad", "fail")
        for number in range(10):
            yield inorder.WorkItem(item_id=str(number))
        raise LookupError("no more")

    outcome = go(place, inorder.StagePlan(STAGE, items(), expected_items=50), error_budget=0)
    assert counts(outcome) == (50, 0, 0, 1, 49)
    assert outcome.warnings == ["the plan was not read to its end (LookupError: no more); it has at least 50 items"]


@pytest.mark.parametrize("error_budget", [0, 9])
def test_parts_of_items_are_not_counted(place: Place, error_budget: int) -> None:
    items = place.items(COUNT)
    items[2:2] = [to_pass_item(place.item(f"part-{number}"), part_of="item-0002") for number in range(3)]
    items[7] = place.item("item-0004", "fail")
    outcome = go(place, PassPlan(STAGE, items, is_remainder=True), error_budget=error_budget)
    cancelled = COUNT - 5 if error_budget == 0 else 0
    assert counts(outcome) == (COUNT, COUNT - 1 - cancelled, 0, 1, cancelled)


def test_a_plan_that_is_resumed_has_no_parts(place: Place) -> None:
    items = [to_pass_item(place.item("part"), part_of="item"), place.item("item")]
    with pytest.raises(inorder.OperatorError, match="item 'part' has part_of, and the plan has not is_remainder"):
        go(place, inorder.StagePlan(STAGE, items))
