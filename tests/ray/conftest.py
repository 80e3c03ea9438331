"""Tests on a cluster of several nodes on this machine. Without Ray there are none."""

from collections.abc import Iterator
from importlib.util import find_spec
from typing import Any

import pytest

if find_spec("ray") is None:
    collect_ignore_glob = ["test_*.py"]


@pytest.fixture(scope="session")
def machines() -> Iterator[Any]:
    """A head node without CPUs, where the driver runs, and two permanent nodes with two CPUs each."""
    from tests.ray.machines import Machines

    machines = Machines()
    yield machines
    machines.close()


@pytest.fixture(autouse=True)
def as_it_was(machines: Any) -> Iterator[None]:
    """Every test starts and ends with the two permanent nodes, and no worker on them."""
    yield
    machines.put_right()
