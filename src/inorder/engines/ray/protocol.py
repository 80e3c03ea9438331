"""The wire format between the driver and the supervisors on other machines.

Orders go out and reports come back, both as MessagePack: a reader needs only the classes in this file and the events.
Large buffers of results travel beside a report and are not copied into it. Items and results are pickles that only the
worker process and the driver load, as with a local worker process.
"""

import pickle
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from inorder.core.events import Envelope, Event, Finished, HandedOver, Overran, Pulled, Returned, WorkerLost
from inorder.engines.base import LEASE_S, PackedTask, Task
from inorder.engines.process.transfer import PackedValue, measure_buffers
from inorder.engines.process.worker_process import ProcessOptions, unpack_result
from inorder.engines.progress import WorkerActivity

_KINDS = (Pulled, Finished, HandedOver, Overran, WorkerLost, Returned)
_EVENTS: dict[str, type[Any]] = {kind.__name__: kind for kind in _KINDS}
_EVENT_DECODERS = {name: msgspec.msgpack.Decoder(kind) for name, kind in _EVENTS.items()}
_ENCODER = msgspec.msgpack.Encoder()
BATCH_S = 0.2
"""Work in one batch of a small cluster."""
_OUT_OF_BAND_BYTES = 16 * 1024
"""A larger pickle travels beside the report too, and is loaded in place: two copies less."""


class SupervisorOptions(msgspec.Struct, frozen=True, kw_only=True):
    """How a supervisor runs its worker process."""

    timeout_s: float | None = None
    lease_s: float = LEASE_S
    """How long the worker process may give no heartbeat."""
    batch_s: float = BATCH_S
    """Work to pull at a time."""
    limits: ProcessOptions = ProcessOptions()
    path: list[str] = []
    """The driver's `sys.path`; a node adds the folders that exist there to its own."""
    folder: str = ""
    """The driver's current folder; a node on which it exists uses it too."""
    marker_path: str = ""
    """A file of the driver: a node that finds the secret in it sees the driver's files."""
    marker_secret: str = ""


class Order(msgspec.Struct, frozen=True, array_like=True):
    """What one worker is to do: run these tasks or, if there are none, return what it has not started."""

    worker: int
    tasks: list[PackedTask]
    isolated: bool = False
    bytes_max: int = 0


class Hello(msgspec.Struct, frozen=True):
    """The identity of a supervisor, part of its first report."""

    host: str
    pid: int
    node: str
    """The node id in Ray."""
    sees_files: bool


class Report(msgspec.Struct, array_like=True):
    """What has happened to the worker of a supervisor, in order."""

    events: list[tuple[str, msgspec.Raw]]
    hello: Hello | None = None
    error: str = ""
    """Why the supervisor cannot work at all."""
    activity: list[WorkerActivity] = []
    """What its worker is running."""


_REPORT_DECODER = msgspec.msgpack.Decoder(Report)
_ORDER_DECODER = msgspec.msgpack.Decoder(Order)


def encode_order(order: Order) -> bytes:
    """Encode an order for the wire."""
    return _ENCODER.encode(order)


def decode_order(data: bytes) -> Order:
    """Decode what `encode_order` made."""
    return _ORDER_DECODER.decode(data)


def pass_packed_tasks(tasks: list[Task]) -> tuple[list[PackedTask], list[Envelope]]:
    """Send tasks whose items are pickles already to the worker process as they are."""
    return [(task.seq, task.attempt, task.item) for task in tasks], []


def pass_packed_result(envelope: Envelope) -> Envelope:
    """Leave a result of the worker process packed, for `encode_report`."""
    return envelope


def encode_report(
    events: Sequence[Event],
    hello: Hello | None = None,
    error: str = "",
    activity: Sequence[WorkerActivity] = (),
) -> tuple[bytes, list[pickle.PickleBuffer]]:
    """Encode a report, whose results are still packed; and the buffers that travel beside it."""
    buffers: list[bytes | memoryview] = []
    encoded: list[tuple[str, msgspec.Raw]] = []
    for event in events:
        if isinstance(event, Finished):
            event = Finished(event.worker, [_extract_buffers(envelope, buffers) for envelope in event.envelopes])
        name = type(event).__name__
        if name in _EVENTS:
            encoded.append((name, msgspec.Raw(_ENCODER.encode(event))))
    report = Report(encoded, hello, error, list(activity))
    return _ENCODER.encode(report), [pickle.PickleBuffer(buffer) for buffer in buffers]


def _extract_buffers(envelope: Envelope, extracted: list[bytes | memoryview]) -> Envelope:
    """Move large parts of a packed result to `extracted`; the payload becomes the pickle, if it stays, and sizes."""
    payload = envelope.payload
    if not isinstance(payload, bytes | PackedValue):
        return envelope
    data, buffers = (payload, []) if isinstance(payload, bytes) else payload
    is_large = len(data) >= _OUT_OF_BAND_BYTES
    if not is_large and not buffers:
        return envelope
    if is_large:
        extracted.append(data)
    extracted.extend(buffers)
    return msgspec.structs.replace(envelope, payload=(None if is_large else data, measure_buffers(buffers)))


def decode_report(data: bytes, buffers: Sequence[Any]) -> tuple[Report, list[Event]]:
    """Decode a report; return it, and its events with unpacked results."""
    report = _REPORT_DECODER.decode(data)
    remaining = iter(buffers)
    events: list[Event] = []
    for name, raw in report.events:
        event: Event = _EVENT_DECODERS[name].decode(raw)
        if isinstance(event, Finished):
            envelopes = [_insert_buffers(envelope, remaining) for envelope in event.envelopes]
            event = Finished(event.worker, [unpack_result(envelope) for envelope in envelopes])
        events.append(event)
    return report, events


def _insert_buffers(envelope: Envelope, remaining: Iterator[Any]) -> Envelope:
    """Undo `_extract_buffers`. The buffers stay where Ray has put them."""
    if type(envelope.payload) is not list:
        return envelope
    data, sizes = envelope.payload
    if data is None:
        data = memoryview(next(remaining))
    packed = PackedValue(data, [memoryview(next(remaining)) for _ in sizes])
    return msgspec.structs.replace(envelope, payload=packed)
