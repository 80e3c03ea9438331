"""Adaptive windows beside every fixed size, in the virtual time of the simulator."""

import json
from typing import Any

import pytest

from bench import windows
from bench.windows import Shape, compare, compute_excess, make_shapes, simulate

SHAPES = make_shapes()
SLOWER_MAX = 0.10


def measure(shape: Shape, entries: int, *, adaptive: bool = False) -> float:
    return simulate(shape, entries, adaptive=adaptive).duration_ms / 1000


@pytest.mark.slow
@pytest.mark.req("WIN-6")
@pytest.mark.parametrize("name", SHAPES)
def test_adaptive_windows_are_at_most_a_tenth_slower_than_the_best_fixed_size(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(windows, "FIXED", (256, 1024, 4096))  # the smaller ones are never the best
    excess = compute_excess(compare(measure, SHAPES[name]))
    assert len(excess) == 2
    assert max(excess.values()) <= SLOWER_MAX, excess


@pytest.mark.req("WIN-6")
def test_windows_that_are_too_small_for_stragglers_grow() -> None:
    shape = Shape(durations_ms=(*[10] * 20, 500, *[10] * 600, 500, *[10] * 600))
    grown, fixed = simulate(shape, 16, adaptive=True), simulate(shape, 16)
    assert set(fixed.targets) == {16}
    assert max(grown.targets) > 100
    assert grown.duration_ms < fixed.duration_ms


@pytest.mark.req("WIN-6", "DEC-6")
def test_the_same_run_has_the_same_windows() -> None:
    shape = make_shapes(400)["stragglers"]
    assert simulate(shape, 16, adaptive=True) == simulate(shape, 16, adaptive=True)


@pytest.mark.parametrize("form", ["--json", None])
def test_the_command_compares_every_shape(
    form: str | None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    tiny = {"even": Shape(durations_ms=(1,) * 20)}
    monkeypatch.setattr(windows, "make_shapes", lambda items=0: tiny)
    monkeypatch.setattr("sys.argv", ["windows.py", *([form] if form else [])])
    windows.main()
    printed = capsys.readouterr().out
    if form is None:
        assert "adaptive from 16" in printed
        assert "even" in printed
        return
    figures: dict[str, Any] = json.loads(printed)
    assert set(figures["even"]) >= {"fixed 16", "adaptive from 1024"}
