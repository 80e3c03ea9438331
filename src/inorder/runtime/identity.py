"""Recognising items and functions after a restart.

A resumed run reads its plan again and must know that it is the same one. So every item has an identity: bytes that are
the same in every process, for numbers, text, paths, and whatever is made of these. They are not kept; one digest of all
of them, in order, goes into the journal with every commit.
"""

import functools
import os
from collections.abc import Callable
from hashlib import blake2b
from typing import Any

import msgspec

from inorder.errors import OperatorError


def _plain(value: Any) -> Any:
    """What a value that is not plain data is known by."""
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, complex | range | slice):
        return repr(value)
    raise TypeError(type(value).__qualname__)


_ENCODER = msgspec.msgpack.Encoder(order="deterministic", enc_hook=_plain)


def identity_of(item: Any) -> bytes:
    """The item as bytes, the same in every process. Raises TypeError for what is not plain data."""
    try:
        return _ENCODER.encode(item)
    except (UnicodeEncodeError, OverflowError):  # file names need not be valid text; numbers may be of any size
        return ascii(item).encode()


def qualified_name(function: Callable[..., Any]) -> str:
    """What a function is known by: where it is defined, and what is bound to it."""
    if isinstance(function, functools.partial):
        bound = ", ".join([*map(repr, function.args), *(f"{k}={v!r}" for k, v in sorted(function.keywords.items()))])
        return f"{qualified_name(function.func)}({bound})"
    kind = type(function)
    module = getattr(function, "__module__", None) or kind.__module__
    return f"{module}.{getattr(function, '__qualname__', kind.__qualname__)}"


def digest_of(*parts: str) -> str:
    """A short hash of some words."""
    return blake2b("\x00".join(parts).encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def new_run_id() -> str:
    """A random id of a run: sixteen hexadecimal digits."""
    return os.urandom(8).hex()


class PlanChanged(OperatorError):
    """The items are not those that an interrupted run has committed."""


class PlanDigest:
    """The digest of all items so far; holds a resumed run to the plan it began with."""

    def __init__(self, identify: Callable[[Any], bytes], *, end: int = 0, expected: bytes = b"") -> None:
        self._identify = identify
        self._hash = blake2b(digest_size=8)
        self._count = 0
        self._end = end
        self._expected = expected

    def add(self, item: Any) -> None:
        """The next item, in seq order. Where the journal knows a digest, this must give the same."""
        identity = self._identify(item)
        self._hash.update(b"%d:%b" % (len(identity), identity))
        self._count += 1
        if self._count == self._end and self._expected != self._hash.digest():
            raise PlanChanged(
                f"the plan has changed: its first {self._end} items are not those that the journal has committed; "
                "give the same items again, or begin anew with another journal"
            )

    def value(self) -> bytes:
        """The digest so far."""
        return self._hash.digest()
