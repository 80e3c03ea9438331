"""A chart of measurements over time: one self-contained SVG, with panels above each other on one time axis."""

from collections.abc import Callable, Sequence
from math import floor, log10
from typing import NamedTuple
from xml.sax.saxutils import escape, quoteattr

_WIDTH = 960
_LEFT, _RIGHT = 84, 24
_TOP = 92
_PANEL, _GAP = 104, 46
_BOTTOM = 56
_INK, _FAINT, _GRID, _PAPER = "#24292f", "#6e7781", "#e6e8eb", "#ffffff"
_FONT = "font-family='system-ui, -apple-system, Segoe UI, Helvetica, Arial, sans-serif'"


class Panel(NamedTuple):
    """One curve."""

    title: str
    values: Sequence[float]
    colour: str
    ceiling: float | None = None
    """The top of the axis; None: the maximum of the values."""
    label: Callable[[float], str] = "{:,.0f}".format
    """Formats a value of the axis."""


class Mark(NamedTuple):
    """An event, drawn as a line through every panel."""

    at_s: float
    kind: str
    colour: str


def draw_chart(
    title: str, subtitle: str, times_s: Sequence[float], panels: Sequence[Panel], marks: Sequence[Mark]
) -> str:
    """Draw the chart as SVG text."""
    height = _TOP + len(panels) * (_PANEL + _GAP) - _GAP + _BOTTOM
    end_s = max([*times_s, *(mark.at_s for mark in marks), 1e-3])
    parts = [
        f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {_WIDTH} {height}' width='{_WIDTH}' height='{height}' "
        f"role='img' {_FONT}>",
        f"<title>{escape(title)}</title>",
        f"<rect width='{_WIDTH}' height='{height}' fill='{_PAPER}'/>",
        _draw_text(_LEFT, 28, title, size=17, weight=600),
        _draw_text(_LEFT, 48, subtitle, size=12, colour=_FAINT),
        *_draw_legend(marks),
    ]
    for number, panel in enumerate(panels):
        top = _TOP + number * (_PANEL + _GAP)
        parts += _draw_panel(panel, top, times_s, end_s, marks, has_times=number == len(panels) - 1)
    parts.append(
        _draw_text((_LEFT + _WIDTH - _RIGHT) / 2, height - 14, "seconds", size=12, colour=_FAINT, anchor="middle")
    )
    return "\n".join([*parts, "</svg>", ""])


def _draw_panel(
    panel: Panel, top: float, times_s: Sequence[float], end_s: float, marks: Sequence[Mark], *, has_times: bool
) -> list[str]:
    """Draw one panel: axes, marks, and the curve above them."""
    bottom, right = top + _PANEL, _WIDTH - _RIGHT
    ticks = _choose_ticks(panel.ceiling or max([*panel.values, 1e-9]), 4)
    ceiling = panel.ceiling or ticks[-1]
    parts = [
        f"<g class='panel' aria-label={quoteattr(panel.title)}>",
        _draw_text(_LEFT, top - 9, panel.title, weight=600),
    ]
    for value in ticks:
        y = bottom - _PANEL * value / ceiling
        parts.append(_draw_line(_LEFT, y, right, y, _GRID))
        parts.append(_draw_text(_LEFT - 8, y + 4, panel.label(value), size=11, colour=_FAINT, anchor="end"))
    for value in _choose_ticks(end_s, 10):
        x = _to_x(value, end_s)
        if x <= right:
            parts.append(_draw_line(x, bottom, x, bottom + 4, _FAINT))
            if has_times:
                parts.append(_draw_text(x, bottom + 18, f"{value:g}", size=11, colour=_FAINT, anchor="middle"))
    for mark in marks:
        x = _to_x(mark.at_s, end_s)
        parts.append(_draw_line(x, top, x, bottom, mark.colour, " stroke-dasharray='3 3'"))
    points = [
        (_to_x(at_s, end_s), bottom - _PANEL * min(value, ceiling) / ceiling)
        for at_s, value in zip(times_s, panel.values, strict=True)
    ]
    curve = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    if points:
        area = f"{points[0][0]:.1f},{bottom} {curve} {points[-1][0]:.1f},{bottom}"
        parts.append(f"<polygon points='{area}' fill='{panel.colour}' fill-opacity='0.12'/>")
        parts.append(f"<polyline points='{curve}' fill='none' stroke='{panel.colour}' stroke-width='1.6'/>")
    return [*parts, _draw_line(_LEFT, bottom, right, bottom, _FAINT), "</g>"]


def _draw_legend(marks: Sequence[Mark]) -> list[str]:
    """Draw the legend of the marks, from the right."""
    parts = []
    x = float(_WIDTH - _RIGHT)
    for kind, colour in reversed({mark.kind: mark.colour for mark in marks}.items()):
        parts.append(_draw_text(x, 28, kind, size=12, colour=_FAINT, anchor="end"))
        x -= 7 * len(kind) + 10
        parts.append(_draw_line(x - 20, 24, x, 24, colour, " stroke-dasharray='3 3' stroke-width='2'"))
        x -= 36
    return parts


def _to_x(at_s: float, end_s: float) -> float:
    return _LEFT + (_WIDTH - _RIGHT - _LEFT) * at_s / end_s


def _choose_ticks(top: float, count: int) -> list[float]:
    """Choose round numbers from 0 to the first that is not below `top`, about `count` of them."""
    power = 10.0 ** floor(log10(top / count))
    step = next(power * factor for factor in (1, 2, 2.5, 5, 10, 20) if power * factor * count >= top * 0.999)
    ticks = [0.0]
    while ticks[-1] < top * 0.999:
        ticks.append(len(ticks) * step)
    return ticks


def _draw_line(x1: float, y1: float, x2: float, y2: float, colour: str, more: str = "") -> str:
    return f"<line x1='{x1:.1f}' y1='{y1:.1f}' x2='{x2:.1f}' y2='{y2:.1f}' stroke='{colour}'{more}/>"


def _draw_text(
    x: float, y: float, text: str, *, size: int = 13, colour: str = _INK, weight: int = 400, anchor: str = "start"
) -> str:
    return (
        f"<text x='{x:.1f}' y='{y:.1f}' font-size='{size}' font-weight='{weight}' fill='{colour}' "
        f"text-anchor='{anchor}'>{escape(text)}</text>"
    )
