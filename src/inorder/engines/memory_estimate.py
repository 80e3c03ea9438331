"""About how much memory a result holds.

An estimate, because the exact figure costs as much as the result: it looks at the first entries of a container and
takes the rest to be like them, goes a few levels deep, and never takes more than a fixed number of looks in all.
"""

import sys
from collections import deque
from collections.abc import Collection, Mapping
from typing import Any

_LOOKS_MAX = 2000
_SAMPLE_MAX = 64
_DEPTH_MAX = 5
_UNKNOWN_BYTES = 64

_FLAT = (str, bytes, bytearray, int, float, bool, complex, type(None))
_CONTAINERS = (list, tuple, set, frozenset, deque)


def payload_bytes(value: Any) -> int:
    """An estimate that never fails: a result that will not be looked at counts a little."""
    try:
        return _Measure().of(value, 0)
    except Exception:
        return _UNKNOWN_BYTES


class _Measure:
    """One measurement and the looks it has left."""

    def __init__(self) -> None:
        self._looks = _LOOKS_MAX

    def of(self, value: Any, depth: int) -> int:
        """Bytes of a value and of what lies in it."""
        self._looks -= 1
        size = sys.getsizeof(value, _UNKNOWN_BYTES)
        if isinstance(value, _FLAT):
            return size
        buffer_bytes = getattr(value, "nbytes", None)
        if isinstance(buffer_bytes, int):
            return max(size, buffer_bytes)
        if depth >= _DEPTH_MAX:
            return size
        return size + self._inside(value, depth + 1)

    def _inside(self, value: Any, depth: int) -> int:
        if isinstance(value, Mapping):
            return self._all(value.keys(), depth) + self._all(value.values(), depth)
        if isinstance(value, _CONTAINERS):
            return self._all(value, depth)
        fields = dict(getattr(value, "__dict__", None) or {})
        for kind in type(value).__mro__:
            for name in _slots(kind):
                if hasattr(value, name):
                    fields[name] = getattr(value, name)
        return self._all(fields.values(), depth)

    def _all(self, values: Collection[Any], depth: int) -> int:
        """The first few, and the rest by their mean."""
        total = taken = 0
        for value in values:
            if taken == _SAMPLE_MAX or self._looks <= 0:
                break
            total += self.of(value, depth)
            taken += 1
        return total * len(values) // taken if taken else 0


def _slots(kind: type) -> tuple[str, ...]:
    slots = kind.__dict__.get("__slots__", ())
    return (slots,) if isinstance(slots, str) else tuple(slots)
