"""How values travel between a parent and the worker processes that it started.

A number, a text or None goes through the pipe as it is. Any other small value is one pickle, which is made at once: the
function may change the value later. The large buffers of a value (arrays, bytes) travel out of band: the
sender copies them once into anonymous shared memory and passes the file descriptor; the receiver maps it, and arrays
are views of that mapping, without a copy.

Pickle is used only over pipes that no other process holds. Nothing is unpickled from disk.
"""

import mmap
import os
import pickle
from multiprocessing import reduction
from multiprocessing.connection import Connection
from typing import Any, NamedTuple

from .main_pickle import dump_by_name, dump_for_worker
from .shared_status import create_shared_file

SHARED_BYTES_MIN = 256 * 1024
"""Below this size the pipe is cheaper than a mapping."""
_ALIGNMENT = 64
_MAIN_CLASS = "<class '__main__."
_NO_SIZES: list[int] = []
_has_main_classes = False
"""Whether a class of a `__main__` that is not ours was pickled before: then every value is pickled by name."""

# In place of a pickle: the whole value is in the first buffer, as raw bytes or as a pickle.
_RAW = b"raw"
_PICKLED = b"pickled"


PLAIN_ITEMS = frozenset((bool, int, float, str, type(None)))
_TEXT_LENGTH_MAX = 64 * 1024
_INTEGER_LIMIT = 2**63


def pack_item(item: Any) -> Any:
    """Return a plain item as it is, and any other as the pickle that the worker loads when its turn has come."""
    return item if type(item) in PLAIN_ITEMS else dump_for_worker(item)


def is_plain_result(value: Any) -> bool:
    """Whether a result can travel in a message as it is: MessagePack has this value, and it cannot be changed."""
    kind = type(value)
    if kind is int:
        return bool(-_INTEGER_LIMIT <= value < _INTEGER_LIMIT)
    if kind is str:
        return len(value) <= _TEXT_LENGTH_MAX and value.isascii()
    return kind is float or kind is bool or value is None


class PackedValue(NamedTuple):
    """The pickle of a value, and the buffers that travel out of band."""

    data: bytes | memoryview
    buffers: list[memoryview]

    @property
    def size_bytes(self) -> int:
        """Bytes of the pickle and the buffers together."""
        return len(self.data) + sum([buffer.nbytes for buffer in self.buffers])


PACKED_KINDS = frozenset((bytes, PackedValue))
"""Classes of a payload that has to be unpacked."""


def pack(value: Any) -> PackedValue:
    """Pickle a value, with large buffers out of band. Raises whatever pickling raises."""
    if type(value) is bytes and len(value) >= SHARED_BYTES_MIN:
        return PackedValue(_RAW, [memoryview(value)])
    large: list[pickle.PickleBuffer] = []

    def keep_in_band(buffer: pickle.PickleBuffer) -> bool:
        is_small = buffer.raw().nbytes < SHARED_BYTES_MIN
        if not is_small:
            large.append(buffer)
        return is_small

    data = _pickle(value, large, keep_in_band)
    if not large and len(data) >= SHARED_BYTES_MIN:
        return PackedValue(_PICKLED, [memoryview(data)])
    return PackedValue(data, [buffer.raw() for buffer in large])


def _pickle(value: Any, large: list[pickle.PickleBuffer], keep_in_band: Any) -> bytes:
    global _has_main_classes
    if not _has_main_classes:
        try:
            return pickle.dumps(value, protocol=5, buffer_callback=keep_in_band)
        except pickle.PicklingError as error:
            if _MAIN_CLASS not in str(error):
                raise
            _has_main_classes = True
            large.clear()
    return dump_by_name(value, keep_in_band)


def unpack(packed: PackedValue) -> Any:
    """Rebuild the value. Raises whatever unpickling raises."""
    data, buffers = packed
    if not buffers:
        return pickle.loads(data)
    if data == _RAW:
        return bytes(buffers[0])
    if data == _PICKLED:
        return pickle.loads(buffers[0])
    return pickle.loads(data, buffers=buffers)


def measure_buffers(buffers: list[memoryview]) -> list[int]:
    """The sizes that the receiver needs to map the buffers."""
    return [buffer.nbytes for buffer in buffers] if buffers else _NO_SIZES


def send_buffers(connection: "Connection[Any, Any]", buffers: list[memoryview], pid: int) -> None:
    """Copy the buffers to shared memory and pass its descriptor to process `pid`."""
    total = sum(_align(buffer.nbytes) for buffer in buffers)
    descriptor = create_shared_file(total)
    try:
        with mmap.mmap(descriptor, total) as area:
            position = 0
            for buffer in buffers:
                area[position : position + buffer.nbytes] = buffer
                position += _align(buffer.nbytes)
        reduction.send_handle(connection, descriptor, pid)
    finally:
        os.close(descriptor)


def receive_buffers(connection: "Connection[Any, Any]", sizes: list[int]) -> list[memoryview]:
    """Map the buffers that the other side sends. Raises only what the connection raises."""
    descriptor = reduction.recv_handle(connection)
    try:
        area = memoryview(mmap.mmap(descriptor, sum(map(_align, sizes))))
    finally:
        os.close(descriptor)
    buffers = []
    position = 0
    for size in sizes:
        buffers.append(area[position : position + size])
        position += _align(size)
    return buffers


def _align(size: int) -> int:
    return max(_ALIGNMENT, -(-size // _ALIGNMENT) * _ALIGNMENT)
