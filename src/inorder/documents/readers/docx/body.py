"""Handles the XML of a part with text: paragraphs and tables, in order.

Deleted text of tracked changes and hidden text are not read. A text box is in the middle of a paragraph; its own
paragraphs come before that one.
"""

import re
from collections.abc import Callable
from typing import ClassVar

from inorder.documents.model import Picture
from inorder.documents.readers.office.package import SHORT_NAMES, Attributes, Handler, Relation, strip_namespaces
from inorder.documents.readers.table_grid import TableBudget
from inorder.documents.readers.whitespace import collapse_whitespace

from .numbering import Numbering
from .paragraphs import OpenParagraph, ParagraphClassifier
from .styles import OFF, DocxStyleSheet, parse_int, parse_outline_level
from .tables import TABLE_HANDLERS, OpenTable

_SKIPPED = frozenset(("w:del", "w:moveFrom", "mc:Fallback", "w:sectPr", "w:tblGrid", "w:sdtPr", "w:object"))
_SEPARATORS = frozenset(("separator", "continuationSeparator", "continuationNotice"))
_SIGNS = {"w:tab": "\t", "w:ptab": "\t", "w:br": "\n", "w:cr": "\n", "w:noBreakHyphen": "-"}
_LINK_FIELD = re.compile(r'\s*HYPERLINK\s+"([^"]+)"', re.I)
_FIELDS_MAX = 100
_MATH_BEGINS = {"m:num": "(", "m:den": "/(", "m:sup": "^(", "m:sub": "_(", "m:rad": "√(", "m:d": "("}


class Body(Handler):
    """A part with text: the document, its notes, a header or a footer."""

    def __init__(
        self, styles: DocxStyleSheet, numbering: Numbering, relations: dict[str, Relation], budget: TableBudget
    ) -> None:
        self.classifier = ParagraphClassifier(styles, numbering)
        self.is_word = False
        """Whether the part has a document body."""
        self._relations = relations
        self._budget = budget
        self._skip_depth = 0
        self._paragraphs = [OpenParagraph()]
        """The open ones, innermost last. The first takes what is outside of all paragraphs, and is not read."""
        self._table: OpenTable | None = None
        self._is_in_text = False
        self._in_run = False
        self._is_hidden = False
        self._description = ""
        self._images = 0
        self._operator = ""
        self._fields: list[list[str]] = []
        """The instructions of the open fields, innermost last."""
        self._in_instruction = False

    def start(self, name: str, attributes: Attributes) -> None:
        name = SHORT_NAMES[name]
        if self._skip_depth or name in _SKIPPED:
            self._skip_depth += 1
            return
        if start := self._START_HANDLERS.get(name):
            start(self)
        elif set_attributes := self._ATTRIBUTE_HANDLERS.get(name):
            set_attributes(self, strip_namespaces(attributes))
        elif handle := TABLE_HANDLERS.get(name):
            if self._table is not None and self._table.depth == 1:
                handle(self._table, strip_namespaces(attributes))
        elif sign := (_SIGNS.get(name) if self._in_run else None) or _MATH_BEGINS.get(name):
            self._paragraphs[-1].parts.append(sign)

    def end(self, name: str) -> None:
        if self._skip_depth:
            self._skip_depth -= 1
            return
        name = SHORT_NAMES[name]
        if end := self._END_HANDLERS.get(name):
            end(self)
        elif name == "w:tc":
            if self._table is not None and self._table.depth == 1:
                self._table.close_cell()
        elif name in _MATH_BEGINS:
            self._paragraphs[-1].parts.append(")")

    def text(self, text: str) -> None:
        if self._is_in_text and not self._skip_depth:
            self._paragraphs[-1].parts.append(text)
        elif self._in_instruction and self._fields and not self._skip_depth:
            self._fields[-1].append(text)

    # Paragraphs.

    def _begin_body(self) -> None:
        self.is_word = True

    def _begin_note(self, attributes: Attributes) -> None:
        if attributes.get("type") in _SEPARATORS:
            self._skip_depth = 1

    def _begin_paragraph(self) -> None:
        self._paragraphs.append(OpenParagraph())

    def _end_paragraph(self) -> None:
        paragraph = self._paragraphs.pop()
        self._in_run = len(self._paragraphs) > 1
        if self._table is not None and self._table.cell is not None:
            self._table.cell.texts.append(collapse_whitespace("".join(paragraph.parts)))
            self._table.cell.links += paragraph.links
            return
        self.classifier.add(paragraph)

    def _set_style(self, attributes: Attributes) -> None:
        self._paragraphs[-1].style_id = attributes.get("val", "")

    def _set_outline(self, attributes: Attributes) -> None:
        self._paragraphs[-1].outline = parse_outline_level(attributes.get("val", ""))

    def _set_number_id(self, attributes: Attributes) -> None:
        self._paragraphs[-1].number_id = attributes.get("val", "")

    def _set_list_level(self, attributes: Attributes) -> None:
        self._paragraphs[-1].list_level = parse_int(attributes.get("val", ""))

    # Content of paragraphs.

    def _begin_run(self) -> None:
        self._in_run, self._is_hidden = True, False

    def _end_run(self) -> None:
        self._in_run = self._is_hidden = False

    def _set_hidden(self, attributes: Attributes) -> None:
        self._is_hidden = self._in_run and attributes.get("val", "1") not in OFF

    def _begin_text(self) -> None:
        self._is_in_text = not self._is_hidden
        self._paragraphs[-1].has_words = True

    def _begin_math_text(self) -> None:
        self._is_in_text = True

    def _end_text(self) -> None:
        self._is_in_text = False

    def _begin_link(self, attributes: Attributes) -> None:
        relation = self._relations.get(attributes.get("id", ""))
        if relation is not None:
            self._paragraphs[-1].begin_link(relation.target)

    def _end_link(self) -> None:
        self._paragraphs[-1].end_link()

    def _begin_simple_field(self, attributes: Attributes) -> None:
        self._begin_field_text(attributes.get("instr", ""))

    def _mark_field(self, attributes: Attributes) -> None:
        """A field has its instruction in runs between its begin and a separator, and its text up to its end."""
        kind = attributes.get("fldCharType")
        if kind == "begin" and len(self._fields) < _FIELDS_MAX:
            self._fields.append([])
        elif kind == "separate" and self._fields:
            self._begin_field_text("".join(self._fields[-1]))
        elif kind == "end" and self._fields and _LINK_FIELD.match("".join(self._fields.pop())):
            self._end_link()

    def _begin_field_text(self, instruction: str) -> None:
        if found := _LINK_FIELD.match(instruction):
            self._paragraphs[-1].begin_link(found.group(1))

    def _begin_instruction(self) -> None:
        self._in_instruction = True

    def _end_instruction(self) -> None:
        self._in_instruction = False

    def _begin_math(self) -> None:
        self._paragraphs[-1].has_math = True

    def _begin_display(self) -> None:
        self._paragraphs[-1].is_display = True

    def _begin_drawing(self) -> None:
        self._description, self._images = "", 0

    def _set_description(self, attributes: Attributes) -> None:
        self._description = collapse_whitespace(attributes.get("descr") or attributes.get("title") or "")

    def _begin_image(self) -> None:
        self._images += 1

    def _end_drawing(self) -> None:
        """A drawing may be a group of pictures. The first one gets the description."""
        if self._images:
            pictures = self._paragraphs[-1].pictures
            pictures.append(Picture(caption=self._description))
            pictures += [Picture() for _ in range(self._images - 1)]
        self._images = 0

    def _begin_operator(self) -> None:
        self._operator = "∫"

    def _set_operator(self, attributes: Attributes) -> None:
        if self._operator:
            self._operator = attributes.get("val", "")

    def _end_operator(self) -> None:
        self._paragraphs[-1].parts.append(self._operator)
        self._operator = ""

    # Tables.

    def _begin_table(self) -> None:
        if self._table is None:
            self._table = OpenTable()
        else:
            self._table.depth += 1

    def _end_table(self) -> None:
        table = self._table
        if table is None:
            return
        table.depth -= 1
        if table.depth:
            return
        self._table = None
        self.classifier.blocks += table.finish(self._budget, self.classifier.take_caption())

    _START_HANDLERS: ClassVar[dict[str, Callable[["Body"], None]]] = {
        "w:body": _begin_body,
        "w:p": _begin_paragraph,
        "w:r": _begin_run,
        "w:t": _begin_text,
        "w:tbl": _begin_table,
        "w:drawing": _begin_drawing,
        "w:pict": _begin_drawing,
        "w:instrText": _begin_instruction,
        "a:blip": _begin_image,
        "v:imagedata": _begin_image,
        "m:t": _begin_math_text,
        "m:oMath": _begin_math,
        "m:oMathPara": _begin_display,
        "m:naryPr": _begin_operator,
    }
    _ATTRIBUTE_HANDLERS: ClassVar[dict[str, Callable[["Body", Attributes], None]]] = {
        "w:footnote": _begin_note,
        "w:endnote": _begin_note,
        "w:pStyle": _set_style,
        "w:outlineLvl": _set_outline,
        "w:numId": _set_number_id,
        "w:ilvl": _set_list_level,
        "w:vanish": _set_hidden,
        "w:hyperlink": _begin_link,
        "w:fldSimple": _begin_simple_field,
        "w:fldChar": _mark_field,
        "wp:docPr": _set_description,
        "m:chr": _set_operator,
    }
    _END_HANDLERS: ClassVar[dict[str, Callable[["Body"], None]]] = {
        "w:p": _end_paragraph,
        "w:r": _end_run,
        "w:t": _end_text,
        "w:hyperlink": _end_link,
        "w:tbl": _end_table,
        "w:drawing": _end_drawing,
        "w:pict": _end_drawing,
        "w:instrText": _end_instruction,
        "w:fldSimple": _end_link,
        "m:t": _end_text,
        "m:naryPr": _end_operator,
    }
