"""Tools for tests of code that runs on inorder. These are the public names.

* `VirtualClock`: a clock that moves only when the test says so.
* `Disk`: a filesystem in memory that loses unsynced data in a simulated power loss. `power_losses` enumerates what a
  program can find after a power loss at any moment.
* `SinkHarness` and `SINK_RULES`: the conformance rules that every sink must keep.
* `READER_RULES` and `PROVIDER_RULES`: those that readers and providers of plug-ins must keep.
"""

import importlib
from typing import TYPE_CHECKING, Any

from inorder.sim.clock import VirtualClock
from inorder.sim.crash.power_loss import PowerLossState, power_losses
from inorder.sim.disk.contents import Medium
from inorder.sim.disk.disk import Disk
from inorder.sim.disk.operations import DiskFaults, PowerLoss
from inorder.sinks.testing import RULES as SINK_RULES
from inorder.sinks.testing import BrokenRule, ReferenceRun, SinkHarness

if TYPE_CHECKING:
    from inorder.documents.embed.providers.testing import RULES as PROVIDER_RULES
    from inorder.documents.readers.testing import RULES as READER_RULES

__all__ = [
    "PROVIDER_RULES",
    "READER_RULES",
    "SINK_RULES",
    "BrokenRule",
    "Disk",
    "DiskFaults",
    "Medium",
    "PowerLoss",
    "PowerLossState",
    "ReferenceRun",
    "SinkHarness",
    "VirtualClock",
    "power_losses",
]

_MODULE_OF = {
    "PROVIDER_RULES": "inorder.documents.embed.providers.testing",
    "READER_RULES": "inorder.documents.readers.testing",
}
"""Rules that are imported on first use: they need packages that tests of sinks do not need."""


if not TYPE_CHECKING:  # type checkers shall report a name that does not exist

    def __getattr__(name: str) -> Any:
        if name not in _MODULE_OF:
            raise AttributeError(f"module 'inorder.testing' has no attribute {name!r}")
        return importlib.import_module(_MODULE_OF[name]).RULES


def __dir__() -> list[str]:
    return sorted(__all__)
