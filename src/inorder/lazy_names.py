"""Public names that are imported on first use: a program loads what it uses. Everybody may import this module."""

import importlib
from collections.abc import Callable, Mapping
from typing import Any
from warnings import warn


def make_getattr(
    module: str, places: Mapping[str, str], former: Mapping[str, str] | None = None
) -> Callable[[str], Any]:
    """Return the `__getattr__` of a module. `places` has the module of each name; `former` has those of names that
    moved to another public module, where they are looked up with a warning."""

    def find(name: str) -> Any:
        if name in places:
            return getattr(importlib.import_module(places[name]), name)
        if former is not None and name in former:
            message = f"{module}.{name} is now {former[name]}.{name}; the old name goes in 0.4"
            warn(message, DeprecationWarning, stacklevel=2)
            return getattr(importlib.import_module(former[name]), name)
        raise AttributeError(f"module {module!r} has no attribute {name!r}")

    return find
