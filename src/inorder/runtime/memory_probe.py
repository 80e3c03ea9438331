"""Samples the resident memory of a run: of this process and of the worker processes of its engine."""

from collections.abc import Callable
from typing import NamedTuple

from inorder.engines.base import Engine
from inorder.host.memory import read_resident_bytes, require_resident_memory

from .limits import Budgets

LIMITED_MS = 1000
"""Longest interval between two samples if a budget depends on them."""


class MemoryProbe(NamedTuple):
    """How to sample the resident memory, and how often."""

    read: Callable[[], int]
    interval_ms: int


def create_memory_probe(engine: Engine, budgets: Budgets, interval_ms: int | None) -> MemoryProbe | None:
    """Create the probe of a run. None: no budget depends on it, and `interval_ms` is None. Processes on other machines
    are not counted. Memory that processes share is counted for each of them."""
    if budgets.has_resident_limit:
        require_resident_memory("budgets.resident_bytes_soft or budgets.resident_bytes_hard")
        interval_ms = LIMITED_MS if interval_ms is None else min(LIMITED_MS, interval_ms)
    if interval_ms is None:
        return None

    def read() -> int:
        pids: list[int] = getattr(engine, "process_ids", list)()  # worker processes on this machine
        return read_resident_bytes() + sum(map(read_resident_bytes, pids))

    return MemoryProbe(read, max(1, interval_ms))
