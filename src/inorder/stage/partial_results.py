"""Partial results: what a worker has made of an item before it fails.

`ctx.hand_over(value)` encodes the value once, in the worker. The same bytes travel to the driver, wait in the kernel
and lie in the result log. They are decoded for the sinks, if the item fails, and for the next attempt at the item, as
`ctx.partial`. With the value go the stats and hashes of the inputs that it was made from: after a restart it is offered
only if these have not changed.
"""

from collections.abc import Sequence
from typing import Any

import msgspec

from inorder.runtime.identity import is_plain

from .files.file_stat import FileStat


class PartialResult(msgspec.Struct, frozen=True, array_like=True):
    """A partial result that was decoded as far as the runner needs it."""

    inputs: list[tuple[FileStat, str]]
    """Stat before the read, and hash, of every input that is a file; the hash is empty if it was not needed."""
    value: msgspec.Raw


_ENCODER = msgspec.msgpack.Encoder()
_DECODER = msgspec.msgpack.Decoder(PartialResult)


def encode_partial(value: Any, inputs: Sequence[tuple[FileStat, str]]) -> bytes:
    """Encode what a worker hands over. Raises TypeError for a value that is None or not plain data."""
    try:
        if value is not None and is_plain(value):
            return _ENCODER.encode((inputs, value))
    except (ValueError, OverflowError, RecursionError):
        pass  # no valid Unicode, beyond 64 bits, nested too deeply
    raise TypeError(
        "hand_over takes plain data: numbers, text, bytes, and lists and dicts of these with text as keys, "
        f"got {type(value).__name__}"
    )


def decode_partial(partial: bytes) -> PartialResult:
    """Decode a partial result. Raises msgspec.DecodeError if it is damaged."""
    return _DECODER.decode(partial)


def decode_value(partial: bytes) -> Any:
    """Return the value that a worker handed over."""
    return msgspec.msgpack.decode(decode_partial(partial).value)
