"""What becomes of a batch before it leaves this machine, and of results when they have come back."""

import pickle
from typing import Any

import pytest

from inorder.core.events import Envelope, Event, Finished, Pulled
from inorder.engines.attempt import FAIL, SKIP, SUCCESS, Skip
from inorder.engines.base import Batch, Task
from inorder.engines.ray import packing as mail
from inorder.engines.ray.packing import Mail, Ready
from inorder.errors import Category, Failure
from tests.support.misbehaviour import Unsendable


class Courier:
    """Does with an item what it says."""

    mark = "/data/mark"
    secret = "5ecret"

    def __init__(self, size: int = 0) -> None:
        self.size = size
        self.asked: list[tuple[Any, bool]] = []

    def depart(self, item: Any, *, sees_files: bool) -> tuple[Any, int] | None:
        self.asked.append((item, sees_files))
        if item == "missing":
            raise FileNotFoundError("no such file")
        return None if item == "large" else (f"sent {item}" if isinstance(item, str) else item, self.size)

    def arrive(self, value: Any) -> Any:
        return f"arrived {value}" if isinstance(value, str) else value


def batch_of(*items: Any) -> Batch:
    return Batch(0, [Task(seq, 1, item) for seq, item in enumerate(items, 10)], isolated=False)


def left(ready: Ready) -> list[tuple[int, int, Any]]:
    return [(seq, attempt, pickle.loads(item)) for seq, attempt, item in ready.packed]


def refusals(ready: Ready) -> dict[int, str]:
    return {envelope.seq: envelope.failure.message for envelope in ready.refused if envelope.failure is not None}


@pytest.mark.parametrize("sees_files", [True, False])
def test_items_leave_as_the_courier_makes_them_ready(sees_files: bool) -> None:
    courier = Courier()
    ready = Mail(courier).ready(batch_of("a", "b"), sees_files=sees_files)
    assert left(ready) == [(10, 1, "sent a"), (11, 1, "sent b")]
    assert (ready.refused, ready.returned, ready.staying) == ([], [], [])
    assert courier.asked == [("a", sees_files), ("b", sees_files)]


def test_without_a_courier_items_leave_as_they_are() -> None:
    post = Mail(None)
    ready = post.ready(batch_of("a", Unsendable(), "large"), sees_files=False)
    assert left(ready) == [(10, 1, "a"), (12, 1, "large")]
    assert refusals(ready) == {11: "the item cannot be sent to a process: TypeError: cannot be taken apart"}
    assert (ready.returned, ready.staying) == ([], [])
    assert (post.mark, post.secret) == ("", "")


def test_the_mark_is_the_courier_s() -> None:
    post = Mail(Courier())
    assert (post.mark, post.secret) == ("/data/mark", "5ecret")


def test_an_item_that_cannot_leave_is_refused_and_the_others_go() -> None:
    ready = Mail(Courier()).ready(batch_of("a", "missing", Unsendable(), "d"), sees_files=False)
    assert [seq for seq, _, _ in left(ready)] == [10, 13]
    assert refusals(ready) == {
        11: "FileNotFoundError: no such file",
        12: "the item cannot be sent to a process: TypeError: cannot be taken apart",
    }
    assert [(envelope.outcome, envelope.attempt) for envelope in ready.refused] == [(FAIL, 1), (FAIL, 1)]
    assert [envelope.failure.category for envelope in ready.refused if envelope.failure] == [Category.INPUT] * 2
    assert (ready.returned, ready.staying) == ([], [])


def test_where_one_stays_nothing_leaves_and_the_rest_goes_back() -> None:
    ready = Mail(Courier()).ready(batch_of("a", "large", "missing", "d", "large"), sees_files=False)
    assert [(task.seq, task.item) for task in ready.staying] == [(11, "large"), (14, "large")]
    assert ready.packed == []
    assert list(refusals(ready)) == [12]
    assert ready.returned == [10, 13]


def test_one_batch_takes_so_many_bytes_along_and_the_rest_goes_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mail, "_BATCH_BYTES", 250)
    courier = Courier(size=100)
    ready = Mail(courier).ready(batch_of(*"abcdef"), sees_files=False)
    assert [item for _, _, item in left(ready)] == ["sent a", "sent b", "sent c"]
    assert ready.returned == [13, 14, 15]
    assert [item for item, _ in courier.asked] == ["a", "b", "c"], "files were read that do not go"


def test_one_item_goes_however_large_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mail, "_BATCH_BYTES", 0)
    ready = Mail(Courier(size=2**40)).ready(batch_of("a", "b"), sees_files=False)
    assert [item for _, _, item in left(ready)] == ["sent a"]
    assert ready.returned == [11]


def test_every_task_of_a_batch_is_accounted_for_once() -> None:
    for items in (["a"], ["large"], ["missing"], ["a", "large"], ["missing", "a", Unsendable(), "large", "b"], []):
        batch = batch_of(*items)
        ready = Mail(Courier()).ready(batch, sees_files=False)
        found = [seq for seq, _, _ in ready.packed] + [envelope.seq for envelope in ready.refused]
        found += ready.returned + [task.seq for task in ready.staying]
        assert sorted(found) == [task.seq for task in batch.tasks]


# ---- and back


def test_what_results_have_brought_is_taken_in_and_measured_anew() -> None:
    before = Finished(3, [Envelope(0, 1, SUCCESS, "x" * 10, 9_000_000), Envelope(1, 2, SUCCESS, "y", 5, None, 2.5)])
    after = Mail(Courier()).brought(before)
    assert isinstance(after, Finished)
    assert after.worker == 3
    first, second = after.envelopes
    assert (first.payload, second.payload) == ("arrived xxxxxxxxxx", "arrived y")
    assert 0 < first.payload_bytes < 1000
    assert (second.seq, second.attempt, second.outcome, second.exec_ms) == (1, 2, SUCCESS, 2.5)


@pytest.mark.parametrize(
    "envelope",
    [
        Envelope(0, 1, SKIP, Skip("nothing to do"), 77),
        Envelope(0, 1, FAIL, "an exception", 77, Failure(category=Category.IO, message="no")),
        Envelope(0, 1, SUCCESS, [1, 2], 77),
    ],
    ids=["skip", "failure", "nothing came along"],
)
def test_a_result_that_brought_nothing_stays_as_it_is(envelope: Envelope) -> None:
    assert Mail(Courier()).brought(Finished(0, [envelope])) == Finished(0, [envelope])


@pytest.mark.parametrize("event", [Pulled(1), Finished(0, [Envelope(0, 1, SUCCESS, "text", 77)])])
def test_without_a_courier_nothing_is_touched(event: Event) -> None:
    assert Mail(None).brought(event) is event


def test_other_news_is_passed_on() -> None:
    event = Pulled(4)
    assert Mail(Courier()).brought(event) is event
