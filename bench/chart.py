"""The chart of the comparison on the page about performance, from the figures recorded in `results.json`: `make docs`.

The figures are copied there from the output of the commands named beside them; nothing here measures anything.
"""

import json
import re
from pathlib import Path
from typing import Any

from tools.svg import Drawing, Theme

RESULTS = Path(__file__).with_name("results.json")

WIDTH = 868
LEFT, CELL_WIDTH, CELL_HEIGHT, GAP = 262, 96, 34, 3
TABLE_TOP = 88
BAR_HEIGHT, BAR_STEP = 18, 26
TILE_STEP, TILE_HEIGHT = 166, 58
_UNITS = {"milliseconds": "ms", "seconds": "s"}


def draw(theme: Theme) -> str:
    results = json.loads(RESULTS.read_text(encoding="utf-8"))
    rows = len(results["gauntlet"]["rows"])
    bars_top = TABLE_TOP + rows * (CELL_HEIGHT + GAP) + 92
    tiles_top = bars_top + 6 * BAR_STEP + 62
    drawing = Drawing(WIDTH, tiles_top + TILE_HEIGHT + 24, "inorder beside other tools", theme)
    _gauntlet(drawing, results["gauntlet"])
    _legend(drawing, TABLE_TOP + rows * (CELL_HEIGHT + GAP) + 20)
    _memory(drawing, 24, bars_top, results["straggler"])
    _pages(drawing, 452, bars_top, results["documents"])
    _pipeline(drawing, 24, tiles_top, results["pipeline"])
    return drawing.render()


def _gauntlet(drawing: Drawing, recorded: dict[str, Any]) -> None:
    colours = drawing.colours
    drawing.text(24, 34, "One item of 200 misbehaves: how many results arrive?", bold=True, size=15)
    for column, tool in enumerate(recorded["columns"]):
        middle = LEFT + column * (CELL_WIDTH + GAP) + CELL_WIDTH / 2
        first, second = ("ProcessPool", "Executor") if tool == "ProcessPoolExecutor" else ("", tool)
        drawing.text(middle, TABLE_TOP - 24, first, size=12.5, anchor="middle")
        drawing.text(middle, TABLE_TOP - 9, second, size=12.5, anchor="middle", bold=tool == "inorder")
    for row, (situation, cells) in enumerate(recorded["rows"].items()):
        top = TABLE_TOP + row * (CELL_HEIGHT + GAP)
        name, _, detail = situation.partition(" (")
        if detail:
            drawing.text(24, top + 15, f"It {name}", size=12.5)
            drawing.text(24, top + 29, detail.rstrip(")"), size=10.5, fill=colours.muted)
        else:
            drawing.text(24, top + 21, f"It {name}", size=12.5)
        for column, cell in enumerate(cells):
            _cell(drawing, LEFT + column * (CELL_WIDTH + GAP), top, cell)


def _cell(drawing: Drawing, left: float, top: float, recorded: str) -> None:
    colours = drawing.colours
    kinds = {
        "complete": (colours.quiet, colours.on_quiet),
        "flawed": (colours.warning, colours.on_warning),
        "lost": (colours.bad, colours.on_bad),
    }
    fill, ink = kinds[verdict(recorded)]
    count, note = _short(recorded)
    middle = left + CELL_WIDTH / 2
    drawing.box(left, top, CELL_WIDTH, CELL_HEIGHT, fill=fill)
    drawing.text(middle, top + 15, count, fill=ink, size=13, anchor="middle", bold=True)
    drawing.text(middle, top + 28, note, fill=ink, size=10.5, anchor="middle")


def verdict(recorded: str) -> str:
    """Every result and a named error; the same with a flaw; or results were lost."""
    if recorded in ("199 + named", "199 + named, child gone", "200"):
        return "complete"
    return "flawed" if recorded.startswith(("199", "200")) else "lost"


def _short(recorded: str) -> tuple[str, str]:
    count = re.match(r"\d+( to \d+)?", recorded)
    assert count is not None
    note = recorded[count.end() :].removeprefix(" + named").lstrip(", ")
    words = {"": "all results", "broken": "pool breaks", "the rest errors": "the rest fail"}
    if recorded.startswith("199") and not note:
        note = "error names it"
    if note != "then hangs":
        note = note.removeprefix("then ")
    return count[0].replace(" to ", "-"), words.get(note, note)


def _legend(drawing: Drawing, y: float) -> None:
    colours = drawing.colours
    entries = (
        (colours.quiet, "every other result, and the item is named"),
        (colours.warning, "every result, with a defect"),
        (colours.bad, "results are lost"),
    )
    left = 24.0
    for fill, meaning in entries:
        drawing.box(left, y - 11, 14, 14, fill=fill)
        drawing.text(left + 21, y, meaning, size=12, fill=colours.muted)
        left += 21 + 7.6 * len(meaning) + 16


def _memory(drawing: Drawing, left: float, top: float, recorded: dict[str, Any]) -> None:
    _panel_title(
        drawing, left, top, "Memory growth behind one slow item", "MB; the budget of inorder is 64 MB; lower is better"
    )
    values = recorded["values"] | recorded["at_least"]
    most = max(values.values())
    for place, (tool, value) in enumerate(values.items()):
        is_bound = tool in recorded["at_least"]
        shown = f"over {value}" if is_bound else str(value)
        _bar(drawing, left, top + place * BAR_STEP, tool, value / most, shown, is_open=is_bound)


def _pages(drawing: Drawing, left: float, top: float, recorded: dict[str, Any]) -> None:
    _panel_title(drawing, left, top, "PDF pages read per second of CPU time", "one process; higher is better")
    pages = dict(zip(recorded["columns"], recorded["rows"]["PDF, pages"], strict=True))
    most = max(pages.values())
    for place, (tool, value) in enumerate(pages.items()):
        _bar(drawing, left, top + place * BAR_STEP, tool, value / most, str(value))


def _pipeline(drawing: Drawing, left: float, top: float, recorded: dict[str, Any]) -> None:
    _panel_title(drawing, left, top, recorded["title"], "from files to a searchable index; lower is better")
    for place, (name, [value]) in enumerate(recorded["rows"].items()):
        label, _, unit = name.partition(", in ")
        x = left + place * TILE_STEP
        drawing.box(x, top, TILE_STEP - 10, TILE_HEIGHT, fill=drawing.colours.quiet)
        shown = f"{value:,} {_UNITS.get(unit, unit)}".strip()
        drawing.text(x + 10, top + 27, shown, fill=drawing.colours.on_quiet, size=18, bold=True)
        drawing.text(x + 10, top + 46, label, fill=drawing.colours.on_quiet, size=11)


def _panel_title(drawing: Drawing, left: float, top: float, title: str, note: str) -> None:
    drawing.text(left, top - 30, title, bold=True, size=14)
    drawing.text(left, top - 13, note, size=11.5, fill=drawing.colours.muted)


def _bar(
    drawing: Drawing, left: float, top: float, tool: str, share: float, shown: str, *, is_open: bool = False
) -> None:
    colours = drawing.colours
    is_ours = tool == "inorder"
    start, length = left + 140, max(share * 178, 2)
    drawing.text(start - 8, top + 14, tool, size=12.5, anchor="end", bold=is_ours)
    fill = colours.accent if is_ours else colours.border
    drawing.box(start, top, length, BAR_HEIGHT, fill=fill, radius=2)
    if is_open:
        tip = start + length
        drawing.polygon([(tip, top), (tip + 9, top + BAR_HEIGHT / 2), (tip, top + BAR_HEIGHT)], fill=fill)
    drawing.text(start + length + (15 if is_open else 7), top + 14, shown, size=12.5, bold=is_ours)


if __name__ == "__main__":
    print(draw("light"), end="")
