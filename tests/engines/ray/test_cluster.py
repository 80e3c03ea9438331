"""Options of a cluster, how many workers fit, and the errors when there is no cluster."""

import socket
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import pytest

import inorder
from inorder.engines.ray import cluster
from inorder.engines.ray.cluster import (
    RAY_MISSING,
    ClusterNode,
    connect,
    count_fitting_workers,
    describe_capacity,
    is_node_alive,
    load_ray,
)
from inorder.engines.ray.options import RayOptions
from inorder.errors import InfrastructureError, OperatorError


@pytest.fixture
def no_ray(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make Ray seem not to be installed."""
    monkeypatch.setitem(sys.modules, "ray", None)  # type: ignore[arg-type]


class Ray:
    """Stands in for Ray, which can be connected to unless `error` is set."""

    def __init__(self, error: Exception | None = None) -> None:
        self.error = error
        self.joined: list[Any] = []
        self.address = ""
        self._private = SimpleNamespace(worker=SimpleNamespace())

    def is_initialized(self) -> bool:
        return self.address != ""

    def get_runtime_context(self) -> Any:
        return SimpleNamespace(gcs_address=self.address)

    def init(self, address: str, **settings: Any) -> None:
        if self.error is not None:
            raise self.error
        self.joined.append((address, settings))
        self.address = "10.0.0.1:6379"


@pytest.fixture
def ray(monkeypatch: pytest.MonkeyPatch) -> Ray:
    ray = Ray()
    monkeypatch.setitem(sys.modules, "ray", ray)  # type: ignore[arg-type]
    monkeypatch.setattr(cluster, "_gcs_addresses", {})
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    return ray


# ---- options


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"address": ""}, "address must be HOST:PORT or auto"),
        ({"address": 6379}, "address must be HOST:PORT or auto"),
        (
            {"address": "ray://head:10001"},
            "address must be HOST:PORT or auto, got 'ray://head:10001'; Ray client connections",
        ),
        ({"cpus": -1}, "cpus per worker must be a number of at least 0, got -1"),
        ({"cpus": "2"}, "cpus per worker must be a number of at least 0, got '2'"),
        ({"cpus": True}, "cpus per worker must be a number of at least 0, got True"),
        ({"gpus": float("nan")}, "gpus per worker must be a number of at least 0, got nan"),
        ({"gpus": float("inf")}, "gpus per worker must be a number of at least 0, got inf"),
        ({"gpus": 1.5}, "gpus per worker must be whole or at most 1, got 1.5"),
        ({"resources": {"disk": -1}}, "disk per worker must be a number of at least 0, got -1"),
        ({"resources": {"CPU": 4}}, "invalid resource name 'CPU'; use cpus and gpus for CPUs and GPUs"),
        ({"resources": {"memory": 4}}, "invalid resource name 'memory'"),
        ({"resources": {"": 4}}, "invalid resource name ''"),
        ({"cpus": 0}, "a worker must need at least one resource: set cpus, gpus or resources"),
        ({"cpus": 0, "resources": {"disk": 0}}, "a worker must need at least one resource"),
        ({"files": "everywhere"}, "files must be one of auto, shared, send, got 'everywhere'"),
        ({"send_bytes_max": -1}, "send_bytes_max must be a whole number of at least 0, got -1"),
        ({"send_bytes_max": "1"}, "send_bytes_max must be a whole number of at least 0, got '1'"),
        ({"start_timeout_s": 0}, "start_timeout_s must be a number above 0, got 0"),
        ({"start_timeout_s": "1"}, "start_timeout_s must be a number above 0, got '1'"),
        ({"resources": "ssd"}, "resources must be a mapping of names to numbers, got str"),
    ],
)
def test_an_invalid_option_is_refused_in_one_line(options: dict[str, Any], said: str) -> None:
    with pytest.raises(OperatorError) as caught:
        RayOptions(**options)
    assert str(caught.value).startswith(said)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("options", "demands"),
    [
        ({}, {"CPU": 1.0, "GPU": 0.0}),
        ({"cpus": 0, "gpus": 0.25}, {"CPU": 0, "GPU": 0.25}),
        ({"cpus": 2.5, "gpus": 2}, {"CPU": 2.5, "GPU": 2}),
        ({"cpus": 0, "resources": {"disk": 1}}, {"CPU": 0, "GPU": 0.0, "disk": 1}),
    ],
)
def test_the_demands_of_a_worker_are_those_of_the_options(options: dict[str, Any], demands: dict[str, float]) -> None:
    assert RayOptions(**options).demands() == demands


# ---- what fits


def node(name: str = "n", **resources: float) -> ClusterNode:
    return ClusterNode(name, f"host-{name}", resources)


@pytest.mark.parametrize(
    ("nodes", "options", "count"),
    [
        ([], {}, 0),
        ([node(CPU=4), node(CPU=2)], {}, 6),
        ([node(CPU=4), node(CPU=2)], {"cpus": 3}, 1),
        ([node(CPU=3), node(CPU=3)], {"cpus": 2}, 2),
        ([node(CPU=1)], {"cpus": 0.1}, 10),
        ([node(CPU=8, GPU=1), node(CPU=8)], {"gpus": 0.5}, 2),
        ([node(CPU=1, GPU=4)], {"gpus": 1}, 1),
        ([node(CPU=8, disk=3), node(CPU=8)], {"resources": {"disk": 1.0}}, 3),
        ([node(CPU=8, memory=2**30)], {"cpus": 0, "gpus": 1}, 0),
    ],
)
def test_as_many_workers_fit_as_the_scarcest_resource_of_each_node_allows(
    nodes: list[ClusterNode], options: dict[str, Any], count: int
) -> None:
    assert count_fitting_workers(nodes, RayOptions(**options)) == count


def test_the_capacity_names_what_is_needed_and_what_the_cluster_has() -> None:
    nodes = [node(CPU=4, disk=1, memory=2**30), node(CPU=0.5, GPU=1)]
    options = RayOptions(cpus=1, gpus=2, resources={"disk": 1})
    said = "a worker needs 1 CPU, 2 GPU, 1 disk; the cluster has 2 nodes with 4.5 CPU, 1 GPU, 1 disk"
    assert describe_capacity(nodes, options) == said
    assert describe_capacity([node(memory=1)], RayOptions()) == (
        "a worker needs 1 CPU; the cluster has 1 node with none of these resources"
    )


# ---- no Ray, no cluster


@pytest.mark.usefixtures("no_ray")
def test_without_ray_the_error_names_the_extra() -> None:
    assert RAY_MISSING == "Ray is not installed; install it with: pip install 'inorder[ray]'"
    for call in (load_ray, lambda: connect(RayOptions()), lambda: list(inorder.imap(str, [1], where="ray"))):
        with pytest.raises(OperatorError) as caught:
            call()
        assert str(caught.value) == RAY_MISSING
    assert not is_node_alive("node-1")


def test_an_invalid_address_is_refused(ray: Ray) -> None:
    for address in ("nonsense", ":6379", "head:", "head:port", "head:63.79"):
        with pytest.raises(OperatorError) as caught:
            connect(RayOptions(address=address))
        assert str(caught.value) == f"the address of a Ray cluster is HOST:PORT or auto, got {address!r}"
    assert ray.joined == []


def closed_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


@pytest.mark.parametrize("address", ["127.0.0.1:{closed}", "127.0.0.1:99999", "a..b:6379"])
def test_a_missing_cluster_is_an_error_of_one_line_and_at_once(ray: Ray, address: str) -> None:
    address = address.format(closed=closed_port())
    with pytest.raises(InfrastructureError) as caught:
        connect(RayOptions(address=address))
    assert str(caught.value).startswith(f"no Ray cluster at {address}: ")
    assert "\n" not in str(caught.value)
    assert ray.joined == []


def test_an_address_in_the_environment_counts_where_none_is_given(ray: Ray, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAY_ADDRESS", "nonsense")
    with pytest.raises(OperatorError, match="got 'nonsense'"):
        connect(RayOptions())
    connect(RayOptions(address="auto"))
    assert [address for address, _ in ray.joined] == ["auto"]


@contextmanager
def server_that_sends(reply: bytes) -> Iterator[str]:
    """The address of a server that sends this to the first client."""

    def answer() -> None:
        connection, _ = head.accept()
        with connection:
            connection.recv(1)
            connection.sendall(reply)

    with socket.create_server(("127.0.0.1", 0)) as head, ThreadPoolExecutor(1) as threads:
        done = threads.submit(answer)
        yield f"127.0.0.1:{head.getsockname()[1]}"
        done.result()


def test_a_cluster_is_connected_to_once(ray: Ray) -> None:
    with server_that_sends(b"\0\0\0\x04\0\0\0\0\0") as address:
        connect(RayOptions(address=address))
    connect(RayOptions(address=address))
    [(joined, settings)] = ray.joined
    assert joined == address
    assert "num_cpus" not in settings, "the cluster has its own"


def test_a_server_of_another_protocol_is_not_a_cluster(ray: Ray) -> None:
    with (
        server_that_sends(b"HTTP/1.1 400 Bad Request") as address,
        pytest.raises(InfrastructureError, match=f"no Ray cluster at {address}: the server is not a Ray head node"),
    ):
        connect(RayOptions(address=address))
    assert ray.joined == []


def test_without_an_address_this_machine_alone_is_the_cluster(ray: Ray) -> None:
    connect(RayOptions())
    [(joined, settings)] = ray.joined
    assert joined == "local"
    assert settings["num_cpus"] >= 1


def test_a_cluster_that_cannot_be_connected_to_is_an_error_of_one_line(ray: Ray) -> None:
    ray.error = ConnectionError("no such\n   cluster\n")
    with pytest.raises(InfrastructureError) as caught:
        connect(RayOptions(address="auto"))
    assert str(caught.value) == "cannot connect to the Ray cluster at auto: no such cluster"


def test_a_process_is_connected_to_one_cluster(ray: Ray) -> None:
    ray.address = "10.0.0.1:6379"
    for address in (None, "auto", "10.0.0.1:6379"):
        connect(RayOptions(address=address))
    assert ray.joined == []
    with pytest.raises(OperatorError) as caught:
        connect(RayOptions(address="10.0.0.2:6379"))
    said = "this process is already connected to the cluster at 10.0.0.1:6379 and cannot connect to 10.0.0.2:6379"
    assert str(caught.value) == said
