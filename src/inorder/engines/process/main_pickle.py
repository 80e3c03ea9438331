"""Classes of the main script, on their way between the script and a process of which it is not the main one.

A result names such a class, and the script looks it up in itself. An item brings the class along: the process over
there has never seen it.
"""

import io
import pickle
import sys
from typing import Any

_met: dict[str, type[Any]] = {}
"""Classes of some main script that were pickled here, by name."""


def by_name(value: Any, buffer_callback: Any = None) -> bytes:
    """A pickle in which classes of the main script stand as names."""
    file = io.BytesIO()
    _ByName(file, protocol=5, buffer_callback=buffer_callback).dump(value)
    return file.getvalue()


def by_value(value: Any) -> bytes:
    """A pickle that brings the classes of the main script along."""
    import cloudpickle

    return bytes(cloudpickle.dumps(value, protocol=5))


def of_main(name: str) -> Any:
    """The class of this name; called by whoever reads a pickle that was made `by_name`."""
    if name in _met:
        return _met[name]
    found: Any = sys.modules["__main__"]
    for part in name.split("."):
        found = getattr(found, part)
    return found


class _ByName(pickle.Pickler):
    def reducer_override(self, value: Any) -> Any:
        if isinstance(value, type) and value.__module__ == "__main__":
            _met[value.__qualname__] = value
            return of_main, (value.__qualname__,)
        return NotImplemented
