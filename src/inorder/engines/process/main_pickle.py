"""Pickling classes that are defined in the main script, between that script and processes with another `__main__`.

An item carries such a class by value, because the worker process has never seen it. A result carries it by name, and
the script looks the name up in its own `__main__`.
"""

import io
import pickle
import sys
from typing import Any

_classes: dict[str, type[Any]] = {}
"""Classes of another script's `__main__` that were pickled in this process, by qualified name."""


def dump_by_name(value: Any, buffer_callback: Any = None) -> bytes:
    """Pickle a value; classes of `__main__` are written as names."""
    file = io.BytesIO()
    _ByNamePickler(file, protocol=5, buffer_callback=buffer_callback).dump(value)
    return file.getvalue()


def dump_by_value(value: Any) -> bytes:
    """Pickle a value together with the definitions of its classes of `__main__`."""
    import cloudpickle

    return bytes(cloudpickle.dumps(value, protocol=5))


def find_main_class(name: str) -> Any:
    """Look up a class of `__main__`. Pickles written by `dump_by_name` call this when they are loaded."""
    if name in _classes:
        return _classes[name]
    found: Any = sys.modules["__main__"]
    for part in name.split("."):
        found = getattr(found, part)
    return found


class _ByNamePickler(pickle.Pickler):
    def reducer_override(self, value: Any) -> Any:
        if isinstance(value, type) and value.__module__ == "__main__":
            _classes[value.__qualname__] = value
            return find_main_class, (value.__qualname__,)
        return NotImplemented
