"""Sinks: the places that results are committed to, in order. These are the public names.

`Sink` is the protocol. `ManifestSink`, `OutputsSink`, `SqliteSink` and `MemorySink` implement it. The author of another
sink needs `Entry`, `Output`, `Position` and `AppliedRun`, and may use `check_run`, `advance_position`, and for durable
files `Filesystem`, `SystemFilesystem` and `write_atomic`. The rules that a sink must keep are executable: see
`inorder.testing`.
"""

from typing import TYPE_CHECKING

from inorder.host.filesystem import Filesystem, SystemFilesystem, write_atomic
from inorder.lazy_names import make_getattr

from .base import AppliedRun, Entry, Output, Position, Sink, advance_position, check_run

if TYPE_CHECKING:
    from .manifest import ManifestSink, complete_lines, open_manifest
    from .memory import MemorySink
    from .outputs import OutputsSink
    from .sqlite import SqliteSink

__all__ = [
    "AppliedRun",
    "Entry",
    "Filesystem",
    "ManifestSink",
    "MemorySink",
    "Output",
    "OutputsSink",
    "Position",
    "Sink",
    "SqliteSink",
    "SystemFilesystem",
    "advance_position",
    "check_run",
    "complete_lines",
    "open_manifest",
    "write_atomic",
]

if not TYPE_CHECKING:  # type checkers shall report a name that does not exist
    __getattr__ = make_getattr(
        __name__,
        {
            "ManifestSink": "inorder.sinks.manifest",
            "MemorySink": "inorder.sinks.memory",
            "OutputsSink": "inorder.sinks.outputs",
            "SqliteSink": "inorder.sinks.sqlite",
            "complete_lines": "inorder.sinks.manifest",
            "open_manifest": "inorder.sinks.manifest",
        },
    )  # a run without a database does not load `sqlite3`


def __dir__() -> list[str]:
    return sorted(__all__)
