"""Disks to lose the power of, and all that can be found on them then."""

from inorder.sim.disk.contents import Medium
from inorder.sim.disk.disk import Disk

PLAIN = Medium(tears=False, zeroes=False, flips=False)
"""Writes are there or are not."""


def disk_with(name: str, data: bytes, medium: Medium = PLAIN) -> Disk:
    """A disk on which this file is safe."""
    disk = Disk(medium=medium)
    file = disk.open(name)
    file.append(data)
    file.sync()
    disk.sync_directory("/")
    return disk


def trees(disk: Disk) -> list[dict[str, bytes]]:
    """What can be found, every possibility once."""
    found: list[dict[str, bytes]] = []
    for state in disk.states(limit=100_000):
        if state.tree() not in found:
            found.append(state.tree())
    return found
