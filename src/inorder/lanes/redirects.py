"""The redirects between lanes, and the check that they form no cycle.

Each lane has at most one target, so a cycle is found by following the targets. A cycle that arises later (a lane that
is registered again under an old name) is caught by the submission itself, which visits no lane twice.
"""

from collections.abc import Mapping

from inorder.errors import OperatorError


class RedirectGraph:
    """Names of lanes and their targets. A change that is refused changes nothing."""

    def __init__(self) -> None:
        self._target_of: dict[str, str | None] = {}

    def __contains__(self, name: str) -> bool:
        return name in self._target_of

    def add(self, targets: Mapping[str, str | None]) -> None:
        """Add lanes, all or none.

        Raises `OperatorError` for a name that is registered already, an unknown target, and a cycle.
        """
        for name in targets:
            if name in self._target_of:
                raise OperatorError(f"a lane named {name!r} is already registered")
        target_of = {**self._target_of, **targets}
        for name, target in targets.items():
            if target is not None and target not in target_of:
                raise OperatorError(f"lane {name!r} redirects to {target!r}, which is not registered")
            _require_no_cycle(target_of, name)
        self._target_of = target_of

    def discard(self, name: str) -> None:
        """Remove a lane. Lanes that redirect to it keep their target, which then does not exist."""
        self._target_of.pop(name, None)


def _require_no_cycle(target_of: Mapping[str, str | None], start: str) -> None:
    path = [start]
    while (target := target_of.get(path[-1])) is not None:
        if target in path:
            raise OperatorError(f"redirect cycle: {' -> '.join([*path, target])}")
        path.append(target)
