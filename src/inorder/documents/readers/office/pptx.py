"""Reads PowerPoint presentations (PPTX): slides in order, with titles, lists, tables, pictures and notes.

A slide is a page. The title of a slide is a heading before its other text, which comes in the order of the file.
"""

from collections.abc import Sequence

from inorder.documents.model import (
    AnyBlock,
    Document,
    Furniture,
    Heading,
    Link,
    ListItem,
    Page,
    Paragraph,
    Picture,
    Span,
    SpanKind,
    Title,
)
from inorder.documents.readers.document import make_document
from inorder.documents.readers.spans import move_spans
from inorder.documents.readers.table_grid import CellText, TableBudget, TableGrid
from inorder.documents.readers.whitespace import collapse_whitespace
from inorder.errors import ReadError

from .charts import read_chart
from .omml import OmmlReader
from .package import (
    SHORT_NAMES,
    Attributes,
    Handler,
    LinkedText,
    Package,
    Relation,
    find_target,
    get_relation_id,
    strip_namespaces,
)

MIMETYPE = "application/vnd.openxmlformats-officedocument.presentationml.presentation"
SLIDES_MAX = 5_000
LEVEL_MAX = 20
_POINT = 12_700
"""Units of length (EMU) per point."""
_SLIDE_SIZE = (9_144_000, 6_858_000)
_TITLES = ("title", "ctrTitle")
_FURNITURE = ("ftr", "hdr")
_LEFT_OUT = ("dt", "sldNum", "sldImg")
_EMPHASIS: tuple[tuple[str, SpanKind], ...] = (("b", "bold"), ("i", "italic"))
_LIST_PLACEHOLDERS = ("body", "obj")


def read(data: bytes, name: str, passwords: Sequence[str] = ()) -> Document:
    """Read a PPTX file. The passwords are tried if it is encrypted."""
    package = Package(data, "PPTX", "a PowerPoint file", passwords)
    main = find_target(package.read_relations(""), "officeDocument") or "ppt/presentation.xml"
    slides = _SlideList()
    package.parse(main, slides)
    if not slides.is_presentation:
        raise ReadError("not a presentation: the archive has no list of slides")
    relations, budget = package.read_relations(main), TableBudget()
    targets = [relations[each].target for each in slides.relation_ids if each in relations]
    if len(targets) > SLIDES_MAX:
        budget.warnings.append(f"only the first {SLIDES_MAX:,} of {len(targets):,} slides were read")
    blocks: list[AnyBlock] = []
    pages = []
    for number, target in enumerate(targets[:SLIDES_MAX], 1):
        found = _read_slide(package, target, number, budget)
        blocks += found
        pages.append(Page(number, slides.width / _POINT, slides.height / _POINT, has_text=bool(found)))
    return make_document("pptx", name, MIMETYPE, blocks, budget.warnings, pages)


def _read_slide(package: Package, part: str, number: int, budget: TableBudget) -> list[AnyBlock]:
    relations = package.read_relations(part)
    slide = _Slide(package, budget, relations, is_first=number == 1)
    package.parse(part, slide)
    blocks = [*slide.titles, *slide.blocks]
    notes = find_target(relations, "notesSlide")
    if notes:
        handler = _Slide(package, budget, package.read_relations(notes))
        package.parse(notes, handler)
        blocks += [
            Paragraph(text=block.text, links=block.links, spans=block.spans)
            for block in handler.blocks
            if isinstance(block, ListItem | Paragraph)
        ]
    for block in blocks:
        block.page = number
    return blocks


class _SlideList(Handler):
    """The slides of a presentation, and their size."""

    def __init__(self) -> None:
        self.relation_ids: list[str] = []
        self.width, self.height = _SLIDE_SIZE
        self.is_presentation = False

    def start(self, name: str, attributes: Attributes) -> None:
        match SHORT_NAMES[name]:
            case "p:presentation":
                self.is_presentation = True
            case "p:sldId":
                self.relation_ids.append(get_relation_id(attributes))
            case "p:sldSz":
                self.width = parse_size(attributes.get("cx", ""), _SLIDE_SIZE[0])
                self.height = parse_size(attributes.get("cy", ""), _SLIDE_SIZE[1])


def parse_size(text: str, default: int) -> int:
    """A length; the default if it is not a positive number of a usable size."""
    return int(text) if text.isascii() and text.isdigit() and 0 < len(text) < 12 and int(text) else default


class _Slide(Handler):
    """The blocks of one slide."""

    def __init__(
        self, package: Package, budget: TableBudget, relations: dict[str, Relation], *, is_first: bool = False
    ) -> None:
        self.titles: list[AnyBlock] = []
        self.blocks: list[AnyBlock] = []
        self._package = package
        self._budget = budget
        self._relations = relations
        self._is_first = is_first
        self._skip_depth = 0
        self._placeholder = ""
        self._text: LinkedText | None = None
        """The open paragraph."""
        self._level = 0
        self._has_bullet: bool | None = None
        self._is_ordered = False
        self._numbers: dict[int, int] = {}
        self._grid: TableGrid | None = None
        self._cell = CellText()
        self._spans = (1, 1)
        self._is_covered = False
        self._is_header = self._has_header = False
        self._is_text = False
        self._run_begin = 0
        self._run_kinds: list[SpanKind] = []
        self._formula: OmmlReader | None = None
        self._description = ""
        """Of the last shape that began."""

    def start(self, name: str, attributes: Attributes) -> None:
        name = SHORT_NAMES[name]
        if self._skip_depth or name == "mc:Fallback":
            self._skip_depth += 1
        elif self._formula is not None:
            self._formula.start(name, attributes)
        elif name == "m:oMath":
            self._formula = OmmlReader()
        elif name in ("a:r", "a:fld"):
            self._run_begin, self._run_kinds = len(self._text.parts) if self._text is not None else 0, []
        elif name == "a:rPr":
            self._run_kinds = [kind for letter, kind in _EMPHASIS if attributes.get(letter) in ("1", "true")]
        elif name == "c:chart":
            relation = self._relations.get(get_relation_id(attributes))
            if relation is not None:
                self.blocks += read_chart(self._package, relation.target, self._budget)
        elif name in ("p:sp", "a:p", "a:tbl", "a:tc", "a:t", "a:br", "a:buNone", "a:tr"):
            self._begin(name, attributes)
        elif name == "p:ph":
            self._placeholder = attributes.get("type", "obj")
        elif name == "a:pPr":
            self._level = min(parse_size(attributes.get("lvl", ""), 0), LEVEL_MAX)
        elif name in ("a:buChar", "a:buAutoNum"):
            self._has_bullet, self._is_ordered = True, name == "a:buAutoNum"
        elif name == "a:hlinkClick":
            relation = self._relations.get(get_relation_id(attributes))
            if self._text is not None and relation is not None and relation.kind == "hyperlink":
                self._text.begin_link(relation.target)
        elif name == "a:tblPr":
            self._has_header = attributes.get("firstRow") in ("1", "true")
        elif name == "p:cNvPr":
            self._description = collapse_whitespace(attributes.get("descr", ""))

    def _begin(self, name: str, attributes: Attributes) -> None:
        match name:
            case "p:sp":
                self._placeholder = ""
                self._numbers = {}
            case "a:p":
                self._text, self._level, self._has_bullet, self._is_ordered = LinkedText(), 0, None, False
            case "a:t":
                self._is_text = True
            case "a:br":
                self.text_break()
            case "a:buNone":
                self._has_bullet = False
            case "a:tbl":
                self._grid, self._is_header = TableGrid(), False
            case "a:tr":
                self._begin_row()
            case "a:tc":
                attributes = strip_namespaces(attributes)
                self._cell = CellText()
                self._is_covered = attributes.get("hMerge") in ("1", "true") or attributes.get("vMerge") in (
                    "1",
                    "true",
                )
                self._spans = (
                    parse_size(attributes.get("rowSpan", ""), 1),
                    parse_size(attributes.get("gridSpan", ""), 1),
                )

    def _begin_row(self) -> None:
        if self._grid is not None:
            self._is_header = self._has_header
            self._has_header = False
            self._grid.new_row()

    def end(self, name: str) -> None:
        if self._skip_depth:
            self._skip_depth -= 1
            return
        name = SHORT_NAMES[name]
        if self._formula is not None:
            if name == "m:oMath":
                self._end_formula(self._formula)
            else:
                self._formula.end()
            return
        match name:
            case "a:t":
                self._is_text = False
            case "a:r" | "a:fld":
                if self._text is not None:
                    self._text.mark_from(self._run_kinds, self._run_begin)
                    self._text.end_link()
            case "a:p":
                self._end_paragraph()
            case "a:tc":
                if self._grid is not None and not self._is_covered:
                    self._grid.add(self._cell.text, *self._spans, is_header=self._is_header)
                    self._grid.set_links(self._cell.links)
                    self._grid.set_spans(self._cell.spans)
            case "a:tbl":
                if self._grid is not None:
                    self.blocks += self._grid.finish(self._budget)
                    self._grid = None
            case "p:pic":
                self.blocks.append(Picture(caption=self._description))
            case "p:sp":
                self._placeholder = ""

    def _end_formula(self, formula: OmmlReader) -> None:
        self._formula = None
        if self._text is not None and (latex := formula.finish().strip()):
            self._text.add_marked("formula", latex)

    def text(self, text: str) -> None:
        if self._formula is not None:
            self._formula.text(text)
        elif self._is_text and not self._skip_depth and self._text is not None:
            self._text.parts.append(text)

    def text_break(self) -> None:
        if self._text is not None:
            self._text.parts.append("\n")

    def _end_paragraph(self) -> None:
        paragraph, self._text = self._text or LinkedText(), None
        text, spans = paragraph.collapse()
        if not text:
            return
        if self._grid is not None:
            self._cell.add(text, spans, paragraph.links)
        elif self._placeholder in _TITLES:
            self._add_title(text, spans, paragraph.links)
        elif self._placeholder in _FURNITURE:
            self.blocks.append(Furniture(text=text, kind="footer" if self._placeholder == "ftr" else "header"))
        elif self._placeholder not in _LEFT_OUT:
            self._add_text(text, spans, paragraph.links)

    def _add_title(self, text: str, spans: list[Span], links: list[Link]) -> None:
        """A title of several paragraphs is one title."""
        if self.titles:
            last = self.titles[-1]
            if isinstance(last, Title | Heading):
                last.spans += move_spans(spans, len(last.text) + 1)
                last.text += f" {text}"
                last.links += links
        elif self._is_first and self._placeholder == "ctrTitle":
            self.titles.append(Title(text=text, links=links, spans=spans))
        else:
            self.titles.append(Heading(text=text, level=1, links=links, spans=spans))

    def _add_text(self, text: str, spans: list[Span], links: list[Link]) -> None:
        is_item = self._has_bullet if self._has_bullet is not None else self._placeholder in _LIST_PLACEHOLDERS
        if not is_item:
            self.blocks.append(Paragraph(text=text, links=links, spans=spans))
            return
        marker = "-"
        if self._is_ordered:
            number = self._numbers.get(self._level, 0) + 1
            self._numbers = {level: count for level, count in self._numbers.items() if level < self._level}
            self._numbers[self._level] = number
            marker = f"{number}."
        self.blocks.append(ListItem(text, self._level, self._is_ordered, marker, links=links, spans=spans))
