"""Numbers, texts and None travel to and from a worker process as they are; any other value as a pickle of its own."""

import enum
import math
import pickle
from typing import Any

import msgspec
import pytest

import inorder
from inorder.core.events import Envelope
from inorder.engines.attempt import SUCCESS
from inorder.engines.process.transfer import is_plain_result, pack_item
from inorder.engines.process.worker_main import ResultMessage


class Colour(enum.IntEnum):
    """A number of a class of its own."""

    RED = 1


class Name(str):
    """A text of a class of its own."""


VALUES = [
    None,
    True,
    0,
    -1,
    2**63 - 1,
    -(2**63),
    2**63,
    -(2**63) - 1,
    10**40,
    0.1,
    -0.0,
    math.inf,
    "",
    "text",
    "ünïcode",
    "\udc80 of a file name",
    "x" * 70_000,
    b"bytes",
    Colour.RED,
    Name("name"),
    (1, "two"),
    [1, 2],
]
_shared: list[int] = []


def describe(value: Any) -> str:
    """What distinguishes a value: equal ones may be of another class or sign."""
    return f"{type(value).__name__} {value!r}"


def identity(value: Any) -> Any:
    return value


def append_to_item(item: list[int]) -> list[int]:
    item.append(len(item))
    return item


def append_to_shared(number: int) -> list[int]:
    _shared.append(number)
    return _shared


@pytest.mark.parametrize("value", VALUES, ids=lambda value: describe(value)[:20])
def test_a_plain_result_is_the_same_after_its_way_through_a_message(value: Any) -> None:
    if is_plain_result(value):
        message = ResultMessage([Envelope(0, 1, SUCCESS, value)], is_last=True)
        received = msgspec.msgpack.decode(msgspec.msgpack.encode(message), type=ResultMessage)
        assert describe(received.envelopes[0].payload) == describe(value)


def test_what_a_message_cannot_hold_and_what_can_be_changed_is_no_plain_result() -> None:
    refused = [2**63, 10**40, "ünïcode", "\udc80 of a file name", "x" * 70_000, b"bytes", Colour.RED, Name("n"), [1]]
    assert [value for value in refused if is_plain_result(value)] == []
    assert all(map(is_plain_result, (None, True, -(2**63), 2**63 - 1, 0.1, "text")))


@pytest.mark.parametrize("value", VALUES, ids=lambda value: describe(value)[:20])
def test_an_item_is_packed_to_bytes_only_as_a_pickle(value: Any) -> None:
    packed = pack_item(value)
    unpacked = pickle.loads(packed) if type(packed) is bytes else packed
    assert describe(unpacked) == describe(value)


@pytest.mark.process
def test_items_and_results_of_any_class_keep_value_and_class() -> None:
    found = list(inorder.imap(identity, VALUES, workers=1))
    assert [describe(value) for value in found] == [describe(value) for value in VALUES]


@pytest.mark.process
def test_items_of_a_batch_share_no_object_and_a_result_does_not_change_after_its_item() -> None:
    shared: list[int] = []
    assert list(inorder.imap(append_to_item, [shared] * 50, workers=1)) == [[0]] * 50
    found = list(inorder.imap(append_to_shared, range(50), workers=1))
    assert found == [list(range(number + 1)) for number in range(50)]
