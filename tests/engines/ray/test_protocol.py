"""Orders and reports arrive as they were sent, and large results are not copied for it."""

import pickle
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inorder.core.events import Beat, Envelope, Event, Finished, Loss, Overran, Pulled, Returned, Tick, WorkerLost
from inorder.engines.attempt import FAIL, SKIP, SUCCESS, Skip
from inorder.engines.base import Task
from inorder.engines.process.transfer import SHARED_BYTES_MIN, pack
from inorder.engines.process.worker_process import ProcessOptions
from inorder.engines.ray.protocol import (
    Hello,
    Order,
    Report,
    SupervisorOptions,
    decode_order,
    decode_report,
    encode_order,
    encode_report,
    pass_packed_tasks,
)
from inorder.errors import Category, Failure
from tests.support.misbehaviour import Tensor, Unreadable

LARGE = 4 * 2**20


def answer(
    seq: int,
    value: Any,
    *,
    attempt: int = 1,
    outcome: int = SUCCESS,
    failure: Failure | None = None,
    exec_ms: float = 1,
) -> Envelope:
    """A result of a worker process, as its supervisor gets it."""
    packed = pack(value)
    payload = packed if packed.buffers else packed.data
    return Envelope(seq, attempt, outcome, payload, packed.size_bytes, failure, exec_ms)


def over_the_wire(
    events: list[Event], hello: Hello | None = None, error: str = "", *, readonly: bool = False
) -> tuple[Report, list[Any]]:
    """As Ray does it: one pickle, and the large buffers beside it."""
    buffers: list[Any] = []
    data = pickle.dumps(encode_report(events, hello, error), protocol=5, buffer_callback=buffers.append)
    beside = [memoryview(buffer).toreadonly() for buffer in buffers] if readonly else buffers
    return decode_report(*pickle.loads(data, buffers=beside))


whole = st.integers(min_value=0, max_value=2**62)
text = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
failures = st.builds(Failure, category=st.sampled_from(Category), message=text, retryable=st.booleans(), detail=text)
values = st.one_of(
    st.none(),
    st.integers(),
    text,
    st.binary(max_size=50),
    st.lists(st.floats(allow_nan=False), max_size=5),
    st.builds(lambda byte: bytes([byte]) * SHARED_BYTES_MIN, st.integers(0, 255)),
    st.builds(lambda byte: [bytearray([byte]) * SHARED_BYTES_MIN, "beside"], st.integers(0, 255)),
)
answers = st.tuples(
    whole, values, whole, st.sampled_from([SUCCESS, SKIP, FAIL]), st.none() | failures, st.floats(0, 1e9)
)
events = st.one_of(
    st.builds(Pulled, whole, whole),
    st.builds(Overran, whole, whole, whole, whole),
    st.builds(WorkerLost, whole, st.sampled_from(Loss), st.none() | whole, text),
    st.builds(Returned, whole, st.lists(whole, max_size=5)),
    st.tuples(whole, st.lists(answers, max_size=4)),
)


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(st.lists(events, max_size=6), st.none() | st.builds(Hello, text, whole, text, st.booleans()), text)
def test_events_arrive_in_order_and_unchanged(said: list[Any], hello: Hello | None, error: str) -> None:
    sent: list[Event] = []
    expected: list[Event] = []
    for event in said:
        if not isinstance(event, tuple):
            sent.append(event)
            expected.append(event)
            continue
        worker, found = event
        made = [
            answer(seq, value, attempt=attempt, outcome=outcome, failure=failure, exec_ms=exec_ms)
            for seq, value, attempt, outcome, failure, exec_ms in found
        ]
        sent.append(Finished(worker, made))
        opened = [
            msgspec.structs.replace(envelope, payload=value)
            for envelope, (_, value, *_) in zip(made, found, strict=True)
        ]
        expected.append(Finished(worker, opened))
    report, heard = over_the_wire(sent, hello, error)
    assert heard == expected
    assert (report.hello, report.error) == (hello, error)


@pytest.mark.req("CMP-6")
def test_a_large_result_is_the_same_memory_on_both_sides() -> None:
    tensors = [Tensor(bytearray([number]) * LARGE, (LARGE,)) for number in range(3)]
    _, [finished] = over_the_wire([Finished(0, [answer(seq, tensor) for seq, tensor in enumerate(tensors)])])
    received = [envelope.payload for envelope in finished.envelopes]
    assert [tensor.data[0] for tensor in received] == [0, 1, 2]
    for tensor in tensors:
        tensor.data[-1] = 99
    assert [tensor.data[-1] for tensor in received] == [99, 99, 99], "it was copied on the way"


@pytest.mark.req("CMP-6")
def test_a_large_result_is_not_in_the_report() -> None:
    made = [answer(0, Tensor(bytearray(LARGE), (LARGE,))), answer(1, b"x" * LARGE)]
    data, buffers = encode_report([Finished(0, made)])
    assert len(data) < 1000
    assert [memoryview(buffer).nbytes for buffer in buffers] == [LARGE, LARGE]


def test_a_result_in_read_only_memory_arrives_too() -> None:
    tensor = Tensor(bytearray(b"\x05" * LARGE), (LARGE,))
    _, [finished] = over_the_wire([Finished(0, [answer(0, tensor), answer(1, [b"y" * LARGE])])], readonly=True)
    first, second = (envelope.payload for envelope in finished.envelopes)
    assert first.data == tensor.data
    assert first.data.readonly
    assert second == [b"y" * LARGE]


def test_a_result_that_cannot_be_unpickled_fails_its_item_and_no_other() -> None:
    made = [answer(0, [Unreadable(), Tensor(bytearray(LARGE), (LARGE,))]), answer(1, b"z" * LARGE)]
    _, [finished] = over_the_wire([Finished(0, made)])
    bad, good = finished.envelopes
    assert bad.outcome == FAIL
    assert bad.failure == Failure(
        category=Category.RUNTIME, message="the result cannot be unpickled: ValueError: cannot be put together"
    )
    assert good.payload == b"z" * LARGE


def test_an_exception_and_its_failure_arrive() -> None:
    failure = Failure(category=Category.PROVIDER, message="ConnectionError: busy", retryable=True, detail="line 7")
    _, [finished] = over_the_wire([Finished(3, [answer(4, ConnectionError("busy"), outcome=FAIL, failure=failure)])])
    [envelope] = finished.envelopes
    assert (envelope.seq, envelope.failure, str(envelope.payload)) == (4, failure, "busy")


def test_a_skip_arrives_as_one() -> None:
    _, [finished] = over_the_wire([Finished(0, [answer(0, Skip("nothing to do", {"a": 1}), outcome=SKIP)])])
    assert finished.envelopes[0].payload == Skip("nothing to do", {"a": 1})
    assert finished.envelopes[0].outcome == SKIP


def test_events_of_a_local_engine_only_are_not_sent() -> None:
    assert over_the_wire([Tick(), Pulled(1), Beat([1])])[1] == [Pulled(1)]


@pytest.mark.slow
@given(st.integers(-1, 2**40), st.lists(st.tuples(whole, whole, st.binary(max_size=100))), st.booleans(), whole)
def test_an_order_arrives_as_it_was_given(worker: int, tasks: list[Any], isolated: bool, bytes_max: int) -> None:
    assert decode_order(encode_order(Order(worker, tasks, isolated, bytes_max))) == Order(
        worker, tasks, isolated, bytes_max
    )


def test_items_that_are_pickles_already_are_passed_on_as_they_are() -> None:
    assert pass_packed_tasks([Task(3, 1, b"one"), Task(4, 2, b"two")]) == ([(3, 1, b"one"), (4, 2, b"two")], [])


def test_the_options_of_a_supervisor_survive_pickling() -> None:
    options = SupervisorOptions(
        timeout_s=1.5, batch_s=3.0, limits=ProcessOptions(memory_bytes_max=2**40), path=["/caf\udce9"], marker_path="/m"
    )
    assert pickle.loads(pickle.dumps(options)) == options, "folders may have names that are not UTF-8"
