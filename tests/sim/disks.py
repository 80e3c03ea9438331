"""Disks for tests of power losses, and the states that these can leave."""

from inorder.sim.disk.contents import Medium
from inorder.sim.disk.disk import Disk

PLAIN = Medium(tears=False, zeroes=False, flips=False)
"""Writes are kept or lost, never damaged."""


def disk_with(name: str, data: bytes, medium: Medium = PLAIN) -> Disk:
    """A disk with this file, which is durable."""
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
