"""Estimates how much memory a result occupies.

The exact figure would cost as much as the result. The estimate visits the first entries of a container and takes the
rest to be like them, descends a few levels, and visits a bounded number of objects in all.
"""

from collections import deque
from collections.abc import Collection, Mapping
from sys import getsizeof
from typing import Any

_VISITS_MAX = 2000
_SAMPLE_MAX = 64
_DEPTH_MAX = 5
_UNKNOWN_BYTES = 64

_FLAT = (str, bytes, bytearray, int, float, bool, complex, type(None))
_FLAT_KINDS = frozenset(_FLAT)
_CONTAINERS = (list, tuple, set, frozenset, deque)
_BUILTIN_KINDS = frozenset((*_CONTAINERS, dict))
"""Classes whose instances have no `nbytes`."""


def estimate_bytes(value: Any) -> int:
    """Estimate the size of a value. Never fails: a value that raises when it is inspected counts a few bytes."""
    if type(value) in _FLAT_KINDS:
        return getsizeof(value)
    try:
        return _Estimator().estimate(value, 0)
    except Exception:
        return _UNKNOWN_BYTES


def get_held_bytes(value: Any) -> int:
    """Bytes that a result occupies elsewhere, in files for example, as its property `held_bytes` says; usually 0."""
    kind = type(value)
    if kind in _FLAT_KINDS or not hasattr(kind, "held_bytes"):
        return 0
    try:
        held = value.held_bytes
    except Exception:
        return 0
    return held if type(held) is int and held > 0 else 0


class _Estimator:
    """One estimate, and the visits it has left."""

    def __init__(self) -> None:
        self._visits_left = _VISITS_MAX

    def estimate(self, value: Any, depth: int) -> int:
        """Bytes of a value and its content."""
        self._visits_left -= 1
        size = getsizeof(value, _UNKNOWN_BYTES)
        if type(value) not in _BUILTIN_KINDS:
            if isinstance(value, _FLAT):
                return size
            buffer_bytes = getattr(value, "nbytes", None)
            if isinstance(buffer_bytes, int):
                return max(size, buffer_bytes)
        if depth >= _DEPTH_MAX:
            return size
        return size + self._estimate_content(value, depth + 1)

    def _estimate_content(self, value: Any, depth: int) -> int:
        if isinstance(value, _CONTAINERS):
            return self._estimate_all(value, depth)
        if isinstance(value, Mapping):
            return self._estimate_all(value.keys(), depth) + self._estimate_all(value.values(), depth)
        fields = dict(getattr(value, "__dict__", None) or {})
        for kind in type(value).__mro__:
            for name in _list_slots(kind):
                if hasattr(value, name):
                    fields[name] = getattr(value, name)
        return self._estimate_all(fields.values(), depth)

    def _estimate_all(self, values: Collection[Any], depth: int) -> int:
        """Visit the first few, and count the rest by their mean."""
        total = visited = 0
        for value in values:
            if visited == _SAMPLE_MAX or self._visits_left <= 0:
                break
            kind = type(value)
            if kind in _FLAT_KINDS or (kind in _BUILTIN_KINDS and not value):
                total += getsizeof(value)
                self._visits_left -= 1
            else:
                total += self.estimate(value, depth)
            visited += 1
        return total * len(values) // visited if visited else 0


def _list_slots(kind: type) -> tuple[str, ...]:
    slots = kind.__dict__.get("__slots__", ())
    return (slots,) if isinstance(slots, str) else tuple(slots)
