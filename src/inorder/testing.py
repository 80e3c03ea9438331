"""Tools for tests of code that runs on inorder. These are the public names.

* `VirtualClock`: a clock that moves only when the test says so.
* `Disk`: a filesystem in memory that loses unsynced data in a simulated power loss. `power_losses` enumerates what a
  program can find after a power loss at any moment.
* `SinkHarness` and `SINK_RULES`: the conformance rules that every sink must keep.
"""

from inorder.sim.clock import VirtualClock
from inorder.sim.crash.power_loss import PowerLossState, power_losses
from inorder.sim.disk.contents import Medium
from inorder.sim.disk.disk import Disk
from inorder.sim.disk.operations import DiskFaults, PowerLoss
from inorder.sinks.testing import RULES as SINK_RULES
from inorder.sinks.testing import BrokenRule, ReferenceRun, SinkHarness

__all__ = [
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
