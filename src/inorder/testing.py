"""Tools for tests of code that runs on inorder. These are the public names.

* `VirtualClock`: a clock that moves only when the test says so.
* `Disk`: a filesystem in memory that loses unsynced data in a simulated power loss. `power_losses` enumerates what a
  program can find after a power loss at any moment.
* `SinkHarness` and `SINK_RULES`: the conformance rules that every sink must keep.
* `ModelServer`: a server of models with the faults of real ones, which counts what it is asked.
* `READER_RULES`, `PROVIDER_RULES`, `RERANKER_RULES`, `SOURCE_RULES`, `STEP_RULES` and `TARGET_RULES`: those that
  plug-ins of each kind must keep.
"""

from typing import TYPE_CHECKING

from inorder.lazy_names import make_getattr
from inorder.sim.clock import VirtualClock
from inorder.sim.crash.power_loss import PowerLossState, power_losses
from inorder.sim.disk.contents import Medium
from inorder.sim.disk.disk import Disk
from inorder.sim.disk.operations import DiskFaults, PowerLoss
from inorder.sinks.testing import RULES as SINK_RULES
from inorder.sinks.testing import BrokenRule, ReferenceRun, SinkHarness

if TYPE_CHECKING:
    from inorder.documents.embed.providers.testing import PROVIDER_RULES, RERANKER_RULES
    from inorder.documents.readers.testing import READER_RULES, STEP_RULES
    from inorder.models.testing import ModelRequest, ModelServer
    from inorder.sources.testing import SOURCE_RULES
    from inorder.targets.testing import TARGET_RULES

__all__ = [
    "PROVIDER_RULES",
    "READER_RULES",
    "RERANKER_RULES",
    "SINK_RULES",
    "SOURCE_RULES",
    "STEP_RULES",
    "TARGET_RULES",
    "BrokenRule",
    "Disk",
    "DiskFaults",
    "Medium",
    "ModelRequest",
    "ModelServer",
    "PowerLoss",
    "PowerLossState",
    "ReferenceRun",
    "SinkHarness",
    "VirtualClock",
    "power_losses",
]

if not TYPE_CHECKING:  # type checkers shall report a name that does not exist
    # Imported on first use: they need packages that tests of sinks do not need.
    __getattr__ = make_getattr(
        __name__,
        {
            "PROVIDER_RULES": "inorder.documents.embed.providers.testing",
            "ModelRequest": "inorder.models.testing",
            "ModelServer": "inorder.models.testing",
            "READER_RULES": "inorder.documents.readers.testing",
            "RERANKER_RULES": "inorder.documents.embed.providers.testing",
            "SOURCE_RULES": "inorder.sources.testing",
            "STEP_RULES": "inorder.documents.readers.testing",
            "TARGET_RULES": "inorder.targets.testing",
        },
    )


def __dir__() -> list[str]:
    return sorted(__all__)
