"""The connection to the Ray cluster, and the resources of its nodes."""

import logging
import math
import os
import socket
from collections.abc import Mapping
from typing import Any, NamedTuple

from inorder.engines.base import count_cpus
from inorder.errors import InfrastructureError, OperatorError, require

from .options import RayOptions

_REACH_S = 10.0
_HTTP2_PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\0\0\0\x04\0\0\0\0\0"
_HTTP2_SETTINGS = 4
"""The type of the first HTTP/2 frame that a server sends. A Ray head node is a gRPC server, which speaks HTTP/2."""
_SYSTEM_CONFIG = {"free_objects_period_milliseconds": 100}
"""How often results are freed from the object store. In the default of one second too many of them accumulate."""
_gcs_addresses: dict[str, str] = {}
"""The cluster's own address, by the address that was used to connect to it."""
RAY_MISSING = "Ray is not installed; install it with: pip install 'inorder[ray]'"


class ClusterNode(NamedTuple):
    """A machine of the cluster."""

    node_id: str
    host: str
    resources: Mapping[str, float]


def load_ray() -> Any:
    """Import Ray, with its usage reports turned off. Raises `OperatorError` if it is not installed."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    try:
        import ray
    except ImportError as error:
        raise OperatorError(RAY_MISSING) from error
    return ray


def connect(options: RayOptions) -> None:
    """Connect to the cluster. One connection serves everything in this process and ends with it."""
    ray = load_ray()
    address = options.address or os.environ.get("RAY_ADDRESS")
    if ray.is_initialized():
        ours = ray.get_runtime_context().gcs_address
        require(
            options.address in (None, "auto", ours) or _gcs_addresses.get(options.address) == ours,
            f"this process is already connected to the cluster at {ours} and cannot connect to {options.address}",
        )
        return
    settings: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.ERROR}
    if address is None:
        settings |= {"num_cpus": count_cpus(), "include_dashboard": False, "_system_config": _SYSTEM_CONFIG}
    elif address != "auto":
        _require_reachable(address)
    try:
        ray.init(address=address or "local", **settings)
    except (ConnectionError, RuntimeError, ValueError, OSError) as error:
        where = f"the Ray cluster at {address}" if address else "a Ray cluster on this machine"
        raise InfrastructureError(f"cannot connect to {where}: {' '.join(str(error).split())}") from error
    _gcs_addresses[address or ""] = ray.get_runtime_context().gcs_address
    _silence_worker_logs(ray)


def is_private_cluster() -> bool:
    """Whether the cluster is only this machine, started by this process."""
    return bool(_gcs_addresses.get("") == load_ray().get_runtime_context().gcs_address)


def _silence_worker_logs(ray: Any) -> None:
    """Ray prints the logs of a lost node to standard output, whatever its options are. Standard output is ours."""
    ray._private.worker._worker_logs_enabled = False


def _require_reachable(address: str) -> None:
    """Fail fast: Ray itself waits for minutes and may end the process."""
    host, _, port = address.rpartition(":")
    require(host != "" and port.isdecimal(), f"the address of a Ray cluster is HOST:PORT or auto, got {address!r}")
    try:
        reply = _probe(host, int(port))
    except (OSError, OverflowError, UnicodeError) as error:
        raise InfrastructureError(f"no Ray cluster at {address}: {error}") from error
    if reply[3:4] != bytes([_HTTP2_SETTINGS]):
        raise InfrastructureError(f"no Ray cluster at {address}: the server is not a Ray head node")


def _probe(host: str, port: int) -> bytes:
    """The header of the first HTTP/2 frame that the server sends."""
    with socket.create_connection((host, port), timeout=_REACH_S) as connection:
        if os.environ.get("RAY_USE_TLS", "0") != "0":  # the server sends nothing before a TLS handshake
            return bytes([0, 0, 0, _HTTP2_SETTINGS])
        connection.sendall(_HTTP2_PREFACE)
        return connection.recv(9)


def list_nodes() -> list[ClusterNode]:
    """The nodes that are alive now."""
    ray = load_ray()
    nodes = ray.nodes() if ray.is_initialized() else ()  # `ray.nodes` would connect to a cluster
    return [
        ClusterNode(node["NodeID"], node["NodeManagerHostname"], node["Resources"]) for node in nodes if node["Alive"]
    ]


def is_node_alive(node_id: str) -> bool:
    """Whether a node is alive, as far as the cluster knows."""
    try:
        return any(node.node_id == node_id for node in list_nodes())
    except Exception:
        return False


def is_actor_death(error: BaseException) -> bool:
    """Whether the error says that the process of an actor ended or was killed. False if it was preempted with its
    node, or is only out of reach."""
    exceptions = load_ray().exceptions
    return isinstance(error, exceptions.ActorDiedError) and not error.preempted


def count_fitting_workers(nodes: list[ClusterNode], options: RayOptions) -> int:
    """How many workers fit on an otherwise idle cluster."""
    demands = {name: needed for name, needed in options.demands().items() if needed}
    return sum(
        min(math.floor(node.resources.get(name, 0.0) / needed + 1e-9) for name, needed in demands.items())
        for node in nodes
    )


def describe_capacity(nodes: list[ClusterNode], options: RayOptions) -> str:
    """What a worker needs and what the cluster has, for the error that no worker fits."""
    needs = ", ".join(f"{needed:g} {name}" for name, needed in options.demands().items() if needed)
    total: dict[str, float] = {}
    for node in nodes:
        for name, amount in node.resources.items():
            if name in ("CPU", "GPU") or name in options.resources:
                total[name] = total.get(name, 0.0) + amount
    has = ", ".join(f"{amount:g} {name}" for name, amount in sorted(total.items())) or "none of these resources"
    count = f"{len(nodes)} node{'s' if len(nodes) != 1 else ''}"
    return f"a worker needs {needs}; the cluster has {count} with {has}"
