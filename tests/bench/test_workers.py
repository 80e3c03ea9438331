"""The adaptive number of workers beside every fixed one, in virtual time."""

import json

import pytest

from bench import workers
from bench.workers import FIXED, Shape, compare, compute_excess, make_shapes, simulate

SLOWER_MAX = 0.10
SHAPES = make_shapes()


@pytest.mark.slow
@pytest.mark.req("RUN-11")
@pytest.mark.parametrize("name", SHAPES)
def test_an_adaptive_number_is_at_most_a_tenth_slower_than_the_best_fixed_one(name: str) -> None:
    found = compare(simulate, SHAPES[name])
    assert len(found) == len(FIXED) + 1
    assert compute_excess({label: run.seconds for label, run in found.items()}) <= SLOWER_MAX, found


@pytest.mark.req("RUN-11")
@pytest.mark.parametrize("name", ["serves two", "serves two, slow items", "serves two, refuses"])
def test_a_resource_that_serves_two_comes_to_have_few_workers(name: str) -> None:
    sizes = simulate(SHAPES[name], 12, adaptive=True).sizes
    assert max(sizes) < 12
    assert max(sizes[-3:]) <= 3


def test_the_virtual_time_of_a_fixed_number_is_what_it_must_be() -> None:
    assert simulate(Shape((10.0,) * 12), 3).seconds == pytest.approx(0.04)
    assert simulate(Shape((10.0,) * 12, (2,)), 6).seconds == pytest.approx(0.06)


def test_the_command_compares_every_shape(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(workers, "make_shapes", lambda: {"few": Shape((10.0,) * 12)})
    monkeypatch.setattr("sys.argv", ["workers.py", "--json"])
    workers.main()
    assert json.loads(capsys.readouterr().out)["few"].keys() == {"adaptive", *(f"fixed {number}" for number in FIXED)}
    monkeypatch.setattr("sys.argv", ["workers.py"])
    workers.main()
    assert "adaptive" in capsys.readouterr().out
