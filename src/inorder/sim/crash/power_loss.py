"""A loss of power at every moment of a story, and everything that can be found after it."""

from collections.abc import Callable, Iterator
from typing import NamedTuple

from inorder.sim.disk.disk import Disk


class Found(NamedTuple):
    """One disk as it was found."""

    moment: str
    """When the power went, and the number of the state among those looked at."""
    disk: Disk


def power_losses(story: Callable[[Disk], None], disk: Disk, *, limit: int = 100, seed: int = 0) -> Iterator[Found]:
    """Every disk that can be found when the power goes at some moment of the story.

    The story is told once, to its end, on a copy of `disk`; that disk is left alone. The moments are those before each
    of its durable operations and the one after the last. Of each there are at most `limit` states, as `Disk.states`
    gives them.
    """
    stage = disk.copy()
    moments: list[tuple[str, Disk]] = []

    def remember(number: int, name: str, path: str) -> None:
        moments.append((f"before operation {number}, {name} {path}", stage.copy()))

    stage.on_operation = remember
    story(stage)
    moments.append(("at the end", stage))
    for moment, lost in moments:
        for number, found in enumerate(lost.states(limit, seed)):
            yield Found(f"{moment}, state {number}", found)
