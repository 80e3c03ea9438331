"""Plans of every kind: empty, lazy, announced wrongly, with items that are none."""

import errno
import os
import threading
from collections.abc import Iterator
from typing import Any

import pytest

import inorder
from tests.stage.jobs import Place
from tests.stage.workers import nothing


def test_an_empty_plan_is_done_at_once(place: Place) -> None:
    outcome = place.run([])
    assert (outcome.scheduled, outcome.succeeded, outcome.cancelled, outcome.was_cancelled) == (0, 0, 0, False)
    assert (outcome.exec_p50_ms, outcome.queue_p50_ms, outcome.errors) == (0.0, 0.0, [])
    assert place.published() == {}
    assert place.lines() == []


@pytest.mark.slow
def test_a_generator_is_read_lazily_and_its_length_need_not_be_known(place: Place) -> None:
    started: list[str] = []
    planned: list[int] = []
    lead: list[int] = []

    def items() -> Iterator[inorder.WorkItem]:
        for number in range(3000):
            planned.append(number)
            lead.append(number - len(started))
            yield inorder.WorkItem(item_id=f"item-{number}")

    outcome = place.run(items(), lambda item: started.append(item.item_id), max_queue=16)
    assert (outcome.scheduled, outcome.succeeded) == (3000, 3000)
    assert max(lead) < 200
    assert [row["seq"] for row in place.rows().values()] == list(range(3000))


def test_a_list_needs_no_announcement(place: Place) -> None:
    outcome = place.run([place.item(f"item-{n}", "fail") for n in range(9)], error_budget=0)
    assert (outcome.scheduled, outcome.failed, outcome.cancelled) == (9, 1, 8)


def test_what_a_generator_had_not_yielded_is_counted_as_cancelled(place: Place) -> None:
    items = (place.item(f"item-{n}", "fail") for n in range(9))
    outcome = place.run(items, error_budget=0)
    assert (outcome.failed, outcome.cancelled, outcome.was_cancelled) == (1, 8, True)
    announced = place.run((place.item(f"item-{n}", "fail") for n in range(9)), error_budget=0, total=9, resume=False)
    assert (announced.failed, announced.cancelled) == (1, 8)


@pytest.mark.parametrize(
    ("total", "complaint"),
    [
        (2, "the plan announced 2 items but has more: plan item 2 ('item-0002')"),
        (4, "the plan announced 4 items but ended after 3"),
    ],
)
def test_a_plan_of_another_length_than_announced_is_refused(place: Place, total: int, complaint: str) -> None:
    with pytest.raises(inorder.OperatorError) as caught:
        place.run(iter(place.items(3)), total=total)
    assert str(caught.value) == complaint
    assert place.staged() == []


def test_an_id_that_comes_twice_is_refused_by_name(place: Place) -> None:
    with pytest.raises(inorder.OperatorError, match=r"plan item 2 .'a'. repeats an earlier id; ids must be unique"):
        place.run([place.item("a"), place.item("b"), place.item("a")])


def test_something_that_is_no_item_is_refused_with_its_place(place: Place) -> None:
    items: list[Any] = [place.item("a"), "b.txt"]
    with pytest.raises(inorder.OperatorError, match="item 1 of the plan is a str, not a WorkItem"):
        place.run(items)


@pytest.mark.parametrize("cost", [-1.0, float("nan"), float("inf")])
def test_a_cost_that_is_none_is_refused_by_name(place: Place, cost: float) -> None:
    with pytest.raises(inorder.OperatorError, match=r"plan item 0 .'a'. has cost"):
        place.run([place.item("a", cost_hint=cost)])


@pytest.mark.slow
def test_a_plan_that_raises_ends_the_run_which_can_be_taken_up_again(place: Place) -> None:
    class Broken(Exception):
        pass

    good = place.items(40)

    def items() -> Iterator[inorder.WorkItem]:
        yield from good
        raise Broken("the index is gone")

    with pytest.raises(Broken):
        place.run(items(), max_queue=1, workers=1)
    committed = set(place.rows())
    assert committed
    place.called()
    outcome = place.run(iter(good))
    assert (outcome.scheduled, outcome.succeeded, outcome.resumed_at) == (40, 40, len(committed))
    called = set(place.called())
    assert called <= {item.item_id for item in good} - committed
    assert len(called) + outcome.adopted == 40 - len(committed)
    assert place.staged() == []


def test_a_refused_run_can_be_run_again(place: Place) -> None:
    with pytest.raises(inorder.OperatorError):
        place.run([place.item("a"), place.item("a")])
    assert place.run([place.item("a")]).succeeded + place.run([place.item("a")]).skipped == 2


@pytest.mark.process
def test_a_worker_that_cannot_travel_is_refused_with_what_to_do(place: Place) -> None:
    held = threading.Lock()
    with pytest.raises(
        inorder.OperatorError, match=r"cannot be sent to a worker .*lock.*open that in the function.*policy='io'"
    ):
        place.run([place.item("a")], lambda item: held, policy="cpu")
    assert place.run([inorder.WorkItem(item_id="a")], nothing, policy="cpu").succeeded == 1


def test_two_runs_on_one_data_at_once_are_refused_and_the_first_is_unharmed(place: Place) -> None:
    refused: list[inorder.BusyError] = []

    def worker(item: inorder.WorkItem) -> None:
        try:
            place.run([inorder.WorkItem(item_id="b")], nothing)
        except inorder.BusyError as error:
            refused.append(error)

    assert place.run([inorder.WorkItem(item_id="a")], worker).succeeded == 1
    [error] = refused
    assert f"{place.data} (shout) is in use by process" in str(error)
    assert error.exit_code == 5
    assert list(place.rows()) == ["a"]


def test_two_stages_share_one_data(place: Place) -> None:
    other = inorder.StagePlan("whisper", [inorder.WorkItem(item_id="b")])

    def worker(item: inorder.WorkItem) -> None:
        assert inorder.run_stage(other, nothing, place.options()).succeeded == 1

    assert place.run([inorder.WorkItem(item_id="a")], worker).succeeded == 1
    assert (place.data / "manifests" / "whisper.jsonl").exists()


def test_a_data_folder_that_cannot_be_is_said_in_one_line(place: Place) -> None:
    item = place.item("a")
    place.data.write_text("a file")
    with pytest.raises(inorder.OperatorError, match=r"DATA cannot be used: /.* is not a directory; choose another"):
        place.run([item])


@pytest.mark.parametrize(
    ("number", "kind"),
    [
        (errno.EACCES, inorder.OperatorError),
        (errno.EROFS, inorder.OperatorError),
        (errno.ENOSPC, inorder.InfrastructureError),
        (errno.EIO, inorder.InfrastructureError),
    ],
)
def test_a_data_folder_that_cannot_be_written_is_named_with_the_reason(
    place: Place, monkeypatch: pytest.MonkeyPatch, number: int, kind: type[Exception]
) -> None:
    item = place.item("a")

    def refuse(path: str, exist_ok: bool = False) -> None:
        raise OSError(number, os.strerror(number), path)

    monkeypatch.setattr(os, "makedirs", refuse)
    with pytest.raises(kind, match=f"^DATA cannot be used: /[^ ]*: {os.strerror(number)}"):
        place.run([item])
