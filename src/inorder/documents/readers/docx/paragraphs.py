"""Turns paragraphs of a DOCX file into blocks, by their style, their list, and the block before."""

from inorder.documents.model import AnyBlock, Code, Formula, Heading, ListItem, Paragraph, Picture, Title
from inorder.documents.readers.office.package import LinkedText
from inorder.documents.readers.whitespace import collapse_whitespace

from .numbering import Numbering
from .styles import OUTLINE_LEVELS, DocxStyle, DocxStyleSheet

_NO_STYLE = DocxStyle()
_MATH_EMPTY = ("^()", "_()")


class OpenParagraph(LinkedText):
    """A paragraph whose end has not been reached."""

    def __init__(self) -> None:
        super().__init__()
        self.pictures: list[Picture] = []
        self.style_id = ""
        self.number_id = ""
        self.list_level = -1
        self.outline = OUTLINE_LEVELS
        self.has_words = False
        self.has_math = False
        self.is_display = False
        """Whether it has a formula on a line of its own."""


class ParagraphClassifier:
    """Decides what each paragraph is, and keeps the blocks."""

    def __init__(self, styles: DocxStyleSheet, numbering: Numbering) -> None:
        self.blocks: list[AnyBlock] = []
        self._styles = styles
        self._numbering = numbering
        self._caption: Paragraph | None = None
        """The last caption that did not follow a picture."""
        self._code_lines: list[tuple[Code, list[str]]] = []

    def add(self, paragraph: OpenParagraph) -> None:
        """Add the block of a finished paragraph, and its pictures."""
        raw = "".join(paragraph.parts)
        if paragraph.has_math:
            for empty in _MATH_EMPTY:
                raw = raw.replace(empty, "")
        style = self._styles.style(paragraph.style_id) if paragraph.style_id else _NO_STYLE
        if style.role == "code":
            self._add_code(raw)
        elif text := collapse_whitespace(raw):
            self._add_text(text, paragraph, style)
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

    def _add_text(self, text: str, paragraph: OpenParagraph, style: DocxStyle) -> None:
        if paragraph.outline < OUTLINE_LEVELS:
            self.blocks.append(Heading(text=text, level=paragraph.outline + 1, links=paragraph.links))
        elif style.role == "heading":
            self.blocks.append(Heading(text=text, level=style.level, links=paragraph.links))
        elif style.role == "title":
            self.blocks.append(Title(text=text, links=paragraph.links))
        elif style.role == "caption":
            self._add_caption(text)
        elif (number_id := paragraph.number_id or style.number_id) not in ("", "0"):
            depth = paragraph.list_level if paragraph.list_level >= 0 else style.list_level
            is_ordered, marker = self._numbering.next_marker(number_id, depth)
            self.blocks.append(
                ListItem(text=text, depth=depth, ordered=is_ordered, marker=marker, links=paragraph.links)
            )
        elif paragraph.is_display and not paragraph.has_words:
            self.blocks.append(Formula(text=text))
        else:
            self.blocks.append(Paragraph(text=text, links=paragraph.links))

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
            last.caption = text
        else:
            self._caption = Paragraph(text=text)
            self.blocks.append(self._caption)
