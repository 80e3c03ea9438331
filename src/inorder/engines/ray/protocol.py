"""What a foreman on another machine and the driver say to each other.

Orders go out, reports come back, both as MessagePack: who reads one needs no class of ours but those in this file and
the events themselves. Large buffers of results travel beside a report and are never copied into it. Items and results
are pickles that only the worker process and the driver open, as with a local worker process.
"""

import pickle
from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec

from inorder.core.events import Envelope, Event, Finished, Overran, Pulled, Returned, WorkerLost
from inorder.engines.base import PackedTask, Task
from inorder.engines.process.transfer import sizes
from inorder.engines.process.worker_main import Row
from inorder.engines.process.worker_process import Sealed, opened

_KINDS: dict[str, type[Any]] = {kind.__name__: kind for kind in (Pulled, Finished, Overran, WorkerLost, Returned)}
_DECODERS = {name: msgspec.msgpack.Decoder(kind) for name, kind in _KINDS.items()}
_ENCODER = msgspec.msgpack.Encoder()
_APART_BYTES = 16 * 1024
"""A pickle that is larger travels beside the report too, and is read where it lies: two copies less."""


class ForemanOptions(msgspec.Struct, frozen=True, kw_only=True):
    """How a foreman keeps its worker process."""

    timeout_s: float | None = None
    batch_s: float = 0.2
    """Work to ask for at a time."""
    memory_bytes_max: int | None = None
    recycle_tasks: int | None = None
    path: list[str] = []
    """Where the driver looks for modules; a node on which such a folder is there looks there too."""
    folder: str = ""
    """Where the driver is; a node on which that is a folder works there too."""
    mark: str = ""
    """A file of the driver's: a node that finds the secret in it sees the driver's files."""
    secret: str = ""


class Order(msgspec.Struct, frozen=True, array_like=True):
    """What the driver wants of one worker: that it works on these, or that it gives back what it has not begun."""

    worker: int
    tasks: list[PackedTask]
    isolated: bool = False
    bytes_max: int = 0


class Hello(msgspec.Struct, frozen=True):
    """Who is there. The first thing a foreman says."""

    host: str
    pid: int
    node: str
    """As Ray calls it."""
    sees_files: bool


class Report(msgspec.Struct, array_like=True):
    """What has happened to a foreman's worker, in order."""

    events: list[tuple[str, msgspec.Raw]]
    hello: Hello | None = None
    trouble: str = ""
    """Why it cannot work at all."""


_REPORTS = msgspec.msgpack.Decoder(Report)
_ORDERS = msgspec.msgpack.Decoder(Order)


class Told(NamedTuple):
    """A report as it travels, and the buffers beside it."""

    data: bytes
    buffers: list[Any]


def as_sent(tasks: list[Task]) -> tuple[list[PackedTask], list[Envelope]]:
    """Tasks whose items are pickles already."""
    return [(task.seq, task.attempt, task.item) for task in tasks], []


def unopened(sealed: Sealed) -> Envelope:
    """An envelope around an answer that is only passed on."""
    row = sealed.row
    return Envelope(row.seq, row.attempt, row.outcome, sealed, row.payload_bytes, row.failure, row.exec_ms)


def told(events: Sequence[Event], hello: Hello | None, trouble: str) -> Told:
    """A report, from `unopened` envelopes."""
    buffers: list[Any] = []
    said: list[tuple[str, msgspec.Raw]] = []
    for event in events:
        if isinstance(event, Finished):
            event = Finished(event.worker, [_apart(envelope, buffers) for envelope in event.envelopes])
        name = type(event).__name__
        if name in _KINDS:
            said.append((name, msgspec.Raw(_ENCODER.encode(event))))
    return Told(_ENCODER.encode(Report(said, hello, trouble)), [pickle.PickleBuffer(buffer) for buffer in buffers])


def _apart(envelope: Envelope, buffers: list[Any]) -> Envelope:
    sealed: Sealed = envelope.payload
    data: bytes | None = sealed.row.payload
    if len(sealed.row.payload) >= _APART_BYTES:
        buffers.append(data)
        data = None
    buffers.extend(sealed.buffers)
    return msgspec.structs.replace(envelope, payload=(data, sizes(sealed.buffers)))


def understood(data: bytes, buffers: Sequence[Any]) -> tuple[Report, list[Event]]:
    """A report, and its events with the results in them."""
    report = _REPORTS.decode(data)
    beside = iter(buffers)
    events: list[Event] = []
    for name, raw in report.events:
        event: Event = _DECODERS[name].decode(raw)
        if isinstance(event, Finished):
            event = Finished(event.worker, [_joined(envelope, beside) for envelope in event.envelopes])
        events.append(event)
    return report, events


def _joined(envelope: Envelope, beside: Any) -> Envelope:
    """The value of a result, made of its pickle and of buffers that stay where they lie."""
    data, lengths = envelope.payload
    if data is None:
        data = memoryview(next(beside))
    row = Row(
        envelope.seq,
        envelope.attempt,
        envelope.outcome,
        data,
        lengths,
        envelope.payload_bytes,
        envelope.failure,
        envelope.exec_ms,
    )
    return opened(Sealed(row, [memoryview(next(beside)) for _ in lengths]))


def encoded(order: Order) -> bytes:
    """An order as it travels."""
    return _ENCODER.encode(order)


def decoded(data: bytes) -> Order:
    """An order as it was meant."""
    return _ORDERS.decode(data)
