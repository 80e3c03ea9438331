"""The redirects between lanes, and the check that they form no cycle.

Each lane has at most one target, so a cycle is found by following the targets. A cycle that arises later (a lane that
is registered again under an old name) is caught by the submission itself, which visits no lane twice.
"""

from collections.abc import Mapping

from inorder.errors import OperatorError


def require_valid_redirects(registered: Mapping[str, str | None], added: Mapping[str, str | None]) -> None:
    """Raise `OperatorError` if lanes cannot be added to those that are registered: for a name that is registered
    already, an unknown target, and a cycle. Both tables have the targets of lanes by their names."""
    target_of = {**registered, **added}
    for name, target in added.items():
        if name in registered:
            raise OperatorError(f"a lane named {name!r} is already registered")
        if target is not None and target not in target_of:
            raise OperatorError(f"lane {name!r} redirects to {target!r}, which is not registered")
        _require_no_cycle(target_of, name)


def _require_no_cycle(target_of: Mapping[str, str | None], start: str) -> None:
    path = [start]
    while (target := target_of.get(path[-1])) is not None:
        if target in path:
            raise OperatorError(f"redirect cycle: {' -> '.join([*path, target])}")
        path.append(target)
