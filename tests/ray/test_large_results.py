"""Results of megabytes are not copied needlessly, and few are kept, not for long."""

import gc
import os
from pathlib import Path
from typing import Any

import numpy
import pytest
import ray

from inorder import RunOptions, imap
from inorder.core.commands import Command, PressureChanged
from inorder.core.options import PressureOptions
from inorder.engines.process.transfer import pack
from inorder.engines.ray.engine import RayEngine
from tests.ray.jobs import run_on
from tests.ray.machines import STORE_BYTES, Machines
from tests.support.misbehaviour import wait_for, wait_until

MEGABYTE = 2**20
BUDGET_BYTES = 8 * MEGABYTE


def array_of(number: int) -> Any:
    return numpy.full(MEGABYTE // 2, number, dtype=numpy.float64)


def bytes_of(number: int) -> bytes:
    return bytes([number % 256]) * (3 * MEGABYTE)


@pytest.mark.req("CMP-6")
def test_large_arrays_are_views_of_the_object_store(machines: Machines) -> None:
    for number, found in enumerate(
        imap(array_of, range(12), workers=2, where="ray", options=RunOptions(ray=machines.options()))
    ):
        assert (found == number).all()
        assert found.shape == (MEGABYTE // 2,)
        assert not found.flags.owndata
        assert owner_of(found).startswith("ray.")


def owner_of(array: Any) -> str:
    """The module of whatever holds the memory of an array."""
    while not isinstance(array, memoryview):
        array = array.base
    return type(array.obj).__module__


def test_bytes_of_megabytes_arrive_whole(machines: Machines) -> None:
    found = imap(bytes_of, range(12), workers=2, where="ray", options=RunOptions(ray=machines.options()))
    assert all(value == bytes_of(number) for number, value in enumerate(found))


@pytest.mark.req("CMP-2")
def test_delivered_results_are_freed(machines: Machines) -> None:
    """More data passes through the stores than fits into them, and nothing is spilled."""
    count = 2 * 3 * STORE_BYTES // (4 * MEGABYTE)
    settings: Any = {"where": "ray", "workers": 2, "buffered_bytes_max": 32 * MEGABYTE, "ray": machines.options()}
    for number, found in enumerate(imap(array_of, range(count), **settings)):
        assert found[0] == number
    assert machines.spilled() == []


@pytest.mark.req("CMP-2")
def test_results_that_were_not_consumed_are_freed(machines: Machines) -> None:
    iteration: Any = imap(array_of, range(40), workers=2, where="ray", options=RunOptions(ray=machines.options()))
    for _ in range(4):
        next(iteration)
    iteration.close()
    del iteration
    assert wait_until(lambda: referred() == 0), "the driver still holds something"


def referred() -> int:
    """The number of objects that this process holds in the stores."""
    gc.collect()
    return len(ray._private.worker.global_worker.core_worker.get_all_reference_counts())


def begin(item: tuple[str, int]) -> bytes:
    """Write a file, and return a megabyte; the first item only when it is released."""
    folder, number = item
    Path(folder, f"{number}.begun").touch()
    if number == 0:
        wait_for(f"{folder}/go")
    return os.urandom(MEGABYTE)


@pytest.mark.req("BPR-1")
def test_behind_a_slow_first_item_the_driver_holds_no_more_than_its_budget(machines: Machines, tmp_path: Path) -> None:
    """The first item ends only after the driver has stopped starting items."""
    begun: list[int] = []

    def observe(command: Command) -> None:
        if isinstance(command, PressureChanged) and not begun:
            begun.append(len(list(tmp_path.glob("*.begun"))))
            (tmp_path / "go").touch()

    engine = RayEngine(begin, 3, timeout_s=None, options=machines.options())
    pressure = PressureOptions(
        buffered_bytes_soft=BUDGET_BYTES * 3 // 4,
        buffered_bytes_hard=BUDGET_BYTES,
        window_bytes_soft=BUDGET_BYTES * 3 // 4,
        window_bytes_hard=BUDGET_BYTES,
    )
    run = run_on(engine, [(str(tmp_path), number) for number in range(60)], observe, pressure=pressure)
    assert [len(value) for value in run.results] == [MEGABYTE] * 60
    assert begun[0] <= BUDGET_BYTES // MEGABYTE
    result_bytes = pack(bytes(MEGABYTE)).size_bytes
    assert 2 * MEGABYTE < run.buffered_bytes <= (BUDGET_BYTES // MEGABYTE + 1) * result_bytes
