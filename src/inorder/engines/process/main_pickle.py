"""Pickling between a script and worker processes, which do not import it.

A function or an item carries by value what it uses of the main script, because the worker has never seen it; what is in
a module travels by name. A result carries a class of the script by name, and the script looks it up in its own
`__main__`.
"""

import io
import pickle
import sys
from typing import Any

_MAIN = b"__main__"
_classes: dict[str, type[Any]] = {}
"""Classes of another script's `__main__` that were pickled in this process, by qualified name."""


def dump_by_name(value: Any, buffer_callback: Any = None) -> bytes:
    """Pickle a value; classes of `__main__` are written as names."""
    file = io.BytesIO()
    _ByNamePickler(file, protocol=5, buffer_callback=buffer_callback).dump(value)
    return file.getvalue()


def dump_for_worker(value: Any) -> bytes:
    """Pickle a value together with what it uses of `__main__`, and with functions that have no name to be found by.
    Raises whatever pickling raises."""
    try:
        data = pickle.dumps(value, protocol=5)
        if _MAIN not in data:
            return data
    except Exception:
        pass  # a lambda, for example; what nothing can pickle raises below
    import cloudpickle  # here, because few programs need it

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
