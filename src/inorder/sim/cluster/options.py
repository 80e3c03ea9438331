"""A simulated cluster in numbers: nodes, network, items, misfortunes, the commit lane.

Everything that is drawn is drawn from the seed, item by item in plan order, so that the same options give the same run.
"""

from collections.abc import Iterator
from math import log
from random import Random
from typing import NamedTuple

import msgspec

from inorder.core.options import KernelOptions, PressureOptions, WindowOptions, entries_for
from inorder.core.windows.plan import PlanItem
from inorder.errors import require


class Job(NamedTuple):
    """One item and what it takes."""

    number: int
    duration_ms: int
    """On a node of usual speed."""
    result_bytes: int


class ClusterOptions(msgspec.Struct, frozen=True, kw_only=True):
    """One simulation. Shares are of one, times in milliseconds."""

    workers: int = 1000
    nodes: int = 100
    items: int = 200_000
    seed: int = 1
    item_ms: float = 500.0
    """Mean of the log-normal durations."""
    item_sigma: float = 1.0
    """Their spread: at 1.0 the median is 0.6 of the mean, and one item in a hundred takes 6 times the mean or more."""
    result_kb: float = 8.0
    """Mean size of a result."""
    straggler_share: float = 0.0001
    """Items that take `straggler_factor` times the mean."""
    straggler_factor: float = 50.0
    slow_nodes: int = 3
    slow_factor: float = 5.0
    """How much slower those are."""
    node_losses: int = 5
    """Nodes that vanish with all their workers."""
    rack_nodes: int = 0
    """Further nodes that vanish, half-way and all at one moment."""
    silent_nodes: int = 1
    """Nodes that the network parts from the driver; they go on and answer too late."""
    detect_ms: int = 3000
    """Until the driver is told that a node is gone."""
    startup_ms: int = 20_000
    """Until the node that takes its place has joined."""
    latency_ms: float = 5.0
    """One way."""
    jitter_ms: float = 5.0
    """Added to it, from nothing to this."""
    bandwidth_mb_s: float = 1000.0
    """Of the driver's link, which all results share."""
    batch_ms: int = 200
    """Work that a worker asks for at once."""
    window: int = 0
    """Seqs of a window; 0: as many as `entries_for` says."""
    plan_ahead: int = 0
    """Items read from the plan before workers need them; 0: a window of them. Of a short queue each worker's fair
    share is one item, however many it asks for."""
    buffered_mb: int = 1024
    """The byte budget."""
    lease_ms: int = 10_000
    infrastructure_budget: int = 32
    commit_us: float = 120.0
    """The commit lane's time for an item; two files and a row, as `bench/capacity.py` measures them."""
    commit_run_ms: float = 5.0
    """Its time for a run: above all, waiting for the disk."""
    sample_ms: int = 0
    """Between two samples; 0: about two hundred of them."""

    def __post_init__(self) -> None:
        for name in ("workers", "nodes", "items", "batch_ms", "buffered_mb", "detect_ms"):
            _require(getattr(self, name) >= 1, name, "at least 1", getattr(self, name))
        for name in (
            *("slow_nodes", "node_losses", "rack_nodes", "silent_nodes", "startup_ms", "latency_ms", "jitter_ms"),
            *(
                "result_kb",
                "item_sigma",
                "window",
                "plan_ahead",
                "commit_us",
                "commit_run_ms",
                "sample_ms",
                "infrastructure_budget",
            ),
        ):
            _require(getattr(self, name) >= 0, name, "0 or more", getattr(self, name))
        for name in ("item_ms", "bandwidth_mb_s"):
            _require(getattr(self, name) > 0, name, "above 0", getattr(self, name))
        for name in ("straggler_factor", "slow_factor"):
            _require(getattr(self, name) >= 1, name, "at least 1", getattr(self, name))
        _require(0 <= self.straggler_share <= 1, "straggler_share", "between 0 and 1", self.straggler_share)
        _require(self.workers >= self.nodes, "workers", f"at least one a node, {self.nodes}", self.workers)
        _require(self.slow_nodes <= self.nodes, "slow_nodes", f"at most {self.nodes}", self.slow_nodes)
        require(
            self.unlucky_nodes <= self.nodes,
            f"options node-losses, rack-nodes and silent-nodes are {self.unlucky_nodes} together,"
            f" and there are only {self.nodes} nodes",
        )
        _require(self.lease_ms >= 100, "lease_ms", "at least 100", self.lease_ms)
        self.kernel()

    @property
    def entries(self) -> int:
        """Seqs of a window."""
        return self.window or entries_for(self.workers)

    @property
    def unlucky_nodes(self) -> int:
        """Nodes that something happens to."""
        return self.node_losses + self.rack_nodes + self.silent_nodes

    @property
    def expected_ms(self) -> int:
        """How long it would take if nothing went wrong and nobody waited."""
        return max(1, round(self.items * self.item_ms / self.workers))

    def kernel(self) -> KernelOptions:
        """The limits of the kernel."""
        hard = self.buffered_mb * 2**20
        soft = hard * 3 // 4
        return KernelOptions(
            windows=WindowOptions(
                entries=self.entries,
                entries_min=min(64, self.entries),
                entries_max=max(8192, self.entries),
                span_max=max(65_536, self.entries),
                plan_ahead=self.plan_ahead or self.entries,
            ),
            pressure=PressureOptions(
                buffered_bytes_soft=soft, buffered_bytes_hard=hard, window_bytes_soft=soft, window_bytes_hard=hard
            ),
            lease_ms=self.lease_ms,
            infrastructure_budget=self.infrastructure_budget,
        )


def _require(condition: bool, name: str, wanted: str, got: object) -> None:
    require(condition, f"option {name.replace('_', '-')} must be {wanted}, got {got}")


_DESCRIBED = PlanItem()


def plan_of(options: ClusterOptions) -> Iterator[tuple[PlanItem, Job]]:
    """The items, in order."""
    rng = Random(options.seed)
    spread = options.item_sigma
    typical_ms = log(options.item_ms) - spread * spread / 2
    for number in range(options.items):
        duration_ms = rng.lognormvariate(typical_ms, spread)
        if rng.random() < options.straggler_share:
            duration_ms = options.item_ms * options.straggler_factor
        result_bytes = rng.expovariate(1.0) * options.result_kb * 1024
        yield _DESCRIBED, Job(number, max(1, round(duration_ms)), round(result_bytes))
