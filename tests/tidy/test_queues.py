"""One queue in the project: lanes. Everything that runs work, commits it or calls a provider stands on them."""

import ast
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "src" / "inorder"
OTHER_QUEUES = {
    "import queue",
    "queue.Queue",
    "queue.PriorityQueue",
    "queue.LifoQueue",
    "concurrent.futures",
    "multiprocessing.pool",
    "asyncio.Queue",
}
"""A `SimpleQueue` is a letter box for what has happened, and holds no work."""


def imports_of(path: Path) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found.update(f"import {alias.name}" if alias.name == "queue" else alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module is not None and node.level == 0:
            found.add(node.module)
            found.update(f"{node.module}.{alias.name}" for alias in node.names)
    return found


def lanes_of(path: Path) -> list[ast.Call]:
    """Every place where a lane is configured."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    calls = (node for node in ast.walk(tree) if isinstance(node, ast.Call))
    return [call for call in calls if isinstance(call.func, ast.Name) and call.func.id == "LaneConfig"]


@pytest.mark.slow
@pytest.mark.req("LAN-10")
def test_nothing_of_ours_uses_another_queue_or_pool() -> None:
    users = {
        str(path.relative_to(PACKAGE)): others
        for path in PACKAGE.rglob("*.py")
        if (others := imports_of(path) & OTHER_QUEUES)
    }
    assert {name for name in users if not name.startswith("lanes/")} == set()


@pytest.mark.req("LAN-10")
@pytest.mark.parametrize(
    "module",
    [
        "engines/pool.py",
        "runtime/commit.py",
        "documents/embed/providers/server/calls.py",
        "documents/embed/batching.py",
    ],
)
def test_workers_commits_and_providers_stand_on_lanes(module: str) -> None:
    assert lanes_of(PACKAGE / module)


@pytest.mark.slow
@pytest.mark.req("DEC-7")
def test_the_lanes_of_the_runner_block_when_they_are_full() -> None:
    """Another strategy would lose work; those are for whoever uses a lane alone."""
    configured = [call for path in PACKAGE.rglob("*.py") for call in lanes_of(path)]
    assert len(configured) >= 5
    for call in configured:
        assert "strategy" not in {keyword.arg for keyword in call.keywords}
    from inorder import LaneConfig

    assert LaneConfig(name="compute").strategy == "block"
