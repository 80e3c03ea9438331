"""What a journal says, and how each record is written: arrays of MessagePack, in the order of the fields.

    header      once, first: whose journal this is
    window      a window was opened, at this size, for this reason
    attempt     an item failed and will be tried again
    terminal    these seqs have these outcomes; written before any sink changes
    commit      every sink has taken everything below `end`
    checkpoint  the same, everything synced, with all that replay would know by then: what came before can go

Fields are only ever added at the end, with a default, or the version of the record changes.
"""

from collections.abc import Callable
from typing import Any

import msgspec

from inorder.core.windows.window import SizingSnapshot
from inorder.errors import Category

from .frame import Type, framed

Mark = tuple[int, int, int]
"""A sink's position: end, offset, checksum."""
Made = tuple[str, int, int]
"""A file that an item made: path, size, checksum."""


class Header(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """Whose journal this is."""

    run_id: str
    plan_hash: str
    """Of the whole plan where it is known beforehand, empty where it is read as the run goes on."""
    config_hash: str
    sinks: list[str] = []
    created_ms: int = 0
    """Volatile."""


class Window(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A window was opened."""

    id: int
    start: int
    target_entries: int
    sizing: tuple[int, ...] | None = None
    """The snapshot behind the target, in the order of its fields; None: the target of the options."""


class Attempt(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """An item failed and will be tried again."""

    seq: int
    retries: int
    """Spent by it so far."""


class Detail(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """What is not plain about an outcome."""

    retries: int = 0
    category: Category | None = None
    message: str = ""
    outputs: tuple[Made, ...] = ()


class Terminal(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """The outcomes of a contiguous run of seqs, a byte each."""

    start: int
    outcomes: bytes
    details: dict[int, Detail] = {}
    """By place in the run, for those that are not a plain success or skip."""

    @property
    def end(self) -> int:
        """One past the last seq."""
        return self.start + len(self.outcomes)

    def from_(self, start: int) -> "Terminal":
        """The part of it that begins there."""
        return self.part(max(start, self.start), self.end)

    def part(self, start: int, end: int) -> "Terminal":
        """What it says of the seqs from `start` to `end`, which are its own."""
        places = range(start - self.start, end - self.start)
        details = {place - places.start: detail for place, detail in self.details.items() if place in places}
        return Terminal(start, self.outcomes[places.start : places.stop], details)


class Commit(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """Every sink has taken everything below `end`."""

    end: int
    durable: int
    """Bytes of this journal that were synced when this was written: they cannot be torn."""
    marks: list[Mark] = []
    """Where each sink stood, in the order of the header."""
    digest: bytes = b""
    """Of the identities of all items below `end`."""
    is_synced: bool = False
    """Every sink was synced before this was written."""


class Checkpoint(msgspec.Struct, frozen=True, array_like=True, kw_only=True, gc=False):
    """All that replay knows at this point; every sink was synced before it was written. Outcomes that are not committed
    by now are void unless they are told again after it."""

    end: int
    durable: int
    marks: list[Mark] = []
    digest: bytes = b""
    succeeded: int = 0
    skipped: int = 0
    failed: int = 0
    retries: int = 0
    granted: dict[int, int] = {}
    windows: tuple[Window, ...] = ()
    is_end: bool = False
    """The run went to its end: there is nothing to resume."""


Record = Header | Window | Attempt | Terminal | Commit | Checkpoint

_TYPES: dict[type[Any], Type] = {
    Header: Type.HEADER,
    Window: Type.WINDOW,
    Attempt: Type.ATTEMPT,
    Terminal: Type.TERMINAL,
    Commit: Type.COMMIT,
    Checkpoint: Type.CHECKPOINT,
}
_ENCODER = msgspec.msgpack.Encoder()
DECODERS: dict[int, Callable[[bytes], Record]] = {
    type_: msgspec.msgpack.Decoder(kind).decode for kind, type_ in _TYPES.items()
}
"""From the body of a frame to its record, by type; each raises msgspec.DecodeError for a body that makes no sense."""
_SIZING = msgspec.structs.fields(SizingSnapshot)


def encode(record: Record) -> bytes:
    """The record, framed."""
    return framed(_TYPES[type(record)], _ENCODER.encode(record))


def sizing_fields(sizing: SizingSnapshot | None) -> tuple[int, ...] | None:
    """The snapshot as it is written."""
    return None if sizing is None else tuple(getattr(sizing, field.name) for field in _SIZING)


def sizing_of(fields: tuple[int, ...] | None) -> SizingSnapshot | None:
    """The snapshot as it was."""
    if fields is None:
        return None
    return SizingSnapshot(**{field.name: value for field, value in zip(_SIZING, fields, strict=True)})
