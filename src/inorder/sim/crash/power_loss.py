"""A power loss at every moment of a program, and every state of the disk that it can leave."""

from collections.abc import Callable, Iterator
from typing import NamedTuple

from inorder.sim.disk.disk import Disk


class PowerLossState(NamedTuple):
    """One state of a disk after a power loss. Yielded by `power_losses`.

    >>> from inorder.testing import Disk, PowerLossState
    >>> PowerLossState("at the end, state 0", Disk()).moment
    'at the end, state 0'
    """

    moment: str
    """When the power was lost, and the number of the state at that moment."""
    disk: Disk


def power_losses(
    program: Callable[[Disk], None], disk: Disk, *, limit: int = 100, seed: int = 0
) -> Iterator[PowerLossState]:
    """Yield every state of the disk that a power loss at any moment of the program can leave.

    The program runs once, to its end, on a copy of `disk`, which is not changed. A moment is the time before one of its
    durable operations, or the end. For each moment there are at most `limit` states, chosen by `seed`: see
    `Disk.states`.

    >>> from inorder.testing import Disk, power_losses
    >>> def program(disk):
    ...     disk.open("file").append(b"x")
    >>> any("file" not in state.disk.tree() for state in power_losses(program, Disk()))
    True
    """
    copy = disk.copy()
    moments: list[tuple[str, Disk]] = []

    def save(number: int, name: str, path: str) -> None:
        moments.append((f"before operation {number}, {name} {path}", copy.copy()))

    copy.on_operation = save
    program(copy)
    moments.append(("at the end", copy))
    for moment, lost in moments:
        for number, found in enumerate(lost.states(limit, seed)):
            yield PowerLossState(f"{moment}, state {number}", found)
