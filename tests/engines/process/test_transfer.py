"""Values travel between processes whole, in order, and with no more copies than documented."""

import os
import sys
import tracemalloc
from collections.abc import Callable, Iterator
from multiprocessing import Pipe
from typing import Any, NamedTuple

import pytest

from inorder.engines.process import main_pickle
from inorder.engines.process.shared_status import SharedStatus, StatusSnapshot
from inorder.engines.process.transfer import (
    SHARED_BYTES_MIN,
    PackedValue,
    measure_buffers,
    pack,
    receive_buffers,
    send_buffers,
    unpack,
)
from tests.support.misbehaviour import Tensor, Unreadable, Unsendable

LARGE = 32 * 2**20
LITTLE = 2**20


class Wire:
    """Both ends of a pipe, in one process."""

    def __init__(self) -> None:
        self._near, self._far = Pipe()

    def send(self, packed: PackedValue) -> None:
        if packed.buffers:
            send_buffers(self._near, packed.buffers, os.getpid())

    def receive(self, packed: PackedValue) -> Any:
        buffers = receive_buffers(self._far, measure_buffers(packed.buffers)) if packed.buffers else []
        return unpack(PackedValue(packed.data, buffers))

    def carry(self, value: Any) -> Any:
        packed = pack(value)
        self.send(packed)
        return self.receive(packed)

    def close(self) -> None:
        self._near.close()
        self._far.close()


@pytest.fixture
def wire() -> Iterator[Wire]:
    wire = Wire()
    yield wire
    wire.close()


def allocated(call: Callable[[], Any]) -> tuple[Any, int]:
    """The result of the call, and the peak of Python's own memory during it."""
    tracemalloc.start()
    try:
        value = call()
        return value, tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("value", [None, 0, "text", b"bytes", [1, {"a": (2.5, None)}], {"nested": [b"x" * 1000]}])
def test_a_small_value_travels_in_its_pickle(wire: Wire, value: Any) -> None:
    packed = pack(value)
    assert packed.buffers == []
    assert wire.receive(packed) == value


@pytest.mark.slow
@pytest.mark.parametrize("size", [0, 1, SHARED_BYTES_MIN - 1, SHARED_BYTES_MIN, SHARED_BYTES_MIN + 1, LARGE + 63])
@pytest.mark.parametrize("kind", [bytes, bytearray, bytes.hex, lambda data: [data, len(data)]])
def test_a_value_of_any_size_arrives_as_it_was(wire: Wire, kind: Callable[[bytes], Any], size: int) -> None:
    value = kind((b"\x00\x01\xfe\xff\x7f" * (size // 5 + 1))[:size])
    received = wire.carry(value)
    assert type(received) is type(value)
    assert received == value


@pytest.mark.parametrize("size", [1, SHARED_BYTES_MIN - 1, SHARED_BYTES_MIN, SHARED_BYTES_MIN + 1])
def test_several_buffers_of_odd_sizes_do_not_overlap(wire: Wire, size: int) -> None:
    tensors = [Tensor(bytearray([number]) * (size + number), (size + number,)) for number in range(5)]
    received = wire.carry(tensors)
    assert [bytes(tensor.data) for tensor in received] == [bytes(tensor.data) for tensor in tensors]
    assert [tensor.shape for tensor in received] == [tensor.shape for tensor in tensors]


@pytest.mark.slow
def test_a_packed_value_tells_its_whole_size() -> None:
    assert pack(b"x" * LARGE).size_bytes == pytest.approx(LARGE, abs=1000)
    assert pack(Tensor(bytearray(LARGE), (LARGE,))).size_bytes == pytest.approx(LARGE, abs=1000)
    assert pack("x" * LARGE).size_bytes == pytest.approx(LARGE, abs=1000)


@pytest.mark.slow
@pytest.mark.req("CMP-6")
def test_an_array_is_written_once_and_mapped_without_a_copy(wire: Wire) -> None:
    tensor = Tensor(bytearray(b"\x05" * LARGE), (LARGE,))
    packed, packing_bytes = allocated(lambda: pack(tensor))
    assert packed.buffers[0].obj is tensor.data
    _, sending_bytes = allocated(lambda: wire.send(packed))
    received, receiving_bytes = allocated(lambda: wire.receive(packed))
    assert max(packing_bytes, sending_bytes, receiving_bytes) < LITTLE
    assert type(received.data.obj).__name__ == "mmap"
    assert received.data == tensor.data


@pytest.mark.slow
@pytest.mark.req("CMP-6")
def test_large_bytes_are_copied_once_out_of_the_map_and_nowhere_else(wire: Wire) -> None:
    value = b"\x06" * LARGE
    packed, packing_bytes = allocated(lambda: pack(value))
    assert packed.buffers[0].obj is value
    _, sending_bytes = allocated(lambda: wire.send(packed))
    received, receiving_bytes = allocated(lambda: wire.receive(packed))
    assert max(packing_bytes, sending_bytes) < LITTLE
    assert LARGE <= receiving_bytes < LARGE + LITTLE
    assert received == value


@pytest.mark.slow
def test_a_received_array_can_be_written_to_and_outlives_its_wire() -> None:
    wire = Wire()
    received = wire.carry(Tensor(bytearray(LARGE), (LARGE,)))
    wire.close()
    received.data[-1] = 9
    assert (received.data[0], received.data[-1]) == (0, 9)


@pytest.mark.slow
def test_a_mapping_ends_with_its_array(wire: Wire) -> None:
    def maps() -> int:
        with open("/proc/self/maps", encoding="utf-8") as file:
            return file.read().count("memfd:inorder")

    before = maps()
    received = wire.carry(Tensor(bytearray(LARGE), (LARGE,)))
    assert maps() == before + 1
    del received
    assert maps() == before


@pytest.mark.slow
def test_no_descriptor_is_left_open(wire: Wire) -> None:
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(3):
        wire.carry(b"x" * LARGE)
        wire.carry("x" * LARGE)
    assert len(os.listdir("/proc/self/fd")) == before


@pytest.mark.slow
def test_after_a_value_that_cannot_be_unpickled_the_next_one_can(wire: Wire) -> None:
    bad, good = pack([Unreadable(), bytearray(LARGE)]), pack(b"y" * LARGE)
    assert bad.buffers
    wire.send(bad)
    wire.send(good)
    with pytest.raises(ValueError, match="cannot be put together"):
        wire.receive(bad)
    assert wire.receive(good) == b"y" * LARGE


def test_a_value_that_cannot_be_pickled_raises() -> None:
    with pytest.raises(TypeError, match="cannot be taken apart"):
        pack([Unsendable()])


class TwoSides:
    """The block of one worker as its parent and as the worker see it."""

    def __init__(self) -> None:
        self.parent, descriptor = SharedStatus.create()
        self.worker = SharedStatus(descriptor)
        os.close(descriptor)


def test_a_new_block_shows_no_running_item() -> None:
    assert TwoSides().parent.read() is None


@pytest.mark.parametrize(("seq", "attempt", "now_ns"), [(0, 1, 1), (2**62, 2**31, 2**62), (5, 1000, 10**18)])
def test_the_parent_sees_the_running_item(seq: int, attempt: int, now_ns: int) -> None:
    sides = TwoSides()
    sides.worker.begin_item(seq, attempt, now_ns)
    assert sides.parent.read() == StatusSnapshot(seq, attempt, now_ns)
    sides.worker.clear_item()
    assert sides.parent.read() is None


def test_the_worker_sees_the_limit_of_its_batch_whatever_it_runs() -> None:
    sides = TwoSides()
    sides.worker.begin_item(3, 1, 99)
    sides.parent.begin_batch(7)
    assert sides.worker.may_start(6)
    assert not sides.worker.may_start(7)
    assert sides.parent.read() == StatusSnapshot(3, 1, 99)
    sides.worker.clear_item()
    assert sides.worker.may_start(6)
    assert not sides.worker.may_start(7)


def test_what_the_worker_has_started_is_not_taken_back_from_it() -> None:
    sides = TwoSides()
    sides.parent.begin_batch(9)
    assert all(sides.worker.may_start(number) for number in range(4))
    assert sides.parent.limit_batch(2) == 4, "it has started four"
    assert not sides.worker.may_start(4)
    sides.parent.begin_batch(9)
    assert sides.parent.limit_batch(2) == 2, "of a new batch it has started none"
    assert sides.worker.may_start(1)
    assert not sides.worker.may_start(2)


def test_what_the_worker_has_reserved_is_not_taken_back_from_it() -> None:
    sides = TwoSides()
    sides.parent.begin_batch(9)
    assert sides.worker.may_start(0)
    assert sides.worker.reserve(0, 5) == 5
    assert sides.worker.may_start(1, 5)
    assert sides.parent.limit_batch(2) == 5, "it has reserved five"
    assert sides.worker.reserve(5, 9) == 6, "at least the item that it has started"
    sides.parent.begin_batch(9)
    assert sides.parent.limit_batch(3) == 3
    assert sides.worker.reserve(0, 9) == 3, "the others were taken back before it reserved them"


class Foreign(NamedTuple):
    """Stands for a class of another process's main script."""

    number: int


@pytest.fixture
def _of_another_script(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Foreign, "__module__", "__main__")
    monkeypatch.setattr("inorder.engines.process.transfer._has_main_classes", False)
    monkeypatch.setattr(main_pickle, "_classes", {})


@pytest.mark.usefixtures("_of_another_script")
def test_a_class_of_another_main_script_travels_by_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(2):  # the second time the class is known
        packed = pack([Foreign(number), bytearray(2 * SHARED_BYTES_MIN)])
        assert len(packed.buffers) == 1
        assert len(packed.data) < 200
        monkeypatch.setattr(main_pickle, "_classes", {})
        monkeypatch.setattr(sys.modules["__main__"], "Foreign", Foreign, raising=False)  # as in the script itself
        [found, _] = unpack(packed)
        assert found == Foreign(number)
        assert type(found) is Foreign


@pytest.mark.usefixtures("_of_another_script")
def test_other_values_that_cannot_be_pickled_still_raise() -> None:
    pack(Foreign(1))
    with pytest.raises(AttributeError, match="local object"):
        pack(lambda: None)
