"""One queue in the project: lanes. Everything that runs work, commits it or calls a provider stands on them."""

import ast

import pytest

from tests.tidy.sources import PACKAGE_ROOT, Module, read_modules

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


def find_modules() -> dict[str, Module]:
    return {str(module.path.relative_to(PACKAGE_ROOT)): module for module in read_modules(PACKAGE_ROOT)}


def imports_of(module: Module) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Import):
            found.update(f"import {alias.name}" if alias.name == "queue" else alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module is not None and node.level == 0:
            found.add(node.module)
            found.update(f"{node.module}.{alias.name}" for alias in node.names)
    return found


def lanes_of(module: Module) -> list[ast.Call]:
    """Every place where a lane is configured."""
    calls = (node for node in ast.walk(module.tree) if isinstance(node, ast.Call))
    return [call for call in calls if isinstance(call.func, ast.Name) and call.func.id == "LaneConfig"]


@pytest.mark.slow
@pytest.mark.req("LAN-10")
def test_nothing_of_ours_uses_another_queue_or_pool() -> None:
    users = {name: others for name, module in find_modules().items() if (others := imports_of(module) & OTHER_QUEUES)}
    assert {name for name in users if not name.startswith("lanes/")} == {"executor.py"}, "it implements their interface"


@pytest.mark.req("LAN-10")
@pytest.mark.parametrize(
    "module",
    [
        "engines/pool.py",
        "runtime/commit.py",
        "models/calls.py",
        "documents/embed/batching.py",
    ],
)
def test_workers_commits_and_providers_stand_on_lanes(module: str) -> None:
    assert lanes_of(find_modules()[module])


@pytest.mark.slow
@pytest.mark.req("DEC-7")
def test_the_lanes_of_the_runner_block_when_they_are_full() -> None:
    """Another strategy would lose work; those are for whoever uses a lane alone."""
    configured = [call for module in find_modules().values() for call in lanes_of(module)]
    assert len(configured) >= 5
    for call in configured:
        assert "strategy" not in {keyword.arg for keyword in call.keywords}
    from inorder.lanes import LaneConfig

    assert LaneConfig(name="compute").strategy == "block"
