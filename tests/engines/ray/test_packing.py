"""Batches before they are sent to a node, and results when they have come back."""

import pickle
from typing import Any

import pytest

from inorder.core.events import Envelope, Event, Finished, Pulled
from inorder.engines.attempt import FAIL, SKIP, SUCCESS, Skip
from inorder.engines.base import Batch, Task
from inorder.engines.ray import packing
from inorder.engines.ray.packing import PackedBatch, TaskPacker
from inorder.errors import Category, Failure
from tests.support.misbehaviour import Unsendable


class Files:
    """Handles an item by its value."""

    marker_path = "/data/mark"
    marker_secret = "5ecret"

    def __init__(self, size: int = 0) -> None:
        self.size = size
        self.asked: list[tuple[Any, bool]] = []

    def pack_item(self, item: Any, *, sees_files: bool) -> tuple[Any, int] | None:
        self.asked.append((item, sees_files))
        if item == "missing":
            raise FileNotFoundError("no such file")
        return None if item == "large" else (f"sent {item}" if isinstance(item, str) else item, self.size)

    def unpack_value(self, value: Any) -> Any:
        return f"arrived {value}" if isinstance(value, str) else value


def batch_of(*items: Any) -> Batch:
    return Batch(0, [Task(seq, 1, item) for seq, item in enumerate(items, 10)], isolated=False)


def left(packed: PackedBatch) -> list[tuple[int, int, Any]]:
    return [(seq, attempt, pickle.loads(item)) for seq, attempt, item in packed.tasks]


def refusals(packed: PackedBatch) -> dict[int, str]:
    return {envelope.seq: envelope.failure.message for envelope in packed.refused if envelope.failure is not None}


@pytest.mark.parametrize("sees_files", [True, False])
def test_items_are_sent_as_the_file_transfer_packs_them(sees_files: bool) -> None:
    files = Files()
    packed = TaskPacker(files).pack(batch_of("a", "b"), sees_files=sees_files)
    assert left(packed) == [(10, 1, "sent a"), (11, 1, "sent b")]
    assert (packed.refused, packed.returned, packed.local) == ([], [], [])
    assert files.asked == [("a", sees_files), ("b", sees_files)]


def test_without_a_file_transfer_items_are_sent_as_they_are() -> None:
    packer = TaskPacker(None)
    packed = packer.pack(batch_of("a", Unsendable(), "large"), sees_files=False)
    assert left(packed) == [(10, 1, "a"), (12, 1, "large")]
    assert refusals(packed) == {11: "the item cannot be pickled: TypeError: cannot be taken apart"}
    assert (packed.returned, packed.local) == ([], [])
    assert (packer.marker_path, packer.marker_secret) == ("", "")


def test_the_marker_is_that_of_the_file_transfer() -> None:
    packer = TaskPacker(Files())
    assert (packer.marker_path, packer.marker_secret) == ("/data/mark", "5ecret")


def test_an_item_that_cannot_be_sent_is_refused_and_the_others_are_sent() -> None:
    packed = TaskPacker(Files()).pack(batch_of("a", "missing", Unsendable(), "d"), sees_files=False)
    assert [seq for seq, _, _ in left(packed)] == [10, 13]
    assert refusals(packed) == {
        11: "FileNotFoundError: no such file",
        12: "the item cannot be pickled: TypeError: cannot be taken apart",
    }
    assert [(envelope.outcome, envelope.attempt) for envelope in packed.refused] == [(FAIL, 1), (FAIL, 1)]
    assert [envelope.failure.category for envelope in packed.refused if envelope.failure] == [Category.INPUT] * 2
    assert (packed.returned, packed.local) == ([], [])


def test_with_a_local_item_nothing_is_sent_and_the_rest_is_returned() -> None:
    packed = TaskPacker(Files()).pack(batch_of("a", "large", "missing", "d", "large"), sees_files=False)
    assert [(task.seq, task.item) for task in packed.local] == [(11, "large"), (14, "large")]
    assert packed.tasks == []
    assert list(refusals(packed)) == [12]
    assert packed.returned == [10, 13]


def test_a_batch_has_a_limit_of_bytes_and_the_rest_is_returned(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packing, "_BATCH_BYTES", 250)
    files = Files(size=100)
    packed = TaskPacker(files).pack(batch_of(*"abcdef"), sees_files=False)
    assert [item for _, _, item in left(packed)] == ["sent a", "sent b", "sent c"]
    assert packed.returned == [13, 14, 15]
    assert [item for item, _ in files.asked] == ["a", "b", "c"], "files were read that are not sent"


def test_one_item_is_sent_whatever_its_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packing, "_BATCH_BYTES", 0)
    packed = TaskPacker(Files(size=2**40)).pack(batch_of("a", "b"), sees_files=False)
    assert [item for _, _, item in left(packed)] == ["sent a"]
    assert packed.returned == [11]


def test_every_task_of_a_batch_is_accounted_for_once() -> None:
    for items in (["a"], ["large"], ["missing"], ["a", "large"], ["missing", "a", Unsendable(), "large", "b"], []):
        batch = batch_of(*items)
        packed = TaskPacker(Files()).pack(batch, sees_files=False)
        found = [seq for seq, _, _ in packed.tasks] + [envelope.seq for envelope in packed.refused]
        found += packed.returned + [task.seq for task in packed.local]
        assert sorted(found) == [task.seq for task in batch.tasks]


# ---- results


def test_results_are_unpacked_and_their_size_is_estimated_again() -> None:
    before = Finished(3, [Envelope(0, 1, SUCCESS, "x" * 10, 9_000_000), Envelope(1, 2, SUCCESS, "y", 5, None, 2.5)])
    after = TaskPacker(Files()).unpack(before)
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
    ids=["skip", "failure", "no files"],
)
def test_a_result_without_files_stays_as_it_is(envelope: Envelope) -> None:
    assert TaskPacker(Files()).unpack(Finished(0, [envelope])) == Finished(0, [envelope])


@pytest.mark.parametrize("event", [Pulled(1), Finished(0, [Envelope(0, 1, SUCCESS, "text", 77)])])
def test_without_a_file_transfer_events_stay_as_they_are(event: Event) -> None:
    assert TaskPacker(None).unpack(event) is event


def test_other_events_are_passed_on() -> None:
    event = Pulled(4)
    assert TaskPacker(Files()).unpack(event) is event
