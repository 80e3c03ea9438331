"""Handles the XML of the content of an OpenDocument file."""

from collections.abc import Callable
from typing import ClassVar

from inorder.documents.model import AnyBlock, Code, Heading, ListItem, Paragraph, Picture, Title
from inorder.documents.readers.table_grid import TableBudget
from inorder.documents.readers.whitespace import collapse_whitespace

from .cell_budget import CellBudget
from .odf_styles import OdfStyles
from .odf_tables import OdfTable
from .package import SHORT_NAMES, Attributes, Handler, LinkedText, strip_namespaces

DEPTH_MAX = 50
SPACES_MAX = 1_000
_KINDS = {f"office:{kind}": kind for kind in ("text", "spreadsheet", "presentation")}
_SIGNS = {"text:tab": "\t", "text:line-break": "\n"}
_SKIPPED = frozenset(
    (
        "text:tracked-changes",
        "office:annotation",
        "text:table-of-content",
        "text:alphabetical-index",
        "text:note-citation",
        "office:forms",
        "table:calculation-settings",
        "table:shapes",
    )
)

_TABLE_START: dict[str, Callable[[OdfTable, Attributes], None]] = {
    "table:table-header-rows": OdfTable.begin_head,
    "table:table-row": OdfTable.begin_row,
    "table:table-cell": OdfTable.begin_cell,
    "table:covered-table-cell": OdfTable.begin_cell,
}
_TABLE_END: dict[str, Callable[[OdfTable], None]] = {
    "table:table-header-rows": OdfTable.end_head,
    "table:table-row": OdfTable.end_row,
    "table:table-cell": OdfTable.end_cell,
    "table:covered-table-cell": OdfTable.end_cell,
}
"""The parts of a table. Those of a table in a cell of another one are not told apart."""


class OdfBody(Handler):
    """The blocks of a text, a spreadsheet or a presentation."""

    def __init__(self, styles: OdfStyles, budget: TableBudget) -> None:
        self.kind = ""
        """`text`, `spreadsheet` or `presentation`; empty: the part has none of them."""
        self.blocks: list[AnyBlock] = []
        self.notes: list[AnyBlock] = []
        self._styles = styles
        self._budget = budget
        self._cells = CellBudget()
        self._skip_depth = 0
        self._paragraphs = [_OpenOdfParagraph("")]
        """The open ones, innermost last. The first takes what is outside of all paragraphs, and is not read."""
        self._lists: list[_OpenOdfList] = []
        self._table: OdfTable | None = None
        self._note_depth = 0
        self._frame_class = ""
        self._description: list[str] | None = None
        self._has_image = False
        self._sheet_name = ""
        self._code_lines: list[tuple[Code, list[str]]] = []

    def start(self, name: str, attributes: Attributes) -> None:
        short = SHORT_NAMES[name]
        if self._skip_depth or short in _SKIPPED:
            self._skip_depth += 1
        elif not self.kind and short.startswith(("style:", "text:list-")):
            self._styles.start(name, attributes)  # automatic styles precede the content in the same part
        elif short in _SIGNS:
            self._paragraphs[-1].parts.append(_SIGNS[short])
        elif short in _KINDS:
            self.kind = self.kind or _KINDS[short]
        elif begin := self._START.get(short):
            begin(self, strip_namespaces(attributes))
        elif self._table is not None and self._table.depth == 1 and (begin_part := _TABLE_START.get(short)):
            begin_part(self._table, strip_namespaces(attributes))

    def end(self, name: str) -> None:
        short = SHORT_NAMES[name]
        if self._skip_depth:
            self._skip_depth -= 1
        elif end := self._END.get(short):
            end(self)
        elif self._table is not None and self._table.depth == 1 and (end_part := _TABLE_END.get(short)):
            end_part(self._table)

    def text(self, text: str) -> None:
        if self._skip_depth:
            return
        if self._description is not None:
            self._description.append(text)
        elif len(self._paragraphs) > 1:
            self._paragraphs[-1].parts.append(text)

    def finish(self) -> list[AnyBlock]:
        """All blocks, after the end of the part. A table without an end was cut."""
        if self._table is not None:
            self._table.depth = 1
            self._end_table()
        for code, lines in self._code_lines:
            code.text = "\n".join(lines).rstrip()
        return [*self.blocks, *self.notes]

    # Paragraphs and headings.

    def _begin_paragraph(self, attributes: Attributes) -> None:
        self._paragraphs.append(_OpenOdfParagraph(attributes.get("style-name", "")))

    def _begin_heading(self, attributes: Attributes) -> None:
        level = attributes.get("outline-level", "")
        self._begin_paragraph(attributes)
        self._paragraphs[-1].level = int(level) if level.isascii() and level.isdigit() and len(level) < 3 else 1

    def _end_paragraph(self) -> None:
        paragraph = self._paragraphs.pop()
        raw = "".join(paragraph.parts)
        text = collapse_whitespace(raw)
        if self._note_depth:
            if text:
                self.notes.append(Paragraph(text=text, links=paragraph.links))
        elif self._table is not None:
            self._table.add_text(text, paragraph.links)
        elif self._styles.role_of(paragraph.style) == "code" and not paragraph.level:
            self._add_code(raw)
        elif text:
            self._add_text(text, paragraph)

    def _add_text(self, text: str, paragraph: "_OpenOdfParagraph") -> None:
        role = self._styles.role_of(paragraph.style)
        if self._frame_class == "title":
            self.blocks.append(Heading(text=text, level=1))
        elif paragraph.level:
            self.blocks.append(Heading(text=text, level=max(paragraph.level, 1), links=paragraph.links))
        elif role == "title":
            self.blocks.append(Title(text=text, links=paragraph.links))
        elif role == "caption" and self.blocks and type(self.blocks[-1]) is Picture and not self.blocks[-1].caption:
            self.blocks[-1].caption = text
        elif self._lists and self._lists[-1].is_item_open:
            self._add_item(text, paragraph, self._lists[-1])
        else:
            self.blocks.append(Paragraph(text=text, links=paragraph.links))

    def _add_item(self, text: str, paragraph: "_OpenOdfParagraph", within: "_OpenOdfList") -> None:
        within.is_item_open = False
        within.number += 1
        depth = len(self._lists) - 1
        is_ordered = self._styles.is_ordered(within.style, depth)
        marker = f"{within.number}." if is_ordered else "-"
        self.blocks.append(ListItem(text=text, depth=depth, ordered=is_ordered, marker=marker, links=paragraph.links))

    def _add_code(self, raw: str) -> None:
        """Every line of code is a paragraph. Consecutive lines become one block."""
        line = raw.rstrip()
        if self._code_lines and self.blocks[-1] is self._code_lines[-1][0]:
            self._code_lines[-1][1].append(line)
        elif line:
            code = Code(text="")
            self.blocks.append(code)
            self._code_lines.append((code, [line]))

    def _add_spaces(self, attributes: Attributes) -> None:
        count = attributes.get("c", "1")
        number = int(count) if count.isascii() and count.isdigit() and len(count) < 6 else 1
        self._paragraphs[-1].parts.append(" " * min(number, SPACES_MAX))

    def _begin_link(self, attributes: Attributes) -> None:
        target = attributes.get("href", "")
        self._paragraphs[-1].begin_link("" if target.startswith("#") else target)

    def _end_link(self) -> None:
        self._paragraphs[-1].end_link()

    # Notes, lists, tables.

    def _begin_note(self, _: Attributes) -> None:
        self._note_depth += 1

    def _end_note(self) -> None:
        self._note_depth = max(0, self._note_depth - 1)

    def _begin_list(self, attributes: Attributes) -> None:
        inherited = self._lists[-1].style if self._lists else ""
        self._lists.append(_OpenOdfList(attributes.get("style-name", "") or inherited))

    def _end_list(self) -> None:
        if self._lists:
            self._lists.pop()

    def _begin_item(self, _: Attributes) -> None:
        if self._lists:
            self._lists[-1].is_item_open = len(self._lists) <= DEPTH_MAX

    def _end_item(self) -> None:
        if self._lists:
            self._lists[-1].is_item_open = False

    def _begin_table(self, attributes: Attributes) -> None:
        if self._table is not None:
            self._table.depth += 1
            return
        self._table = OdfTable(self._cells)
        if self.kind == "spreadsheet":
            self._sheet_name = collapse_whitespace(attributes.get("name", ""))

    def _end_table(self) -> None:
        if self._table is None:
            return
        self._table.depth -= 1
        if self._table.depth:
            return
        is_sheet = self.kind == "spreadsheet"
        found = self._table.finish(self._budget, is_sheet=is_sheet)
        if found and is_sheet and self._sheet_name:
            self.blocks.append(Heading(text=self._sheet_name, level=1))
        self.blocks += found
        self._table = None

    # Frames.

    def _begin_frame(self, attributes: Attributes) -> None:
        self._frame_class = attributes.get("class", "")
        self._has_image = False

    def _add_image(self, _: Attributes) -> None:
        if self._table is None and not self._has_image:
            self._has_image = True
            self.blocks.append(Picture())

    def _begin_description(self, _: Attributes) -> None:
        self._description = []

    def _end_description(self) -> None:
        text, self._description = collapse_whitespace("".join(self._description or ())), None
        if self._has_image and self.blocks and type(self.blocks[-1]) is Picture and not self.blocks[-1].caption:
            self.blocks[-1].caption = text

    def _end_frame(self) -> None:
        self._frame_class = ""
        self._has_image = False

    _START: ClassVar[dict[str, Callable[["OdfBody", Attributes], None]]] = {
        "text:p": _begin_paragraph,
        "text:h": _begin_heading,
        "text:s": _add_spaces,
        "text:a": _begin_link,
        "text:note": _begin_note,
        "text:list": _begin_list,
        "text:list-item": _begin_item,
        "table:table": _begin_table,
        "draw:frame": _begin_frame,
        "draw:image": _add_image,
        "svg:title": _begin_description,
        "svg:desc": _begin_description,
    }
    _END: ClassVar[dict[str, Callable[["OdfBody"], None]]] = {
        "text:p": _end_paragraph,
        "text:h": _end_paragraph,
        "text:a": _end_link,
        "text:note": _end_note,
        "text:list": _end_list,
        "text:list-item": _end_item,
        "table:table": _end_table,
        "draw:frame": _end_frame,
        "svg:title": _end_description,
        "svg:desc": _end_description,
    }


class _OpenOdfParagraph(LinkedText):
    def __init__(self, style: str) -> None:
        super().__init__()
        self.style = style
        self.level = 0


class _OpenOdfList:
    __slots__ = ("is_item_open", "number", "style")

    def __init__(self, style: str) -> None:
        self.style = style
        self.number = 0
        self.is_item_open = False
