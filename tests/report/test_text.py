"""Numbers as people read them."""

from types import SimpleNamespace
from typing import Any

import pytest

from inorder.report.page.plot import SvgPlot
from inorder.report.page.sections import make_activity
from inorder.report.page.text import format_axis_time, format_bytes, format_plural, format_rate


@pytest.mark.parametrize(
    ("count", "shown"),
    [
        (0, "0 bytes"),
        (999, "999 bytes"),
        (1000, "1.0 kB"),
        (99_949, "99.9 kB"),
        (100_000, "100 kB"),
        (1_500_000, "1.5 MB"),
        (2.5e15, "2.5 PB"),
        (2.5e18, "2500 PB"),
    ],
)
def test_bytes_have_the_largest_unit_that_leaves_a_whole_number(count: float, shown: str) -> None:
    assert format_bytes(count) == shown


@pytest.mark.parametrize(
    ("value", "shown"), [(0.123, "0.12"), (1, "1.0"), (1.5, "1.5"), (99.94, "99.9"), (100, "100"), (1234.5, "1,234")]
)
def test_a_rate_has_as_many_digits_as_it_is_worth(value: float, shown: str) -> None:
    assert format_rate(value) == shown


@pytest.mark.parametrize(
    ("value_ms", "shown"),
    [(20, "20 ms"), (1000, "1 s"), (119_000, "119 s"), (120_000, "2 min"), (7_200_000, "2 h"), (9_000_000, "2.5 h")],
)
def test_a_moment_has_the_unit_of_the_axis(value_ms: float, shown: str) -> None:
    assert format_axis_time(value_ms) == shown


def test_one_of_a_thing_has_no_plural() -> None:
    assert [format_plural(count, "item") for count in (0, 1, 2000)] == ["0 items", "1 item", "2,000 items"]


def test_a_plot_of_a_run_without_time_and_values_can_be_drawn() -> None:
    plot = SvgPlot(0, 0)
    plot.add_band(0, 0, "window-0", "a < b")
    plot.add_box((0, 0), (0, 0), "span")


@pytest.mark.parametrize(
    ("state", "title"), [("running", "Running now"), ("killed", "What it was running at its last sign of life")]
)
def test_what_a_run_is_running_is_listed_if_there_is_anything(state: str, title: str) -> None:
    run: Any = SimpleNamespace(state=state, running=["a<b>.pdf: 3 s"])
    shown = make_activity(run)
    assert title in shown
    assert "a&lt;b&gt;.pdf: 3 s" in shown
    assert make_activity(SimpleNamespace(state=state, running=[])) == ""  # type: ignore[arg-type]
