"""How work is put on a Ray cluster. Importing this does not import Ray."""

import math
from collections.abc import Mapping
from typing import Any, Literal

import msgspec

from inorder.errors import require

FILES = ("auto", "shared", "send")
_OF_RAY = ("CPU", "GPU", "memory", "object_store_memory")
"""Names that a resource of one's own cannot have."""


class RayOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Which Ray cluster to use, what one worker needs there, and how files reach the nodes.

    >>> RayOptions(address="10.0.0.5:6379", cpus=2, resources={"ssd": 1}).demands()
    {'CPU': 2, 'GPU': 0.0, 'ssd': 1}

    Raises:
        OperatorError: A value is invalid. The message names the option.
    """

    address: str | None = None
    """`HOST:PORT` of the cluster, or `auto` for the one this machine belongs to. None: what the variable RAY_ADDRESS
    says, and otherwise a cluster of this machine alone, which ends with this process."""
    cpus: float = 1.0
    """Processors that one worker is given."""
    gpus: float = 0.0
    """Graphics processors that one worker is given; a part of one is possible."""
    resources: Mapping[str, float] = {}
    """Further resources that one worker needs, by the names that the nodes announce."""
    files: Literal["auto", "shared", "send"] = "auto"
    """How a node comes to the files of a stage: `shared`, it sees them at the same paths; `send`, they travel with the
    items and the results; `auto`, they travel to the nodes that do not see DATA."""
    send_bytes_max: int = 64 * 2**20
    """The most that is sent along with one item."""
    start_timeout_s: float = 300.0
    """How long to go without any worker before giving up: what a cluster may need to start a machine."""

    def __post_init__(self) -> None:
        address: Any = self.address
        require(address is None or (isinstance(address, str) and address != ""), "address must be HOST:PORT or auto")
        require(
            address is None or "://" not in address,
            f"address must be HOST:PORT or auto, got {address!r}; a client from outside (ray://) cannot keep a journal "
            "and commit for the cluster: run this command on one of its machines",
        )
        for name in self.resources:
            is_own = isinstance(name, str) and name != "" and name not in _OF_RAY
            require(is_own, f"a resource cannot be called {name!r}; processors are given with cpus and gpus")
        for name, value in (("cpus", self.cpus), ("gpus", self.gpus), *self.resources.items()):
            is_number = type(value) in (int, float) and math.isfinite(value)
            require(is_number and value >= 0, f"{name} of a worker must be a number from 0, got {value!r}")
        require(self.gpus <= 1 or self.gpus % 1 == 0, f"gpus of a worker must be whole above 1, got {self.gpus!r}")
        require(
            any(self.demands().values()), "a worker must need something, or any number of them would fit: give cpus"
        )
        require(self.files in FILES, f"files must be one of {', '.join(FILES)}, got {self.files!r}")
        require(self.send_bytes_max >= 0, f"send_bytes_max must be at least 0, got {self.send_bytes_max}")
        require(self.start_timeout_s > 0, f"start_timeout_s must be above 0, got {self.start_timeout_s}")

    def demands(self) -> dict[str, float]:
        """What one worker takes of a node."""
        return {"CPU": self.cpus, "GPU": self.gpus, **self.resources}
