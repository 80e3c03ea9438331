"""Charts of Office files: the title as a caption, and the data as a table with a row per category.

The values are those that the file keeps beside the chart. A chart without values is a picture with a caption.
"""

from inorder.documents.model import AnyBlock, Picture
from inorder.documents.readers.table_grid import TableBudget, TableGrid
from inorder.documents.readers.whitespace import collapse_whitespace

from .number_formats import classify_format, format_number
from .package import SHORT_NAMES, Attributes, Handler, Package, strip_namespaces

POINTS_MAX = 10_000
"""Values per series."""
SERIES_MAX = 256


class _Series:
    def __init__(self) -> None:
        self.name = ""
        self.categories: dict[int, str] = {}
        self.values: dict[int, str] = {}


class _Chart(Handler):
    """The titles and the series of a chart."""

    def __init__(self) -> None:
        self.series: list[_Series] = []
        self.titles: list[str] = []
        self._path: list[str] = []
        self._parts: list[str] = []
        self._title: list[str] | None = None
        self._index = 0
        self._format = ""

    def start(self, name: str, attributes: Attributes) -> None:
        name = SHORT_NAMES[name]
        self._path.append(name)
        match name:
            case "c:ser":
                self.series.append(_Series())
            case "c:title":
                self._title = []
            case "c:pt":
                index = strip_namespaces(attributes).get("idx", "")
                self._index = int(index) if index.isascii() and index.isdigit() and len(index) < 8 else 0
            case "c:numCache" | "c:strCache":
                self._format = ""
            case "c:v" | "c:formatCode" | "a:t":
                self._parts.clear()

    def end(self, name: str) -> None:
        path, text = self._path, "".join(self._parts)
        match path.pop():
            case "a:t" if self._title is not None:
                self._title.append(text)
            case "a:p" if self._title:
                self._title.append(" ")
            case "c:title":
                self.titles.append(collapse_whitespace("".join(self._title or ())))
                self._title = None
            case "c:formatCode":
                self._format = text
            case "c:v" if self.series and "c:ser" in path:
                self._end_value(text, self.series[-1])
        self._parts.clear()

    def text(self, text: str) -> None:
        if self._path and self._path[-1] in ("c:v", "c:formatCode", "a:t"):
            self._parts.append(text)

    def _end_value(self, raw: str, series: _Series) -> None:
        is_number = "c:numCache" in self._path or "c:numLit" in self._path
        text = format_number(raw, classify_format(self._format)) if is_number else collapse_whitespace(raw)
        if "c:tx" in self._path:
            series.name = series.name or text
        elif self._index < POINTS_MAX:
            if "c:cat" in self._path or "c:xVal" in self._path:
                series.categories[self._index] = text
            elif "c:val" in self._path or "c:yVal" in self._path:
                series.values[self._index] = text


def read_chart(package: Package, part: str, budget: TableBudget) -> list[AnyBlock]:
    """The blocks of a chart."""
    chart = _Chart()
    package.parse(part, chart)
    caption = " \u2013 ".join(filter(None, chart.titles))
    series = [each for each in chart.series[:SERIES_MAX] if each.values]
    if len(chart.series) > SERIES_MAX:
        budget.warnings.append(f"only the first {SERIES_MAX} of {len(chart.series):,} series of a chart were read")
    if not series:
        return [Picture(caption=caption)]
    categories = {index: text for each in reversed(series) for index, text in each.categories.items()}
    grid = TableGrid()
    grid.add_row(["", *(each.name for each in series)], is_header=True)
    for index in sorted({index for each in series for index in each.values} | categories.keys()):
        grid.new_row()
        grid.add(categories.get(index, ""), is_header=bool(categories))
        for each in series:
            grid.add(each.values.get(index, ""))
    return grid.finish(budget, caption)
