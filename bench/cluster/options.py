"""The options of a simulated cluster: nodes, network, items, faults, the commit lane.

All random values are drawn from the seed, item by item in plan order, so the same options give the same run.
"""

from collections.abc import Iterator
from math import log
from random import Random
from typing import NamedTuple

import msgspec

from inorder.core.options import KernelOptions, PressureOptions, WindowOptions, entries_for
from inorder.core.windows.plan import PlanItem
from inorder.errors import require


class ClusterItem(NamedTuple):
    """One item and its cost."""

    number: int
    duration_ms: int
    """On a node of normal speed."""
    result_bytes: int


class ClusterOptions(msgspec.Struct, frozen=True, kw_only=True):
    """One simulation. Shares are between 0 and 1."""

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
    """How many times slower those are."""
    node_losses: int = 5
    """Nodes that are lost with all their workers."""
    rack_nodes: int = 0
    """Further nodes that are lost, all at the same moment in the middle of the run."""
    silent_nodes: int = 1
    """Nodes that the network cuts off; they continue and answer too late."""
    detect_ms: int = 3000
    """Time until the driver detects a lost node."""
    startup_ms: int = 20_000
    """Time until a replacement node has joined."""
    latency_ms: float = 5.0
    """Network latency, one way."""
    jitter_ms: float = 5.0
    """Random addition to the latency, at most."""
    bandwidth_mb_s: float = 1000.0
    """Bandwidth of the driver's link, which all results share."""
    batch_ms: int = 200
    """Work per batch."""
    window: int = 0
    """Seqs per window; 0: as `entries_for` computes."""
    plan_ahead: int = 0
    """Items read from the plan in advance; 0: one window. With a short queue each worker gets one item per batch,
    however many it asks for."""
    buffered_mb: int = 1024
    """Byte budget of results that are not committed."""
    lease_ms: int = 10_000
    infrastructure_budget: int = 32
    commit_us: float = 120.0
    """Time of the commit lane per item: two files and a row, as `bench/capacity.py` measures them."""
    commit_run_ms: float = 5.0
    """Time of the commit lane per run, mostly waiting for the disk."""
    sample_ms: int = 0
    """Time between two samples; 0: about 200 samples in total."""

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
        _require(self.workers >= self.nodes, "workers", f"at least one per node, {self.nodes}", self.workers)
        _require(self.slow_nodes <= self.nodes, "slow_nodes", f"at most {self.nodes}", self.slow_nodes)
        require(
            self.faulty_nodes <= self.nodes,
            f"options node-losses, rack-nodes and silent-nodes must add up to at most {self.nodes} nodes,"
            f" got {self.faulty_nodes}",
        )
        _require(self.lease_ms >= 100, "lease_ms", "at least 100", self.lease_ms)
        self.kernel()

    @property
    def entries(self) -> int:
        """Seqs per window."""
        return self.window or entries_for(self.workers)

    @property
    def faulty_nodes(self) -> int:
        """Nodes that have a fault."""
        return self.node_losses + self.rack_nodes + self.silent_nodes

    @property
    def expected_ms(self) -> int:
        """The duration of the run without faults and idle time."""
        return max(1, round(self.items * self.item_ms / self.workers))

    def kernel(self) -> KernelOptions:
        """Return the options of the kernel."""
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


_PLAN_ITEM = PlanItem()


def make_plan(options: ClusterOptions) -> Iterator[tuple[PlanItem, ClusterItem]]:
    """Yield the items of the plan, in order."""
    rng = Random(options.seed)
    spread = options.item_sigma
    typical_ms = log(options.item_ms) - spread * spread / 2
    for number in range(options.items):
        duration_ms = rng.lognormvariate(typical_ms, spread)
        if rng.random() < options.straggler_share:
            duration_ms = options.item_ms * options.straggler_factor
        result_bytes = rng.expovariate(1.0) * options.result_kb * 1024
        yield _PLAN_ITEM, ClusterItem(number, max(1, round(duration_ms)), round(result_bytes))
