"""The resources that a worker declares, and those that it gets."""

import os
from pathlib import Path
from typing import Any

import pytest

from inorder import RunOptions, imap
from inorder.errors import InfrastructureError
from tests.ray.jobs import Visit, seen_in, visit
from tests.ray.machines import Machines, here
from tests.ray.meanwhile import Meanwhile
from tests.support.misbehaviour import wait_until


def where(_: Any) -> tuple[int, str | None]:
    return here(), os.environ.get("CUDA_VISIBLE_DEVICES")


def test_a_worker_runs_only_where_its_custom_resource_is(machines: Machines) -> None:
    special = machines.add(2, resources={"special": 2})
    options = machines.options(resources={"special": 1})
    found = list(imap(where, range(20), where="ray", options=RunOptions(ray=options)))
    assert {node for node, _ in found} == {special.raylet}


def test_twice_as_many_workers_fit_with_half_a_cpu_each(machines: Machines, tmp_path: Path) -> None:
    """All eight must run at the same time, or the first ones would wait forever."""
    folder = str(tmp_path)
    items = [Visit(folder, number, "all") for number in range(8)]
    found = imap(visit_together, items, where="ray", options=RunOptions(ray=machines.options(cpus=0.5)))
    assert [number for number, _ in found] == list(range(8))
    assert len({seen.pid for seen in seen_in(tmp_path)}) == 8


def visit_together(item: Visit) -> tuple[int, int]:
    """Wait until eight workers have come."""
    found = visit(item._replace(until=""))
    folder = Path(item.folder)
    assert wait_until(lambda: len(seen_in(folder)) >= 8), "not all of them came"
    return found


def test_a_worker_sees_only_its_own_gpu(machines: Machines) -> None:
    machines.add(2, num_gpus=2)
    found = list(imap(where, range(20), where="ray", options=RunOptions(ray=machines.options(gpus=1.0))))
    assert {visible for _, visible in found} <= {"0", "1"}


def test_if_no_worker_fits_the_run_ends_and_names_what_is_missing(machines: Machines) -> None:
    options = machines.options(cpus=3.0, gpus=1.0, resources={"quiet": 2}, start_timeout_s=1.0)
    with pytest.raises(InfrastructureError) as caught:
        list(imap(where, range(3), where="ray", options=RunOptions(ray=options)))
    said = str(caught.value)
    assert said == (
        "no worker started within 1 s: a worker needs 3 CPU, 1 GPU, 2 quiet; the cluster has 3 nodes with 4 CPU"
    )


def test_a_node_that_joins_while_the_run_waits_is_used(machines: Machines) -> None:
    with Meanwhile(lambda: machines.add(1, resources={"late": 1})):
        found = list(
            imap(where, range(3), where="ray", options=RunOptions(ray=machines.options(resources={"late": 1})))
        )
    assert len(found) == 3


# ---- where a worker is


def read_here(name: str) -> str:
    return Path(name).read_text()


def test_a_worker_is_in_the_folder_of_the_driver(
    machines: Machines, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "word").write_text("found")
    monkeypatch.chdir(tmp_path)
    assert list(imap(read_here, ["word"], workers=1, where="ray", options=RunOptions(ray=machines.options()))) == [
        "found"
    ]


def test_a_driver_in_a_folder_whose_name_is_not_utf_8(
    machines: Machines, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = os.fsencode(tmp_path) + b"/caf\xe9"
    os.mkdir(folder)
    monkeypatch.chdir(os.fsdecode(folder))
    monkeypatch.syspath_prepend("")
    Path("word").write_text("found")
    assert list(imap(read_here, ["word"], workers=1, where="ray", options=RunOptions(ray=machines.options()))) == [
        "found"
    ]


def test_a_driver_whose_folder_is_gone(machines: Machines, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "word").write_text("found")
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    monkeypatch.syspath_prepend("")
    (tmp_path / "gone").rmdir()
    found = imap(
        read_here, [str(tmp_path / "word")], workers=1, where="ray", options=RunOptions(ray=machines.options())
    )
    assert list(found) == ["found"]
