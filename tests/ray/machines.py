"""A cluster on this machine, whose nodes a test adds and removes."""

import os
import threading
import time
from pathlib import Path
from typing import Any, NamedTuple

import psutil
import ray
from ray.cluster_utils import Cluster

from inorder.engines.ray.options import RayOptions
from tests.support.misbehaviour import wait_until

_FAST = {
    "health_check_initial_delay_ms": 0,
    "health_check_period_ms": 300,
    "health_check_timeout_ms": 2000,
    "health_check_failure_threshold": 3,
}
STORE_BYTES = 150 * 2**20


class Machine(NamedTuple):
    """A node."""

    node: Any
    raylet: int
    """The pid of its raylet."""


class Machines:
    """A head node with the driver, two permanent nodes, and temporary ones."""

    def __init__(self) -> None:
        ray.shutdown()
        os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
        head = {"num_cpus": 0, "include_dashboard": False, "object_store_memory": STORE_BYTES, "_system_config": _FAST}
        self._cluster = Cluster(initialize_head=True, head_node_args=head)
        self.address: str = self._cluster.address
        self._others: list[Machine] = []
        self.staying = [self.add(), self.add()]
        self._others.clear()

    def options(self, **options: Any) -> RayOptions:
        return RayOptions(**({"address": self.address, "start_timeout_s": 60.0} | options))

    def add(self, cpus: float = 2, **settings: Any) -> Machine:
        """Add a node."""
        self._cluster._shutdown_at_exit = threading.current_thread() is threading.main_thread()  # sets a signal handler
        node = self._cluster.add_node(num_cpus=cpus, object_store_memory=STORE_BYTES, **settings)
        self._others.append(Machine(node, node.all_processes["raylet"][0].process.pid))
        return self._others[-1]

    def lose(self, machine: Machine, *, gracefully: bool = False) -> None:
        """Remove a node: at once, or after it has told the cluster."""
        self._others.remove(machine)
        self._cluster.remove_node(machine.node, allow_graceful=gracefully)

    def preempt(self, machine: Machine) -> None:
        """Announce the preemption of a node, and then remove it."""
        preemption, deadline_ms = 2, int(time.time() * 1000) + 600_000
        client = ray._raylet.GcsClient(address=self.address)
        is_accepted, said = client.drain_node(machine.node.node_id, preemption, "it was wanted back", deadline_ms)
        assert is_accepted, said
        self.lose(machine, gracefully=True)

    def put_right(self) -> None:
        """Wait until only the permanent nodes are left, without workers."""
        for machine in self._others[:]:
            self.lose(machine)
        count = 1 + len(self.staying)
        if ray.is_initialized():
            assert wait_until(lambda: sum(each["Alive"] for each in ray.nodes()) == count), "a node did not go"
        assert wait_until(lambda: not supervisors_of(self.staying)), "a worker outlived its run"

    def spilled(self) -> list[str]:
        """Objects that the object stores have spilled to disk."""
        session = Path(self._cluster.head_node.get_session_dir_path())
        return [path.name for folder in session.glob("ray_spilled*") for path in folder.iterdir()]

    def close(self) -> None:
        ray.shutdown()
        self._cluster.shutdown()


def here() -> int:
    """In a worker: the pid of the raylet of its node."""
    return int(os.environ["RAY_RAYLET_PID"])


def supervisors_of(machines: list[Machine]) -> dict[int, list[int]]:
    """The processes of actors on these nodes, and the worker processes of each."""
    found = {}
    for machine in machines:
        for process in _children(machine.raylet):
            if "BootstrapActor" in _title(process):
                found[process.pid] = [child.pid for child in _children(process.pid) if "spawn_main" in _title(child)]
    return found


def _children(pid: int) -> list[psutil.Process]:
    try:
        return psutil.Process(pid).children()
    except psutil.NoSuchProcess:
        return []


def _title(process: psutil.Process) -> str:
    try:
        return " ".join(process.cmdline())
    except (psutil.NoSuchProcess, psutil.ZombieProcess):
        return ""
