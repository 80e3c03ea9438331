"""Handles the XML of a part with text: paragraphs and tables, in order.

Deleted text of tracked changes and hidden text are not read. A text box is in the middle of a paragraph; its own
paragraphs come before that one.
"""

import re
from collections.abc import Callable
from typing import ClassVar

from inorder.documents.model import Picture, SpanKind
from inorder.documents.readers.numerals import format_number
from inorder.documents.readers.office.charts import read_chart
from inorder.documents.readers.office.omml import OmmlReader
from inorder.documents.readers.office.package import (
    SHORT_NAMES,
    Attributes,
    Handler,
    Package,
    Relation,
    strip_namespaces,
)
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
_TABLES_MAX = 50
"""Levels of nested tables. Deeper ones are text of their cell."""


class Body(Handler):
    """A part with text: the document, its notes, a header or a footer."""

    def __init__(
        self,
        package: Package,
        styles: DocxStyleSheet,
        numbering: Numbering,
        relations: dict[str, Relation],
        budget: TableBudget,
        notes: dict[str, str],
    ) -> None:
        self.classifier = ParagraphClassifier(styles, numbering)
        self.is_word = False
        """Whether the part has a document body."""
        self._package = package
        self._relations = relations
        self._budget = budget
        self._notes = notes
        """The number of each note that was referred to, by its kind and id."""
        self._lead = ""
        """What precedes the next paragraph: the number of a note, or the author of a comment."""
        self._run_begin = 0
        self._run_kinds: dict[SpanKind, bool] = {}
        self._skip_depth = 0
        self._paragraphs = [OpenParagraph()]
        """The open ones, innermost last. The first takes what is outside of all paragraphs, and is not read."""
        self._tables: list[OpenTable] = []
        """The open ones, innermost last."""
        self._is_in_text = False
        self._in_run = False
        self._is_hidden = False
        self._description = ""
        self._images = 0
        self._formula: OmmlReader | None = None
        self._fields: list[list[str]] = []
        """The instructions of the open fields, innermost last."""
        self._in_instruction = False

    def start(self, name: str, attributes: Attributes) -> None:
        name = SHORT_NAMES[name]
        if self._skip_depth or name in _SKIPPED:
            self._skip_depth += 1
            return
        if self._formula is not None:
            self._formula.start(name, attributes)
        elif start := self._START_HANDLERS.get(name):
            start(self)
        elif set_attributes := self._ATTRIBUTE_HANDLERS.get(name):
            set_attributes(self, strip_namespaces(attributes))
        elif handle := TABLE_HANDLERS.get(name):
            if self._tables and self._tables[-1].depth == 1:
                handle(self._tables[-1], strip_namespaces(attributes))
        elif self._in_run and (sign := _SIGNS.get(name)):
            self._paragraphs[-1].parts.append(sign)

    def end(self, name: str) -> None:
        if self._skip_depth:
            self._skip_depth -= 1
            return
        name = SHORT_NAMES[name]
        if name == "m:oMath":
            self._end_math()
        elif self._formula is not None:
            self._formula.end()
        elif end := self._END_HANDLERS.get(name):
            end(self)
        elif name == "w:tc" and self._tables and self._tables[-1].depth == 1:
            self._tables[-1].close_cell()

    def text(self, text: str) -> None:
        if self._formula is not None:
            if not self._skip_depth:
                self._formula.text(text)
        elif self._is_in_text and not self._skip_depth:
            self._paragraphs[-1].parts.append(text)
        elif self._in_instruction and self._fields and not self._skip_depth:
            self._fields[-1].append(text)

    # Paragraphs.

    def _begin_body(self) -> None:
        self.is_word = True

    def _begin_footnote(self, attributes: Attributes) -> None:
        self._begin_note(attributes, "footnote")

    def _begin_endnote(self, attributes: Attributes) -> None:
        self._begin_note(attributes, "endnote")

    def _begin_note(self, attributes: Attributes, kind: str) -> None:
        if attributes.get("type") in _SEPARATORS:
            self._skip_depth = 1
        self._lead = self._notes.get(f"{kind} {attributes.get('id')}", "")

    def _begin_comment(self, attributes: Attributes) -> None:
        author = collapse_whitespace(attributes.get("author", ""))
        self._lead = f"{author}:" if author else ""

    def _refer_to_footnote(self, attributes: Attributes) -> None:
        self._refer("footnote", attributes, "1")

    def _refer_to_endnote(self, attributes: Attributes) -> None:
        self._refer("endnote", attributes, "i")

    def _refer(self, kind: str, attributes: Attributes, style: str) -> None:
        number = 1 + sum(key.startswith(kind) for key in self._notes)
        label = self._notes.setdefault(f"{kind} {attributes.get('id')}", f"[{format_number(number, style)}]")
        self._paragraphs[-1].add_marked("footnote", label)

    def _begin_paragraph(self) -> None:
        paragraph = OpenParagraph()
        if self._lead:
            if self._lead.startswith("["):
                paragraph.add_marked("footnote", self._lead)
            else:
                paragraph.parts.append(self._lead)
            paragraph.parts.append(" ")
            self._lead = ""
        self._paragraphs.append(paragraph)

    def _end_paragraph(self) -> None:
        paragraph = self._paragraphs.pop()
        self._in_run = len(self._paragraphs) > 1
        if self._tables and (cell := self._tables[-1].cell) is not None:
            for picture in paragraph.pictures:
                if isinstance(picture, Picture):
                    paragraph.parts += (" ", picture.caption)
                else:
                    self._tables[-1].nested.append(picture)
            cell.add(*paragraph.collapse(), paragraph.links)
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
        self._run_begin = len(self._paragraphs[-1].parts)
        self._run_kinds = {}

    def _end_run(self) -> None:
        self._in_run = self._is_hidden = False
        if self._run_kinds:
            kinds = [kind for kind, is_on in self._run_kinds.items() if is_on]
            self._paragraphs[-1].mark_from(kinds, self._run_begin)
            self._run_kinds = {}

    def _set_bold(self, attributes: Attributes) -> None:
        self._set_emphasis("bold", attributes)

    def _set_italic(self, attributes: Attributes) -> None:
        self._set_emphasis("italic", attributes)

    def _set_emphasis(self, kind: SpanKind, attributes: Attributes) -> None:
        if self._in_run:
            self._run_kinds[kind] = attributes.get("val", "1") not in OFF

    def _set_run_style(self, attributes: Attributes) -> None:
        style = self.classifier.styles.style(attributes.get("val", ""))
        for kind in style.emphasis:
            self._run_kinds.setdefault(kind, True)

    def _set_hidden(self, attributes: Attributes) -> None:
        self._is_hidden = self._in_run and attributes.get("val", "1") not in OFF

    def _begin_text(self) -> None:
        self._is_in_text = not self._is_hidden
        self._paragraphs[-1].has_words = True

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
        self._formula = OmmlReader()

    def _end_math(self) -> None:
        if self._formula is not None and (latex := self._formula.finish().strip()):
            paragraph = self._paragraphs[-1]
            if paragraph.parts and paragraph.marks and paragraph.marks[-1][0] == "formula":
                paragraph.parts.append(" ")
            paragraph.add_marked("formula", latex)
        self._formula = None

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

    def _add_chart(self, attributes: Attributes) -> None:
        relation = self._relations.get(attributes.get("id", ""))
        if relation is not None:
            self._paragraphs[-1].pictures += read_chart(self._package, relation.target, self._budget)

    # Tables.

    def _begin_table(self) -> None:
        if len(self._tables) < _TABLES_MAX:
            self._tables.append(OpenTable())
        else:
            self._tables[-1].depth += 1

    def _end_table(self) -> None:
        """Add a table, or keep it to follow the one in which it is nested."""
        if not self._tables:
            return
        table = self._tables[-1]
        table.depth -= 1
        if table.depth:
            return
        self._tables.pop()
        caption = "" if self._tables else self.classifier.take_caption()
        blocks = [*table.finish(self._budget, caption), *table.nested]
        if self._tables:
            self._tables[-1].nested += blocks
        else:
            self.classifier.blocks += blocks

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
        "m:oMath": _begin_math,
        "m:oMathPara": _begin_display,
    }
    _ATTRIBUTE_HANDLERS: ClassVar[dict[str, Callable[["Body", Attributes], None]]] = {
        "w:footnote": _begin_footnote,
        "w:endnote": _begin_endnote,
        "w:comment": _begin_comment,
        "w:footnoteReference": _refer_to_footnote,
        "w:endnoteReference": _refer_to_endnote,
        "w:pStyle": _set_style,
        "w:outlineLvl": _set_outline,
        "w:numId": _set_number_id,
        "w:ilvl": _set_list_level,
        "w:vanish": _set_hidden,
        "w:b": _set_bold,
        "w:i": _set_italic,
        "w:rStyle": _set_run_style,
        "w:hyperlink": _begin_link,
        "w:fldSimple": _begin_simple_field,
        "w:fldChar": _mark_field,
        "wp:docPr": _set_description,
        "c:chart": _add_chart,
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
    }
