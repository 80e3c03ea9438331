"""Options of the Ray engine. Importing this module does not import Ray."""

import math
from collections.abc import Mapping
from typing import Any, Literal

import msgspec

from inorder.errors import require

FILES = ("auto", "shared", "send")
_RESERVED = ("CPU", "GPU", "memory", "object_store_memory")
"""Names of Ray's own resources, which a custom resource cannot have."""


class RayOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Which Ray cluster to use, what one worker needs there, and how files reach the nodes.

    >>> RayOptions(address="10.0.0.5:6379", cpus=2, resources={"ssd": 1}).demands()
    {'CPU': 2, 'GPU': 0.0, 'ssd': 1}

    Raises:
        OperatorError: A value is invalid. The message names the option.
    """

    address: str | None = None
    """`HOST:PORT` of the cluster, or `auto` for the one that this machine belongs to. None: the value of the
    environment variable RAY_ADDRESS; without it, a cluster of this machine alone, which ends with this process."""
    cpus: float = 1.0
    """CPUs per worker."""
    gpus: float = 0.0
    """GPUs per worker; may be a fraction of one."""
    resources: Mapping[str, float] = {}
    """Custom resources per worker, by the names that the nodes declare."""
    files: Literal["auto", "shared", "send"] = "auto"
    """How a node gets the files of a stage. `shared`: the node sees them at the same paths. `send`: they are sent with
    the items and the results. `auto`: they are sent to the nodes that do not see DATA."""
    send_bytes_max: int = 64 * 2**20
    """The most bytes of files that are sent with one item; an item with more runs on the driver's machine."""
    start_timeout_s: float = 300.0
    """How long to wait while there is no worker at all: a cluster may need this time to start a machine."""

    def __post_init__(self) -> None:
        address: Any = self.address
        require(address is None or (isinstance(address, str) and address != ""), "address must be HOST:PORT or auto")
        require(
            address is None or "://" not in address,
            f"address must be HOST:PORT or auto, got {address!r}; Ray client connections (ray://) are not supported: "
            "run this command on a machine of the cluster",
        )
        kind = type(self.resources).__name__
        require(isinstance(self.resources, Mapping), f"resources must be a mapping of names to numbers, got {kind}")
        for name in self.resources:
            is_custom = isinstance(name, str) and name != "" and name not in _RESERVED
            require(is_custom, f"invalid resource name {name!r}; use cpus and gpus for CPUs and GPUs")
        for name, value in (("cpus", self.cpus), ("gpus", self.gpus), *self.resources.items()):
            is_number = type(value) in (int, float) and math.isfinite(value)
            require(is_number and value >= 0, f"{name} per worker must be a number of at least 0, got {value!r}")
        require(self.gpus <= 1 or self.gpus % 1 == 0, f"gpus per worker must be whole or at most 1, got {self.gpus!r}")
        require(any(self.demands().values()), "a worker must need at least one resource: set cpus, gpus or resources")
        require(self.files in FILES, f"files must be one of {', '.join(FILES)}, got {self.files!r}")
        is_whole = type(self.send_bytes_max) is int and self.send_bytes_max >= 0
        require(is_whole, f"send_bytes_max must be a whole number of at least 0, got {self.send_bytes_max!r}")
        is_number = type(self.start_timeout_s) in (int, float) and self.start_timeout_s > 0
        require(is_number, f"start_timeout_s must be a number above 0, got {self.start_timeout_s!r}")

    def demands(self) -> dict[str, float]:
        """The resources that one worker takes of a node."""
        return {"CPU": self.cpus, "GPU": self.gpus, **self.resources}
