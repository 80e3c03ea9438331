"""The cluster itself: to be connected to it, and to know what it has."""

import logging
import math
import os
import socket
from collections.abc import Mapping
from typing import Any, NamedTuple

from inorder.engines.base import processors
from inorder.errors import InfrastructureError, OperatorError, require

from .options import RayOptions

_REACH_S = 10.0
_GREETING = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\0\0\0\x04\0\0\0\0\0"
_SETTINGS = 4
"""HTTP/2, which a cluster speaks: how one begins, and the type of what the other then says first."""
_SWIFT = {"free_objects_period_milliseconds": 100}
"""What results have left in the object store is freed after this, instead of a second: in a second that is a lot."""
_joined: dict[str, str] = {}
"""Addresses that were given, and what the cluster there calls its own."""
MISSING = "Ray is not installed; install it with: pip install 'inorder[ray]'"


class Node(NamedTuple):
    """A machine of the cluster."""

    node: str
    host: str
    resources: Mapping[str, float]


def load_ray() -> Any:
    """Ray, quiet about itself."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    try:
        import ray
    except ImportError as error:
        raise OperatorError(MISSING) from error
    return ray


def connect(options: RayOptions) -> None:
    """Be part of the cluster. One connection serves everything in this process and ends with it."""
    ray = load_ray()
    address = options.address or os.environ.get("RAY_ADDRESS")
    if ray.is_initialized():
        ours = ray.get_runtime_context().gcs_address
        require(
            options.address in (None, "auto", ours) or _joined.get(options.address) == ours,
            f"this process is already part of the cluster at {ours}, and cannot join {options.address} too",
        )
        return
    settings: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.ERROR}
    if address is None:
        settings |= {"num_cpus": processors(), "include_dashboard": False, "_system_config": _SWIFT}
    elif address != "auto":
        _require_reachable(address)
    try:
        ray.init(address=address or "local", **settings)
    except (ConnectionError, RuntimeError, ValueError, OSError) as error:
        said = " ".join(str(error).split())
        raise InfrastructureError(f"the Ray cluster at {address or 'this machine'} cannot be used: {said}") from error
    _joined[address or ""] = ray.get_runtime_context().gcs_address
    _keep_quiet(ray)


def is_own() -> bool:
    """Whether the cluster is this machine alone, started by this process."""
    return bool(_joined.get("") == load_ray().get_runtime_context().gcs_address)


def _keep_quiet(ray: Any) -> None:
    """Ray prints the last words of a lost node to standard output, whatever its options say, and that is ours."""
    ray._private.worker._worker_logs_enabled = False


def _require_reachable(address: str) -> None:
    """Ray itself waits for minutes and may end the process."""
    host, _, port = address.rpartition(":")
    require(host != "" and port.isdecimal(), f"the address of a Ray cluster is HOST:PORT or auto, got {address!r}")
    try:
        said = _answer((host, int(port)))
    except (OSError, OverflowError, UnicodeError) as error:
        raise InfrastructureError(f"there is no Ray cluster at {address}: {error}") from error
    if said[3:4] != bytes([_SETTINGS]):
        raise InfrastructureError(f"there is no Ray cluster at {address}: somebody else answers there")


def _answer(place: tuple[str, int]) -> bytes:
    """What is said there first to one who speaks as Ray does."""
    with socket.create_connection(place, timeout=_REACH_S) as connection:
        if os.environ.get("RAY_USE_TLS", "0") != "0":  # there, nobody says anything to a stranger
            return bytes([0, 0, 0, _SETTINGS])
        connection.sendall(_GREETING)
        return connection.recv(9)


def nodes() -> list[Node]:
    """The machines that are there now."""
    ray = load_ray()
    found = ray.nodes() if ray.is_initialized() else ()  # one who is part of no cluster would be made to join one
    return [Node(each["NodeID"], each["NodeManagerHostname"], each["Resources"]) for each in found if each["Alive"]]


def is_alive(node: str) -> bool:
    """Whether a machine is still there, as far as the cluster knows."""
    try:
        return any(each.node == node for each in nodes())
    except Exception:
        return False


def has_died(error: BaseException) -> bool:
    """Whether Ray says that an actor's process ended by itself, or by somebody's hand: not taken away with a machine
    that had to go, and not merely out of reach."""
    exceptions = load_ray().exceptions
    return isinstance(error, exceptions.ActorDiedError) and not error.preempted


def fitting(found: list[Node], options: RayOptions) -> int:
    """How many workers the cluster has room for, if it had nothing else to do."""
    demands = {name: needed for name, needed in options.demands().items() if needed}
    return sum(
        min(math.floor(node.resources.get(name, 0.0) / needed + 1e-9) for name, needed in demands.items())
        for node in found
    )


def described(found: list[Node], options: RayOptions) -> str:
    """What a worker needs and what there is, for somebody who waits in vain."""
    needs = ", ".join(f"{needed:g} {name}" for name, needed in options.demands().items() if needed)
    total: dict[str, float] = {}
    for node in found:
        for name, amount in node.resources.items():
            if name in ("CPU", "GPU") or name in options.resources:
                total[name] = total.get(name, 0.0) + amount
    has = ", ".join(f"{amount:g} {name}" for name, amount in sorted(total.items())) or "nothing of that"
    machines = f"{len(found)} node{'s' if len(found) != 1 else ''}"
    return f"a worker needs {needs}; the cluster has {machines} with {has}"
