"""Reads XML of publishers: JATS (articles of journals) and DocBook.

Both have sections with titles, paragraphs, lists, tables, figures and listings, under different names. Elements that
are not known pass their text on to the element around them. Entities are not expanded, and a file that defines any is
refused.
"""

from collections.abc import Callable
from functools import partial
from html.entities import html5
from typing import Any, ClassVar
from xml.parsers import expat

from inorder.documents.model import AnyBlock, Code, Document, Formula, Paragraph, Picture, Title
from inorder.documents.readers.block_builder import BlockBuilder
from inorder.documents.readers.document import make_document, require_size
from inorder.documents.readers.table_grid import TableBudget, TableGrid
from inorder.documents.readers.whitespace import collapse_whitespace
from inorder.errors import ReadError

from .xml_vocabulary import CAPTIONED, CODE, FIGURES, ITEMS, LISTS, METADATA, PARAGRAPHS, ROOTS, SECTIONS, SKIPPED

BYTES_MAX = 128 * 2**20
DEPTH_MAX = 1_000
"""Open elements."""


def read(data: bytes, name: str) -> Document:
    """Read a JATS or DocBook file."""
    require_size(data, BYTES_MAX, "XML")
    walker = _XmlWalker()
    try:
        _make_parser(walker).Parse(data, True)
    except expat.ExpatError as error:
        raise ReadError(f"the XML is damaged: {error}") from None
    except (LookupError, ValueError) as error:  # an encoding that Python does not know
        raise ReadError(f"the XML cannot be decoded: {error}") from None
    if not walker.is_document:
        raise ReadError("not a document: neither JATS nor DocBook")
    walker.builder.flush()
    blocks = [*walker.builder.blocks, *walker.notes]
    if walker.title:
        blocks.insert(0, Title(text=walker.title))
    return make_document("xml", name, "application/xml", blocks, walker.budget.warnings)


def _make_parser(walker: "_XmlWalker") -> expat.XMLParserType:
    parser = expat.ParserCreate(namespace_separator=" ")
    parser.buffer_text = True
    parser.StartElementHandler = walker.start
    parser.EndElementHandler = walker.end
    parser.CharacterDataHandler = walker.text
    parser.EntityDeclHandler = _refuse_entity
    parser.SkippedEntityHandler = walker.add_entity
    parser.UseForeignDTD(True)  # entities of a DTD that is not read are then passed on, and not an error
    parser.ExternalEntityRefHandler = _ignore_external
    return parser


def _refuse_entity(*_: Any) -> None:
    raise ReadError("the XML defines entities, which is refused")


def _ignore_external(*_: Any) -> int:
    return 1


class _XmlWalker:
    """Builds blocks from elements."""

    def __init__(self) -> None:
        self.builder = BlockBuilder()
        self.budget = TableBudget()
        self.title = ""
        self.is_document = False
        self._open: list[str] = []
        self._skip_depth = 0
        self._section_depth = 0
        self._numbers: list[int] = []
        self._grid: TableGrid | None = None
        self._is_head = False
        self._spans = (1, 1)
        self._caption: list[str] = []
        self._holders: list[str] = []
        """Open tables and figures, by name."""
        self._columns: dict[str, int] = {}
        self.notes: list[AnyBlock] = []
        self._saved: list[list[str]] = []
        """Texts that open notes interrupt."""
        self._last = ""
        """The element that ended last."""

    # Events.

    def start(self, name: str, attributes: dict[str, str]) -> None:
        name = name.rpartition(" ")[2]
        if len(self._open) >= DEPTH_MAX:
            raise ReadError(f"elements are nested more than {DEPTH_MAX:,} levels deep")
        if not self._open:
            self.is_document = name in ROOTS
        parent = self._open[-1] if self._open else ""
        self._open.append(name)
        is_left_out = (parent == "article-meta" and name not in METADATA) or (
            parent == "alternatives" and name == "math"
        )
        if self._skip_depth or is_left_out or name in SKIPPED or not self.is_document:
            self._skip_depth += 1
            return
        if name in CODE and not self._is_inline(parent):
            self.builder.flush()
        elif name in SECTIONS:
            self.builder.flush()
            self._section_depth += 1
        elif name in PARAGRAPHS and self._grid is None:
            self._break_paragraph(is_inline=self._last == "label")
        elif name in LISTS and self._grid is None:
            self._begin_list(name, attributes)
        elif name in ITEMS and self._grid is None:
            self._begin_item()
        elif begin := self._START.get(name):
            begin(self, attributes)
        if name in CAPTIONED:
            self._begin_holder(name)

    def end(self, name: str) -> None:
        name = name.rpartition(" ")[2]
        self._open.pop()
        self._end_element(name)
        self._last = name

    def _end_element(self, name: str) -> None:
        if self._skip_depth:
            self._skip_depth -= 1
            return
        if name in CODE and not self._is_inline(self._open[-1] if self._open else ""):
            self._end_code()
        elif name in SECTIONS:
            self.builder.flush()
            self._section_depth -= 1
        elif name in PARAGRAPHS:
            self._break_paragraph(is_inline=self._grid is not None)
        elif name in LISTS and self._grid is None:
            self.builder.close_list()
            self._numbers.pop()
        elif name in ITEMS and self._grid is None:
            self.builder.close_item()
        elif end := self._END.get(name):
            end(self)
        if name in CAPTIONED:
            self._end_holder(name)

    def text(self, text: str) -> None:
        if not self._skip_depth:
            self.builder.parts.append(text)

    def add_entity(self, name: str, is_parameter: bool) -> None:
        """An entity of a DTD that is not read: those of HTML are known."""
        if not is_parameter:
            self.text(html5.get(f"{name};", f"&{name};"))

    def _is_inline(self, parent: str) -> bool:
        """Whether code is part of a text, as in DocBook."""
        return parent in PARAGRAPHS or self._grid is not None or bool(self._holders)

    # Text.

    def _begin_title(self, _: dict[str, str]) -> None:
        if self._grid is None and not self._holders:
            self.builder.flush()

    def _end_title(self) -> None:
        text = self._take_text()
        parent = self._open[-1] if self._open else ""
        if self._holders:
            self._caption.append(text)
        elif parent in ("title-group", "articleinfo", "bookinfo", "info") or (
            not self._section_depth and not self.title
        ):
            self.title = self.title or text
        elif text:
            self.builder.open_heading(max(self._section_depth, 1))
            self.builder.parts.append(text)
            self.builder.close_heading()

    def _end_article_title(self) -> None:
        if self._open and self._open[-1] == "title-group":
            self._end_title()

    def _begin_note(self, _: dict[str, str]) -> None:
        """A note within a text comes after all text."""
        self._saved.append(list(self.builder.parts))
        self.builder.parts.clear()

    def _end_note(self) -> None:
        text = self._take_text()
        self.builder.parts[:] = self._saved.pop()
        if text:
            self.notes.append(Paragraph(text=text))

    def _break_paragraph(self, *, is_inline: bool) -> None:
        """Begin or end a paragraph, which is part of a text if it is inline or in a note."""
        if is_inline or self._saved:
            self.builder.parts.append(" ")
        elif self._holders:
            self._caption.append(self._take_text())
        else:
            self.builder.flush()

    def _take_text(self) -> str:
        text = collapse_whitespace("".join(self.builder.parts))
        self.builder.parts.clear()
        return text

    def _add_space(self, _: dict[str, str] | None = None) -> None:
        self.builder.parts.append(" ")

    def _begin_block(self, _: dict[str, str]) -> None:
        if self._grid is None:
            self.builder.flush()

    def _end_formula(self) -> None:
        if self._grid is None and (text := self._take_text()):
            self.builder.add([Formula(text=text)])

    def _end_code(self) -> None:
        text = "".join(self.builder.parts).strip("\n")
        self.builder.parts.clear()
        if text.strip():
            self.builder.add([Code(text=text)])

    # Lists.

    def _begin_list(self, name: str, attributes: dict[str, str]) -> None:
        kind = attributes.get("list-type", "")
        is_ordered = LISTS[name] or kind in ("order", "alpha-lower", "alpha-upper", "roman-lower", "roman-upper")
        self.builder.open_list(is_ordered)
        self._numbers.append(0)

    def _begin_item(self) -> None:
        if not self.builder.lists:  # references are items without a list around them
            self.builder.flush()
            return
        self._numbers[-1] += 1
        self.builder.open_item(f"{self._numbers[-1]}." if self.builder.lists[-1].is_ordered else "-")

    # Tables and figures.

    def _begin_holder(self, name: str) -> None:
        if not self._holders:
            self.builder.flush()
            self._caption = []
        self._holders.append(name)

    def _end_holder(self, name: str) -> None:
        self._holders.pop()
        if self._holders:
            return
        rest = self._take_text()
        caption = " ".join(filter(None, self._caption))
        if self._grid is not None:
            self.builder.add(self._grid.finish(self.budget, caption))
            self._grid = None
        elif name in FIGURES:
            self.builder.add([Picture(caption=caption or rest)])
        elif caption or rest:
            self.builder.parts.append(f"{caption} {rest}")
            self.builder.flush()
        self._caption = []

    def _begin_row(self, _: dict[str, str]) -> None:
        if self._grid is None and self._holders:
            self._caption += [self._take_text()]
            self._grid = TableGrid()
        if self._grid is not None:
            self.builder.parts.clear()
            self._grid.new_row()

    def _begin_group(self, _: dict[str, str]) -> None:
        self._columns.clear()

    def _add_column(self, attributes: dict[str, str]) -> None:
        self._columns[attributes.get("colname", "")] = len(self._columns) + 1

    def _begin_head(self, _: dict[str, str]) -> None:
        self._is_head = True

    def _end_head(self) -> None:
        self._is_head = False

    def _begin_cell(self, attributes: dict[str, str]) -> None:
        self.builder.parts.clear()
        width = _parse_span(attributes.get("colspan", ""))
        first, last = (self._columns.get(attributes.get(each, ""), 0) for each in ("namest", "nameend"))
        if first and last > first:
            width = last - first + 1
        height = _parse_span(attributes.get("rowspan", "")) + _parse_span(attributes.get("morerows", ""), 0)
        self._spans = (height, width)

    def _end_cell(self, *, is_header: bool = False) -> None:
        if self._grid is not None:
            self._grid.add(self._take_text(), *self._spans, is_header=is_header or self._is_head)

    _START: ClassVar[dict[str, Callable[["_XmlWalker", dict[str, str]], None]]] = {
        "title": _begin_title,
        "article-title": _begin_title,
        "disp-formula": _begin_block,
        "equation": _begin_block,
        "informalequation": _begin_block,
        "footnote": _begin_note,
        "tgroup": _begin_group,
        "colspec": _add_column,
        "break": _add_space,
        "tr": _begin_row,
        "row": _begin_row,
        "thead": _begin_head,
        "td": _begin_cell,
        "th": _begin_cell,
        "entry": _begin_cell,
    }
    _END: ClassVar[dict[str, Callable[["_XmlWalker"], None]]] = {
        "title": _end_title,
        "article-title": _end_article_title,
        "disp-formula": _end_formula,
        "equation": _end_formula,
        "informalequation": _end_formula,
        "footnote": _end_note,
        "label": _add_space,
        "surname": _add_space,
        "given-names": _add_space,
        "kwd": _add_space,
        "thead": _end_head,
        "td": _end_cell,
        "th": partial(_end_cell, is_header=True),
        "entry": _end_cell,
    }


def _parse_span(text: str, default: int = 1) -> int:
    return min(int(text), 10_000) if text.isascii() and text.isdigit() and len(text) < 6 and int(text) else default
