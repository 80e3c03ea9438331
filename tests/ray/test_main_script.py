"""A script whose functions and classes are its own, and in no module that a node could import."""

import subprocess
import sys
from pathlib import Path

from tests.ray.machines import Machines
from tests.support.command_line import GUARD_S

SCRIPT = """
import sys
from dataclasses import dataclass
from typing import NamedTuple

import inorder


@dataclass
class Order:
    number: int


class Parcel(NamedTuple):
    order: Order
    weight: float


class Spoilt(Exception):
    def __init__(self, number):
        super().__init__(number)
        self.number = number


def pack(order):
    if order.number == 3:
        raise Spoilt(order.number)
    return [Parcel(order, order.number / 2)]


options = inorder.RunOptions(ray=inorder.RayOptions(address=sys.argv[1]))
for found in inorder.imap(pack, map(Order, range(6)), where="ray", workers=2, errors="yield", options=options):
    if isinstance(found, inorder.ItemError):
        print(type(found.__cause__) is Spoilt, found.__cause__.number)
    else:
        [parcel] = found
        print(type(parcel) is Parcel, type(parcel.order) is Order, parcel.order.number, parcel.weight)
"""


def test_items_results_and_errors_of_its_own_classes_come_back_as_such(machines: Machines, tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT, encoding="utf-8")
    ended = subprocess.run(
        [sys.executable, str(script), machines.address], capture_output=True, text=True, timeout=GUARD_S, check=False
    )
    good = [f"True True {number} {number / 2}" for number in range(6)]
    assert (ended.stdout.splitlines(), ended.returncode) == ([*good[:3], "True 3", *good[4:]], 0), ended.stderr
