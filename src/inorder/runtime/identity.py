"""Identities of items and runs.

A resumed run reads its plan again and must check that it is the same one. So every item has an identity: bytes that are
the same in every process, for numbers, text, paths, and containers of these. The identities are not stored: every
commit record of the journal has one digest of all of them, in order.
"""

import os
from collections.abc import Callable, Mapping
from hashlib import blake2b
from typing import Any

import msgspec

from inorder.errors import OperatorError


def _to_plain(value: Any) -> Any:
    """Convert a value that msgspec cannot encode."""
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, complex | range | slice):
        return repr(value)
    raise TypeError(type(value).__qualname__)


_PLAIN = (type(None), bool, int, float, str, bytes)
_ENCODER = msgspec.msgpack.Encoder(order="deterministic", enc_hook=_to_plain)


def encode_identity(item: Any) -> bytes:
    """Encode an item as bytes that are the same in every process. Raises TypeError if it is not plain data."""
    try:
        return _ENCODER.encode(item)
    except (UnicodeEncodeError, OverflowError):  # file names may not be valid Unicode, and numbers may be of any size
        return ascii(item).encode()


def is_plain(value: Any) -> bool:
    """Whether a value is equal and of the same types after it was encoded and decoded: None, numbers, text, bytes, and
    lists and dicts of these with text as keys."""
    kind = type(value)
    if kind is list:
        return all(map(is_plain, value))
    if kind is dict:
        return all(type(key) is str for key in value) and all(map(is_plain, value.values()))
    return kind in _PLAIN


def hash_strings(*parts: str) -> str:
    """Return a short hash of these strings."""
    return blake2b("\x00".join(parts).encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def hash_settings(step: str, version: int | str, parts: Mapping[str, str]) -> str:
    """Return a hash of what the results of a step depend on besides its input: its version, and its settings by
    part."""
    return hash_strings(step, str(version), *(each for part in sorted(parts.items()) for each in part))


def new_run_id() -> str:
    """Return a random id for a run: sixteen hexadecimal digits."""
    return os.urandom(8).hex()


class PlanChanged(OperatorError):
    """The plan differs from that of the interrupted run."""


class PlanDigest:
    """The digest of all items so far. Checks that a resumed run has the plan of the interrupted one."""

    def __init__(self, identify: Callable[[Any], bytes], *, end: int = 0, expected: bytes = b"") -> None:
        self._identify = identify
        self._hash = blake2b(digest_size=8)
        self._count = 0
        self._end = end
        self._expected = expected

    def add(self, item: Any) -> None:
        """Add the next item, in seq order. Raises `PlanChanged` if the digest differs from that of the journal."""
        identity = self._identify(item)
        self._hash.update(b"%d:%b" % (len(identity), identity))
        self._count += 1
        if self._count == self._end and self._expected != self._hash.digest():
            raise PlanChanged(
                f"the plan has changed: its first {self._end} items differ from those committed in the journal; "
                "resume with the same items, or start over with another journal, and with key= if items come and go"
            )

    def value(self) -> bytes:
        """Return the digest so far."""
        return self._hash.digest()
