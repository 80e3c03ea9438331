"""Turns paragraphs of a DOCX file into blocks, by their style, their list, and the block before."""

from typing import NamedTuple

from inorder.documents.model import AnyBlock, Code, Formula, Heading, ListItem, Paragraph, Picture, Span, Title
from inorder.documents.readers.office.package import LinkedText
from inorder.documents.readers.spans import move_spans

from .numbering import Numbering
from .styles import OUTLINE_LEVELS, DocxStyle, DocxStyleSheet

_NO_STYLE = DocxStyle()


class _ListPlace(NamedTuple):
    """The place of a paragraph in a list."""

    depth: int
    is_ordered: bool
    marker: str


class OpenParagraph(LinkedText):
    """A paragraph whose end has not been reached."""

    def __init__(self) -> None:
        super().__init__()
        self.pictures: list[AnyBlock] = []
        """Pictures and charts in it."""
        self.style_id = ""
        self.number_id = ""
        self.list_level = -1
        self.outline = OUTLINE_LEVELS
        self.has_words = False
        self.is_display = False
        """Whether it has a formula on a line of its own."""


class ParagraphClassifier:
    """Decides what each paragraph is, and keeps the blocks."""

    def __init__(self, styles: DocxStyleSheet, numbering: Numbering) -> None:
        self.blocks: list[AnyBlock] = []
        self.styles = styles
        self._numbering = numbering
        self._caption: Paragraph | None = None
        """The last caption that did not follow a picture."""
        self._code_lines: list[tuple[Code, list[str]]] = []

    def add(self, paragraph: OpenParagraph) -> None:
        """Add the block of a finished paragraph, and its pictures."""
        style = self.styles.style(paragraph.style_id) if paragraph.style_id else _NO_STYLE
        if style.role == "code":
            self._add_code("".join(paragraph.parts))
        else:
            text, spans = paragraph.collapse()
            if text:
                self._add_text(text, spans, paragraph, style)
        self.blocks += paragraph.pictures

    def finish(self) -> list[AnyBlock]:
        """All blocks, after the last paragraph."""
        for code, lines in self._code_lines:
            code.text = "\n".join(lines).rstrip()
        return self.blocks

    def take_caption(self) -> str:
        """Remove and return the caption directly before the current position; empty if there is none."""
        if self._caption is None or self.blocks[-1] is not self._caption:
            return ""
        self.blocks.pop()
        return self._caption.text

    def _add_text(self, text: str, spans: list[Span], paragraph: OpenParagraph, style: DocxStyle) -> None:
        links = paragraph.links
        if paragraph.outline < OUTLINE_LEVELS or style.role == "heading":
            level = paragraph.outline + 1 if paragraph.outline < OUTLINE_LEVELS else style.level
            place = self._find_place(paragraph, style)
            if place is not None and place.is_ordered and place.marker:
                text, spans = f"{place.marker} {text}", move_spans(spans, len(place.marker) + 1)
            self.blocks.append(Heading(text=text, level=level, links=links, spans=spans))
        elif style.role == "title":
            self.blocks.append(Title(text=text, links=links, spans=spans))
        elif style.role == "caption":
            self._add_caption(text)
        elif place := self._find_place(paragraph, style):
            self.blocks.append(ListItem(text, *place, links=links, spans=spans))
        elif paragraph.is_display and not paragraph.has_words:
            self.blocks.append(Formula(text=text))
        else:
            self.blocks.append(Paragraph(text=text, links=links, spans=spans))

    def _find_place(self, paragraph: OpenParagraph, style: DocxStyle) -> _ListPlace | None:
        """The place of a paragraph in its list, whose counter advances; None if it is in none."""
        number_id = paragraph.number_id or style.number_id
        if number_id in ("", "0"):
            return None
        depth = paragraph.list_level if paragraph.list_level >= 0 else style.list_level
        return _ListPlace(depth, *self._numbering.next_marker(number_id, depth))

    def _add_code(self, text: str) -> None:
        """Every line of code is a paragraph in DOCX. Consecutive lines become one block."""
        if self.blocks and self._code_lines and self.blocks[-1] is self._code_lines[-1][0]:
            self._code_lines[-1][1].append(text.rstrip())
        elif text.strip():
            code = Code(text="")
            self.blocks.append(code)
            self._code_lines.append((code, [text.rstrip()]))

    def _add_caption(self, text: str) -> None:
        """Captions are below pictures and above tables."""
        last = self.blocks[-1] if self.blocks else None
        if type(last) is Picture:
            last.caption = f"{text} {last.caption}".rstrip()  # the description of the picture stays
        else:
            self._caption = Paragraph(text=text)
            self.blocks.append(self._caption)
