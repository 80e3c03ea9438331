"""What is counted as the memory of a run, and how often."""

import os
from collections.abc import Sequence

import pytest

from inorder.core.commands import Command
from inorder.core.events import Event, MemorySampled
from inorder.core.options import KernelOptions
from inorder.core.windows.plan import PlanItem
from inorder.engines.inline import InlineEngine
from inorder.host.memory import read_resident_bytes
from inorder.runtime.limits import Budgets
from inorder.runtime.loop import Runtime
from inorder.runtime.memory_probe import MemoryProbe, create_memory_probe
from inorder.sim.clock import VirtualClock

LIMITED = Budgets(resident_bytes_hard=2**40)


class EngineOfProcesses(InlineEngine):
    """Says that this process is two of its workers."""

    def process_ids(self) -> list[int]:
        return [os.getpid(), os.getpid(), 2**22 + 1]


@pytest.mark.req("BPR-1")
def test_worker_processes_count_and_those_that_are_gone_do_not() -> None:
    alone = create_memory_probe(InlineEngine(str), LIMITED, None)
    together = create_memory_probe(EngineOfProcesses(str), LIMITED, None)
    assert alone is not None
    assert together is not None
    assert 2.5 * alone.read() < together.read() < 3.5 * read_resident_bytes()


@pytest.mark.parametrize(
    ("budgets", "interval_ms", "expected"),
    [
        (Budgets(), None, None),
        (Budgets(), 5000, 5000),
        (LIMITED, None, 1000),
        (LIMITED, 5000, 1000),
        (Budgets(resident_bytes_soft=1), 200, 200),
    ],
)
def test_a_budget_needs_a_sample_every_second(budgets: Budgets, interval_ms: int | None, expected: int | None) -> None:
    probe = create_memory_probe(InlineEngine(str), budgets, interval_ms)
    assert (None if probe is None else probe.interval_ms) == expected


@pytest.mark.req("BPR-1")
def test_a_run_samples_at_its_start_and_after_every_interval_also_while_it_waits() -> None:
    clock = VirtualClock()
    sampled: list[int] = []
    taken_in: list[int] = []

    class Waiting(InlineEngine):
        """Takes ten seconds to say that its worker is there."""

        def poll(self, timeout_s: float | None) -> list[Event]:
            assert timeout_s is not None
            if clock.now_ms() >= 10_000:
                return super().poll(timeout_s)
            clock.advance_to(clock.true_ms + round(timeout_s * 1000))
            return []

    def read() -> int:
        sampled.append(clock.now_ms())
        return len(sampled)

    def observe(now_ms: int, event: Event, commands: Sequence[Command] | None) -> None:
        if isinstance(event, MemorySampled):
            taken_in.append(event.bytes)

    runtime = Runtime(
        [(PlanItem(), "item")],
        Waiting(str),
        lambda run, items: run.end,
        clock,
        options=KernelOptions(),
        observer=observe,
        memory=MemoryProbe(read, 3000),
    )
    assert runtime.run().succeeded == 1
    assert sampled == [0, 3000, 6000, 9000, 12_000]
    assert taken_in == [1, 2, 3, 4, 5]
