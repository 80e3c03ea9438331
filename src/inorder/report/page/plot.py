"""Plots as SVG that keep their text at its size, whatever the width of the page.

The shapes are in a nested drawing of 1000 units that is stretched to the width; labels and marks are placed by
percentages in the outer one. No `style` attributes: the policy of the page forbids them.
"""

import math
from collections.abc import Callable, Iterable, Sequence

from .text import escape_text, format_axis_time

_UNITS = 1000
_AXIS_HEIGHT = 20
_TIME_STEPS_S = (
    *(0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200, 14400),
    *(28800, 43200, 86400, 172800, 604800),
)


class SvgPlot:
    """A plot over one axis to the right and one upwards, both from 0."""

    def __init__(self, x_max: float, y_max: float, height: int = 200) -> None:
        self._x_max = x_max if x_max > 0 else 1.0
        self._y_max = y_max if y_max > 0 else 1.0
        self._height = height
        self._below: list[str] = []
        self._shapes: list[str] = []
        self._above: list[str] = []

    def add_band(self, start: float, end: float, css: str, title: str) -> None:
        """Add a band over the whole height."""
        left, width = self._x(start), max(1.0, self._x(end) - self._x(start))
        self._below.append(
            f'<rect class="{css}" x="{left:.1f}" y="0" width="{width:.1f}" height="{self._height}">'
            f"<title>{escape_text(title)}</title></rect>"
        )

    def add_box(self, x: tuple[float, float], y: tuple[float, float], css: str, title: str = "") -> None:
        """Add a rectangle."""
        left, right, low, high = self._x(x[0]), self._x(x[1]), self._y(y[0]), self._y(y[1])
        inside = f"<title>{escape_text(title)}</title>" if title else ""
        self._shapes.append(
            f'<rect class="{css}" x="{left:.1f}" y="{high:.1f}" width="{max(0.5, right - left):.1f}" '
            f'height="{max(0.5, low - high):.1f}">{inside}</rect>'
        )

    def add_line(self, points: Iterable[tuple[float, float]], css: str) -> None:
        """Add a line through points."""
        self._shapes.append(f'<polyline class="line {css}" points="{self._join(points)}"/>')

    def add_area(self, upper: Sequence[tuple[float, float]], lower: Sequence[tuple[float, float]], css: str) -> None:
        """Fill the area between two lines."""
        if upper:
            self._shapes.append(f'<polygon class="{css}" points="{self._join([*upper, *reversed(lower)])}"/>')

    def add_level(self, value: float, css: str, label: str) -> None:
        """Add a horizontal line with a label."""
        y = self._y(value)
        self._above.append(f'<line class="{css}" x1="0" x2="100%" y1="{y:.1f}" y2="{y:.1f}"/>')
        self._above.append(f'<text class="level" x="100%" dx="-4" y="{y - 4:.1f}" text-anchor="end">{label}</text>')

    def add_mark(self, x: float, css: str, shape: str, title: str) -> None:
        """Add a mark at the top of the plot."""
        place = f"{100 * min(1.0, x / self._x_max):.2f}%"
        self._above.append(
            f'<svg class="mark {css}" x="{place}" y="0" overflow="visible"><title>{escape_text(title)}</title>'
            f'<path d="M0 10V{self._height}"/><path class="sign" d="{shape}"/></svg>'
        )

    def render(
        self, name: str, label: str, format_y: Callable[[float], str] | None = None, *, time: bool = True
    ) -> str:
        """Return the drawing. `name`: what the script finds it by; `label`: for screen readers."""
        axis_height = _AXIS_HEIGHT if time else 0
        grid = "".join(self._make_grid(format_y)) if format_y is not None else ""
        axis = "".join(self._make_axis()) if time else ""
        return (
            f'<svg class="plot" role="img" tabindex="0" data-plot="{escape_text(name)}" '
            f'data-x-max="{self._x_max:g}" aria-label="{escape_text(label)}" width="100%" '
            f'height="{self._height + axis_height}">'
            f'<svg viewBox="0 0 {_UNITS} {self._height}" preserveAspectRatio="none" width="100%" '
            f'height="{self._height}">{"".join(self._below)}{"".join(self._shapes)}</svg>'
            f"{grid}{axis}{''.join(self._above)}"
            f'<line class="cursor" x1="0" x2="0" y1="0" y2="{self._height}"/></svg>'
        )

    def _make_grid(self, format_y: Callable[[float], str]) -> Iterable[str]:
        for value in list_ticks(self._y_max, 4):
            y = self._y(value)
            yield f'<line class="grid" x1="0" x2="100%" y1="{y:.1f}" y2="{y:.1f}"/>'
            yield f'<text class="tick" x="0" dx="2" y="{y - 3:.1f}">{escape_text(format_y(value))}</text>'
        yield f'<line class="axis" x1="0" x2="100%" y1="{self._height}" y2="{self._height}"/>'

    def _make_axis(self) -> Iterable[str]:
        y = self._height + 14
        step = next((s * 1000 for s in _TIME_STEPS_S if self._x_max / (s * 1000) <= 6), self._x_max)
        for number in range(int(self._x_max / step) + 1):
            share = number * step / self._x_max
            anchor = "start" if share < 0.04 else "end" if share > 0.96 else "middle"
            label = escape_text(format_axis_time(number * step))
            yield f'<text class="tick" x="{100 * share:.2f}%" y="{y}" text-anchor="{anchor}">{label}</text>'

    def _x(self, value: float) -> float:
        return _UNITS * min(1.0, max(0.0, value / self._x_max))

    def _y(self, value: float) -> float:
        return self._height * (1 - min(1.0, max(0.0, value / self._y_max)))

    def _join(self, points: Iterable[tuple[float, float]]) -> str:
        return " ".join(f"{self._x(x):.1f},{self._y(y):.1f}" for x, y in points)


def list_ticks(y_max: float, count: int) -> list[float]:
    """Round values up to a maximum, without 0."""
    if y_max <= 0:
        return []
    rough = y_max / count
    power = 10 ** math.floor(math.log10(rough))
    step = next(power * factor for factor in (1, 2, 2.5, 5, 10) if power * factor >= rough)
    found = [step * number for number in range(1, int(y_max / step) + 1)]
    return [value for value in found if value < 0.97 * y_max] or found
