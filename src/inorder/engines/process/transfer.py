"""How values travel between our own live processes.

Small values go through the pipe as one pickle. The buffers of large ones (arrays, bytes) travel out of band: the sender
writes them into anonymous shared memory, one copy, and passes the descriptor; the receiver maps it, and arrays are
views of that map, no copy. Where there is no such memory they go through the pipe, two copies.

Pickle is used between a parent and the children it started, over pipes that nobody else holds. Nothing is ever
unpickled from disk or from a network.
"""

import mmap
import os
import pickle
from multiprocessing import reduction
from multiprocessing.connection import Connection
from typing import Any, NamedTuple

from .main_pickle import by_name
from .shared_status import shared_file

SHARED_BYTES_MIN = 256 * 1024
"""Below this the pipe is cheaper than a mapping."""
_ALIGNMENT = 64


class Parcel(NamedTuple):
    """A value made ready to send: the pickle, and what travels beside it."""

    data: bytes
    buffers: list[memoryview]

    @property
    def size_bytes(self) -> int:
        """All of it."""
        return len(self.data) + sum(buffer.nbytes for buffer in self.buffers)


def pack(value: Any) -> Parcel:
    """Pickle a value; large buffers are kept apart. Raises whatever pickling raises."""
    if type(value) is bytes and len(value) >= SHARED_BYTES_MIN:
        return Parcel(_RAW, [memoryview(value)])
    found: list[pickle.PickleBuffer] = []

    def keep_apart(buffer: pickle.PickleBuffer) -> bool:
        is_small = buffer.raw().nbytes < SHARED_BYTES_MIN
        if not is_small:
            found.append(buffer)
        return is_small

    data = _pickled(value, found, keep_apart)
    if not found and len(data) >= SHARED_BYTES_MIN:
        return Parcel(_PICKLED, [memoryview(data)])
    return Parcel(data, [buffer.raw() for buffer in found])


def _pickled(value: Any, found: list[pickle.PickleBuffer], keep_apart: Any) -> bytes:
    """With classes of the main script by name, once one was met that is not the main script's here."""
    global _meets_mains
    if not _meets_mains:
        try:
            return pickle.dumps(value, protocol=5, buffer_callback=keep_apart)
        except pickle.PicklingError as error:
            if _OF_MAIN not in str(error):
                raise
            _meets_mains = True
            found.clear()
    return by_name(value, keep_apart)


_meets_mains = False
_OF_MAIN = "<class '__main__."
_RAW = b"raw"
_PICKLED = b"pickled"


_NO_SIZES: list[int] = []


def sizes(buffers: list[memoryview]) -> list[int]:
    """What the receiver must know of the buffers before it can take them in."""
    return [buffer.nbytes for buffer in buffers] if buffers else _NO_SIZES


def send_buffers(connection: "Connection[Any, Any]", parcel: Parcel, pid: int) -> None:
    """Send what travels beside the label, in shared memory."""
    if not parcel.buffers:
        return
    total = sum(_aligned(buffer.nbytes) for buffer in parcel.buffers)
    descriptor = shared_file(total)
    try:
        with mmap.mmap(descriptor, total) as area:
            position = 0
            for buffer in parcel.buffers:
                area[position : position + buffer.nbytes] = buffer
                position += _aligned(buffer.nbytes)
        reduction.send_handle(connection, descriptor, pid)
    finally:
        os.close(descriptor)


def receive_buffers(connection: "Connection[Any, Any]", lengths: list[int]) -> list[memoryview]:
    """Take in what travels beside a pickle. Raises only what the connection raises."""
    if not lengths:
        return []
    descriptor = reduction.recv_handle(connection)
    try:
        area = memoryview(mmap.mmap(descriptor, sum(map(_aligned, lengths))))
    finally:
        os.close(descriptor)
    buffers = []
    position = 0
    for size in lengths:
        buffers.append(area[position : position + size])
        position += _aligned(size)
    return buffers


def unpack(data: bytes, buffers: list[memoryview]) -> Any:
    """The value. Raises whatever unpickling raises."""
    if not buffers:
        return pickle.loads(data)
    if data == _RAW:
        return bytes(buffers[0])
    if data == _PICKLED:
        return pickle.loads(buffers[0])
    return pickle.loads(data, buffers=buffers)


def _aligned(size: int) -> int:
    return max(_ALIGNMENT, -(-size // _ALIGNMENT) * _ALIGNMENT)
