"""Reads Excel workbooks (XLSX): every visible sheet is a section, with a table for each block of rows.

Cells have the values that Excel stored: formulas are not computed. Numbers with a date format become ISO dates, and
those with a percent format percentages.
"""

import re
from collections.abc import Sequence

from inorder.documents.model import AnyBlock, Document, Heading, Paragraph
from inorder.documents.readers.document import make_document
from inorder.documents.readers.table_grid import COLUMNS_MAX, TableBudget
from inorder.documents.readers.whitespace import collapse_whitespace
from inorder.errors import ReadError

from .cell_budget import CELLS_MAX, CHARACTERS_MAX, CellBudget
from .charts import read_chart
from .number_formats import NumberFormats, format_number
from .package import SHORT_NAMES, Attributes, EnoughError, Handler, Package, Relation, find_target, get_relation_id
from .sheet_tables import CellLinks, Row, Spans, make_sheet_blocks

MIMETYPE = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
SHEETS_MAX = 1_000
CHARTS_MAX = 1_000
"""Charts per sheet."""
MERGES_MAX = 100_000
_ROWS_MAX = 1 << 20
_HIDDEN_NAMED_MAX = 5
_TITLE_CHARACTERS_MAX = 31
"""As many as Excel allows for the name of a sheet."""

_LINK_FORMULA = re.compile(r'\s*HYPERLINK\(\s*"([^"]+)"', re.I)
_FORMULA_CHARACTERS_MAX = 2_000
_LINKED_CELLS_MAX = 1_000
"""How many cells of a range get its link."""


def read(data: bytes, name: str, passwords: Sequence[str] = ()) -> Document:
    """Read an XLSX file. The passwords are tried if it is encrypted."""
    package = Package(data, "XLSX", "an Excel file", passwords)
    main = find_target(package.read_relations(""), "officeDocument") or "xl/workbook.xml"
    workbook = _Workbook()
    package.parse(main, workbook)
    if not workbook.is_workbook:
        raise ReadError("not a workbook: the archive has no list of sheets")
    relations, budget = package.read_relations(main), TableBudget()
    strings = _SharedStrings()
    package.parse(find_target(relations, "sharedStrings") or "xl/sharedStrings.xml", strings)
    formats = NumberFormats()
    package.parse(find_target(relations, "styles") or "xl/styles.xml", formats)
    blocks: list[AnyBlock] = []
    cells = CellBudget()
    if strings.is_cut:
        budget.warnings.append("the texts of the cells were read only in part: there are too many")
    for title, relation_id in workbook.sheets[:SHEETS_MAX]:
        if relation_id not in relations:
            continue
        part = relations[relation_id].target
        sheet_relations = package.read_relations(part)
        targets = {name: relation.target for name, relation in sheet_relations.items()}
        sheet = _Sheet(strings.texts, formats, targets, cells, is_1904=workbook.is_1904)
        package.parse(part, sheet)
        if warning := cells.take_warning():
            budget.warnings.append(f"the sheet {title!r} {warning}")
        if sheet.has_outside:
            budget.warnings.append(f"the sheet {title!r} has cells outside of the rows and columns that Excel has")
        if sheet.has_more_merges:
            budget.warnings.append(f"the sheet {title!r} has more than {MERGES_MAX:,} merged cells")
        found = make_sheet_blocks(sheet.rows, sheet.spans, budget, sheet.list_links())
        found += _read_charts(package, sheet_relations, budget)
        found += _read_comments(package, sheet_relations, cells)
        if found:
            blocks += [Heading(text=title, level=1), *found] if title else found
    if len(workbook.sheets) > SHEETS_MAX:
        budget.warnings.append(f"only the first {SHEETS_MAX:,} of {len(workbook.sheets):,} sheets were read")
    if workbook.hidden:
        budget.warnings.append(f"hidden sheets were left out: {_list_hidden(workbook.hidden)}")
    return make_document("xlsx", name, MIMETYPE, blocks, budget.warnings)


def _list_hidden(titles: Sequence[str]) -> str:
    """How many sheets are hidden, and the names of the first ones."""
    named = ", ".join(repr(title[:_TITLE_CHARACTERS_MAX]) for title in titles[:_HIDDEN_NAMED_MAX])
    return f"{len(titles)} ({named}{', ...' if len(titles) > _HIDDEN_NAMED_MAX else ''})"


def _read_charts(package: Package, relations: dict[str, Relation], budget: TableBudget) -> list[AnyBlock]:
    """The charts of a sheet, in the order of its drawing."""
    found: list[AnyBlock] = []
    for drawing in [relation.target for relation in relations.values() if relation.kind == "drawing"]:
        charts = [each.target for each in package.read_relations(drawing).values() if each.kind == "chart"]
        for chart in charts[:CHARTS_MAX]:
            found += read_chart(package, chart, budget)
    return found


def _read_comments(package: Package, relations: dict[str, Relation], cells: CellBudget) -> list[AnyBlock]:
    """The comments of a sheet, each with its cell. A thread of comments is also kept as a comment of the old kind."""
    comments = _Comments(cells)
    target = find_target(relations, "comments")
    if target:
        package.parse(target, comments)
    return comments.blocks


class _Workbook(Handler):
    """The sheets of a workbook."""

    def __init__(self) -> None:
        self.sheets: list[tuple[str, str]] = []
        """Title, and id of the relationship."""
        self.hidden: list[str] = []
        """Titles of sheets that are not shown."""
        self.is_1904 = False
        self.is_workbook = False

    def start(self, name: str, attributes: Attributes) -> None:
        match SHORT_NAMES[name]:
            case "x:workbook":
                self.is_workbook = True
            case "x:workbookPr":
                self.is_1904 = attributes.get("date1904") in ("1", "true")
            case "x:sheet":
                title = collapse_whitespace(attributes.get("name", ""))
                if attributes.get("state", "visible") == "visible":
                    self.sheets.append((title, get_relation_id(attributes)))
                else:
                    self.hidden.append(title)


class _Comments(Handler):
    """The comments of a sheet."""

    def __init__(self, cells: CellBudget) -> None:
        self.blocks: list[AnyBlock] = []
        self._cells = cells
        self._place = ""
        self._parts: list[str] = []
        self._is_text = False

    def start(self, name: str, attributes: Attributes) -> None:
        match SHORT_NAMES[name]:
            case "x:comment":
                self._place, self._parts = attributes.get("ref", ""), []
            case "x:t":
                self._is_text = True

    def end(self, name: str) -> None:
        match SHORT_NAMES[name]:
            case "x:t":
                self._is_text = False
            case "x:comment":
                text = collapse_whitespace("".join(self._parts))
                if not self._cells.take(len(text)):
                    raise EnoughError
                if text:
                    self.blocks.append(Paragraph(text=f"{self._place}: {text}", source="note"))

    def text(self, text: str) -> None:
        if self._is_text:
            self._parts.append(text)


class _SharedStrings(Handler):
    """The texts that cells refer to by number."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.is_cut = False
        self._characters_left = CHARACTERS_MAX
        self._parts: list[str] = []
        self._is_text = False
        self._phonetic_depth = 0

    def start(self, name: str, attributes: Attributes) -> None:
        name = SHORT_NAMES[name]
        if self._phonetic_depth or name == "x:rPh":
            self._phonetic_depth += 1
        else:
            self._is_text = name == "x:t"

    def end(self, name: str) -> None:
        self._is_text = False
        if self._phonetic_depth:
            self._phonetic_depth -= 1
        elif SHORT_NAMES[name] == "x:si":
            text = collapse_whitespace("".join(self._parts))
            self._parts.clear()
            self._characters_left -= len(text)
            if self._characters_left < 0 or len(self.texts) >= CELLS_MAX:
                self.is_cut = True
                raise EnoughError
            self.texts.append(text)

    def text(self, text: str) -> None:
        if self._is_text:
            self._parts.append(text)


class _Sheet(Handler):
    """The cells of a sheet that have a value."""

    def __init__(
        self,
        strings: list[str],
        formats: NumberFormats,
        targets: dict[str, str],
        cells: CellBudget,
        *,
        is_1904: bool,
    ) -> None:
        self.rows: dict[int, Row] = {}
        self.spans: Spans = {}
        self.has_outside = False
        self.has_more_merges = False
        self._strings = strings
        self._formats = formats
        self._cells = cells
        self._targets = targets
        """The targets of links, by the id of their relationship."""
        self._links: dict[tuple[int, int], str] = {}
        self._formula: list[str] | None = None
        self._is_1904 = is_1904
        self._row = self._column = -1
        self._kind = self._style = ""
        self._parts: list[str] = []
        self._is_value = False

    def start(self, name: str, attributes: Attributes) -> None:
        match SHORT_NAMES[name]:
            case "x:c":
                self._cells.see()
                row, column = parse_reference(attributes.get("r", ""))
                self._column = column if column >= 0 else self._column + 1
                self._row = row if row >= 0 else self._row
                self._kind, self._style = attributes.get("t", "n"), attributes.get("s", "")
                self._parts.clear()
            case "x:row":
                number = attributes.get("r", "")
                self._row = (
                    int(number) - 1 if number.isascii() and number.isdigit() and len(number) < 9 else self._row + 1
                )
                self._column = -1
            case "x:v" | "x:t":
                self._is_value = True
            case "x:f":
                self._formula = []
            case "x:hyperlink":
                self._add_link(attributes)
            case "x:mergeCell":
                self._add_merge(attributes.get("ref", ""))

    def end(self, name: str) -> None:
        match SHORT_NAMES[name]:
            case "x:v" | "x:t":
                self._is_value = False
            case "x:f":
                self._end_formula()
            case "x:c":
                self._end_cell()

    def text(self, text: str) -> None:
        if self._is_value:
            self._parts.append(text)
        elif self._formula is not None:
            self._formula.append(text)

    def list_links(self) -> CellLinks:
        """The links of cells that have a value."""
        return {
            (row, column): [(self.rows[row][column][0], target)]
            for (row, column), target in self._links.items()
            if column in self.rows.get(row, ())
        }

    def _add_link(self, attributes: Attributes) -> None:
        """Add a link of a cell, or of each cell of a range."""
        target = self._targets.get(get_relation_id(attributes), "")
        first, _, last = attributes.get("ref", "").partition(":")
        (row, column), (row_end, column_end) = parse_reference(first), parse_reference(last or first)
        if not target or row < 0 or column < 0 or len(self._links) > CELLS_MAX:
            return
        for number in range(row, min(row_end + 1, row + _LINKED_CELLS_MAX)):
            for place in range(column, min(column_end + 1, column + _LINKED_CELLS_MAX)):
                if place in self.rows.get(number, ()):
                    self._links[number, place] = target

    def _end_formula(self) -> None:
        formula = "".join(self._formula or ())[:_FORMULA_CHARACTERS_MAX]
        self._formula = None
        if found := _LINK_FORMULA.match(formula):
            self._links[self._row, self._column] = found.group(1)

    def _end_cell(self) -> None:
        raw = "".join(self._parts)
        if not raw:
            return
        if not 0 <= self._row < _ROWS_MAX or not 0 <= self._column < COLUMNS_MAX:
            self.has_outside = True
            return
        text, is_number = self._format(raw)
        if not text:
            return
        if not self._cells.take(len(text)):
            raise EnoughError
        self.rows.setdefault(self._row, {})[self._column] = (text, is_number)

    def _format(self, raw: str) -> tuple[str, bool]:
        match self._kind:
            case "s":
                number = int(raw) if raw.isascii() and raw.isdigit() and len(raw) < 10 else -1
                return (self._strings[number] if 0 <= number < len(self._strings) else ""), False
            case "b":
                return ("TRUE" if raw.strip() == "1" else "FALSE"), False
            case "n":
                return format_number(raw, self._formats.kind_of(self._style), is_1904=self._is_1904), True
            case _:
                return collapse_whitespace(raw), False

    def _add_merge(self, reference: str) -> None:
        first, _, last = reference.partition(":")
        (row, column), (row_end, column_end) = parse_reference(first), parse_reference(last)
        if min(row, column) < 0 or row_end < row or column_end < column:
            return
        self.has_more_merges = len(self.spans) >= MERGES_MAX
        if not self.has_more_merges:
            self.spans[row, column] = row_end - row + 1, column_end - column + 1


def parse_reference(reference: str) -> tuple[int, int]:
    """Row and column of a cell such as `BC23`, from 0; -1 for what is missing or not valid."""
    digits = reference.lstrip("ABCDEFGHIJKLMNOPQRSTUVWXYZ")
    letters = reference[: len(reference) - len(digits)]
    column = 0
    for letter in letters[:4]:
        column = column * 26 + ord(letter) - ord("A") + 1
    row = int(digits) - 1 if digits.isascii() and digits.isdigit() and len(digits) < 9 else -1
    return row, column - 1
