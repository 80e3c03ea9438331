"""A few shapes of SVG, and the colours of the two themes."""

from html import escape
from typing import Literal, NamedTuple

Theme = Literal["light", "dark"]
FONT = "-apple-system, 'Segoe UI', Roboto, Helvetica, Arial, sans-serif"


class Palette(NamedTuple):
    """The colours of one theme."""

    background: str
    border: str
    text: str
    muted: str
    grid: str
    accent: str
    on_accent: str
    quiet: str
    on_quiet: str
    warning: str
    on_warning: str
    bad: str
    on_bad: str


PALETTES: dict[Theme, Palette] = {
    "light": Palette(
        background="#ffffff",
        border="#d1d9e0",
        text="#1f2328",
        muted="#59636e",
        grid="#e6eaef",
        accent="#0a7d73",
        on_accent="#ffffff",
        quiet="#d5ebe8",
        on_quiet="#0b4f49",
        warning="#f5d98b",
        on_warning="#4d3800",
        bad="#f2b8ad",
        on_bad="#6b1a0c",
    ),
    "dark": Palette(
        background="#0d1117",
        border="#3d444d",
        text="#f0f6fc",
        muted="#9198a1",
        grid="#21262d",
        accent="#2aa198",
        on_accent="#04211e",
        quiet="#123d3a",
        on_quiet="#a8e0d9",
        warning="#5f4a10",
        on_warning="#f7dd8f",
        bad="#6e2a1e",
        on_bad="#ffc9be",
    ),
}


class Drawing:
    """An SVG under construction: shapes are added from back to front."""

    def __init__(self, width: int, height: int, title: str, theme: Theme) -> None:
        self.colours = PALETTES[theme]
        self._title = title
        self._size = (width, height)
        self._shapes: list[str] = []
        self.box(0.5, 0.5, width - 1, height - 1, fill=self.colours.background, stroke=self.colours.border, radius=8)

    def box(
        self, x: float, y: float, width: float, height: float, *, fill: str, stroke: str = "none", radius: float = 3
    ) -> None:
        place = f'x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}"'
        self._shapes.append(f'<rect {place} rx="{radius:g}" fill="{fill}" stroke="{stroke}"/>')

    def line(
        self, x1: float, y1: float, x2: float, y2: float, *, stroke: str, width: float = 1, dashes: str = ""
    ) -> None:
        dashed = f' stroke-dasharray="{dashes}"' if dashes else ""
        place = f'x1="{x1:g}" y1="{y1:g}" x2="{x2:g}" y2="{y2:g}"'
        self._shapes.append(f'<line {place} stroke="{stroke}" stroke-width="{width:g}"{dashed}/>')

    def polygon(self, points: list[tuple[float, float]], *, fill: str) -> None:
        listed = " ".join(f"{x:g},{y:g}" for x, y in points)
        self._shapes.append(f'<polygon points="{listed}" fill="{fill}"/>')

    def text(
        self,
        x: float,
        y: float,
        text: str,
        *,
        fill: str | None = None,
        size: float = 13,
        anchor: Literal["start", "middle", "end"] = "start",
        bold: bool = False,
    ) -> None:
        weight = ' font-weight="600"' if bold else ""
        place = f'x="{x:g}" y="{y:g}" font-size="{size:g}" text-anchor="{anchor}"'
        self._shapes.append(f'<text {place}{weight} fill="{fill or self.colours.text}">{escape(text)}</text>')

    def render(self) -> str:
        width, height = self._size
        head = (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
            f' font-family="{FONT}" role="img">'
        )
        return "\n".join([head, f"<title>{escape(self._title)}</title>", *self._shapes, "</svg>"]) + "\n"
