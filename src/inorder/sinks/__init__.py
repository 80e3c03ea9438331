"""Sinks: the places that results are committed to, in order. These are the public names.

`Sink` is the protocol. `ManifestSink`, `OutputsSink`, `SqliteSink` and `MemorySink` implement it. The author of another
sink needs `Entry`, `Output`, `Position` and `AppliedRun`, and may use `check_run` and `advance_position`. The rules
that a sink must keep are executable: see `inorder.testing`.
"""

import importlib
from typing import TYPE_CHECKING, Any

from .base import AppliedRun, Entry, Output, Position, Sink, advance_position, check_run

if TYPE_CHECKING:
    from .manifest import ManifestSink, complete_lines, open_manifest
    from .memory import MemorySink
    from .outputs import OutputsSink
    from .sqlite import SqliteSink

__all__ = [
    "AppliedRun",
    "Entry",
    "ManifestSink",
    "MemorySink",
    "Output",
    "OutputsSink",
    "Position",
    "Sink",
    "SqliteSink",
    "advance_position",
    "check_run",
    "complete_lines",
    "open_manifest",
]

_MODULE_OF = {
    "ManifestSink": "manifest",
    "MemorySink": "memory",
    "OutputsSink": "outputs",
    "SqliteSink": "sqlite",
    "complete_lines": "manifest",
    "open_manifest": "manifest",
}
"""Names that are imported on first use: a run without a database does not load `sqlite3`."""


if not TYPE_CHECKING:  # type checkers shall report a name that does not exist

    def __getattr__(name: str) -> Any:
        if name not in _MODULE_OF:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(importlib.import_module(f"{__name__}.{_MODULE_OF[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
