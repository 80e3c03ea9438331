"""Dynamic lanes beside every fixed concurrency, in virtual time."""

import json

import pytest

from bench import scaling
from bench.scaling import CONCURRENCY_MAX, Shape, compare, compute_excess, make_shapes, simulate

SLOWER_MAX = 0.10


@pytest.mark.req("LAN-1")
@pytest.mark.parametrize("name", make_shapes())
def test_a_dynamic_lane_is_at_most_a_tenth_slower_than_the_best_fixed_one(name: str) -> None:
    found = compare(simulate, make_shapes()[name])
    assert len(found) == CONCURRENCY_MAX + 1
    assert compute_excess(found) <= SLOWER_MAX, found


def test_the_virtual_time_of_a_fixed_lane_is_what_it_must_be() -> None:
    shape = Shape((0,) * 12 + (100,), (10,) * 13)
    assert simulate(shape, 1) == pytest.approx(0.13)
    assert simulate(shape, 4) == pytest.approx(0.11)


@pytest.mark.parametrize("real", [False, True])
def test_the_command_compares_every_shape(
    real: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(scaling, "make_shapes", lambda: {"two": Shape((0, 1), (1, 1))})
    flags = ["--real", "--rounds=1"] if real else []
    monkeypatch.setattr("sys.argv", ["scaling.py", "--json", *flags])
    scaling.main()
    assert set(json.loads(capsys.readouterr().out)["two"]) == {"dynamic", *(f"fixed {n}" for n in range(1, 7))}
    monkeypatch.setattr("sys.argv", ["scaling.py", *flags])
    scaling.main()
    assert "dynamic" in capsys.readouterr().out
