"""Which lane passes its overflow to which, and the proof that it cannot go in circles.

Each lane has at most one target, so a chain of redirects is a walk with one way to go, and a cycle is found by walking.
What cannot be seen when lanes are registered (a target that comes later, under an old name) is caught again when a
submission is on its way: it visits no lane twice.
"""

from collections.abc import Mapping

from inorder.errors import OperatorError


class RedirectGraph:
    """Names of lanes and their targets. A change that would close a circle or point nowhere changes nothing."""

    def __init__(self) -> None:
        self._target_of: dict[str, str | None] = {}

    def __contains__(self, name: str) -> bool:
        return name in self._target_of

    def add(self, targets: Mapping[str, str | None]) -> None:
        """Add lanes, all or none: no name twice, every target known or among them, and no cycle."""
        for name in targets:
            if name in self._target_of:
                raise OperatorError(f"a lane named {name!r} is already registered")
        target_of = {**self._target_of, **targets}
        for name, target in targets.items():
            if target is not None and target not in target_of:
                raise OperatorError(f"lane {name!r} redirects to {target!r}, which is not registered")
            _refuse_cycle(target_of, name)
        self._target_of = target_of

    def discard(self, name: str) -> None:
        """Forget a lane. Those that redirect to it keep their target, which is then nowhere."""
        self._target_of.pop(name, None)


def _refuse_cycle(target_of: Mapping[str, str | None], start: str) -> None:
    path = [start]
    while (target := target_of.get(path[-1])) is not None:
        if target in path:
            raise OperatorError(f"redirect cycle: {' -> '.join([*path, target])}")
        path.append(target)
