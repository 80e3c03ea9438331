"""Groups the lines of a column into paragraphs, headings, list items and code.

Lines are added to the current block until a new one begins: by another size or weight, a larger distance, a list
marker, an indent, or a line that ended early although the next word would have fitted. The kind of a block follows from
its style, compared with the usual text of the document.

Lines in right-to-left scripts are mirrored first, so that the same rules for indents apply.
"""

from collections.abc import Sequence

import msgspec

from inorder.documents.model import AnyBlock, Code, Heading, ListItem, Paragraph, Title
from inorder.documents.readers.unicode import is_cjk

from .columns import BULLETS, Column, bounding_box, find_marker, format_code, has_few_letters
from .document_stats import DocumentStats
from .headings.leads import split_lead
from .headings.numbering import parse_number
from .headings.rules import HeadingRules
from .lines import join_lines
from .segments import PageText, Segment

HEADING_STEP_MAX = 1.65
"""Distance of two lines of one heading, in sizes."""
STEP_RATIO_MAX = 1.28
"""How much larger than usual the distance of two lines of a paragraph may be."""
LOWERED_RATIO_MAX = 1.45
"""Distance of a line that goes on with a sentence, compared with the usual one."""

_ENDS = tuple('.!?:;\u3002\uff01\uff1f\u061f\u06d4"\u201d)')


class ParagraphBuilder:
    """Builds the blocks of a page, column by column."""

    def __init__(self, stats: DocumentStats, page: PageText, *, right_to_left: bool = False) -> None:
        self._stats = stats
        self._heading_size_min = stats.heading_size_min
        self._page = page.number
        self._page_text = page.text
        self._right_to_left = right_to_left
        self._rules = HeadingRules(stats, page)
        self._blocks: list[AnyBlock] = []
        self._piece: list[Segment] = []
        self._marker, self._is_numbered = "", False
        self._indents: list[float] = []

    def build(self, lines: Sequence[Segment]) -> list[AnyBlock]:
        """The blocks of lines that are read from top to bottom."""
        if not lines:
            return []
        if self._right_to_left:
            return _mirror_boxes(self._build_upright([_mirror(line) for line in lines]))
        return self._build_upright(lines)

    def _build_upright(self, lines: Sequence[Segment]) -> list[AnyBlock]:
        self._blocks = []
        column = Column(lines)
        step_max = STEP_RATIO_MAX * column.leading
        named = self._find_named_headings(lines) if self._rules.outline else {}
        named_until = 0
        for index, line in enumerate(lines):
            if named:
                if index < named_until:
                    continue
                if index in named:
                    self._finish()
                    named_until, level = named[index]
                    self._add_heading(lines[index:named_until], level)
                    continue
            piece, text = self._piece, line.text
            if piece and text[0].islower() and not self._marker:
                before, size = piece[-1], line.size
                if (
                    size == before.size
                    and -0.8 * size <= line.x0 - before.x0 <= 0.8 * size
                    and 0.0 < line.bottom - before.bottom <= step_max
                    and line.is_bold == before.is_bold
                    and not (line.is_mono or before.is_mono)
                    and not find_marker(text)[0]
                ):
                    piece.append(line)
                    continue
            after = lines[index + 1] if index + 1 < len(lines) else None
            if line.lead is not None and not _is_set_in(line, after, column):
                title, *rest = split_lead(line)
                if level := self._rules.lead_level(title):
                    self._finish()
                    self._add_heading([title], level)
                    line = rest[0]
            marker, is_numbered = find_marker(line.text)
            if marker and not self._is_item(line, marker, column):
                marker = ""
            if self._piece and (marker or self._is_new_block(line, after, column)):
                self._finish()
            if not self._piece:
                self._marker, self._is_numbered = marker, is_numbered
            self._piece.append(line)
        self._finish()
        return self._blocks

    def _is_code(self, line: Segment) -> bool:
        return line.is_mono and not self._stats.body_is_mono and (line.text.isascii() or has_few_letters(line.text))

    def _is_item(self, line: Segment, marker: str, column: Column) -> bool:
        """Whether a line with this marker is a list item, and not running text that happens to begin with it."""
        if self._is_code(line):
            return False
        if marker in BULLETS or not self._piece or self._marker:
            return True
        before = self._piece[-1]
        if line.bottom - before.bottom > 1.25 * (column.leading or line.size) or before.text.endswith(_ENDS):
            return True
        return not column.is_full(before, line)

    def _is_new_block(self, line: Segment, after: Segment | None, column: Column) -> bool:
        """Whether a line without list marker begins a new block."""
        before = self._piece[-1]
        size = line.size
        step = line.bottom - before.bottom
        leading = column.leading or 1.3 * size
        is_large = size >= self._heading_size_min
        if is_large:
            leading = max(leading, 1.2 * size)
        if line.is_mono or before.is_mono:
            is_code = self._is_code(line)
            if is_code or self._is_code(before):
                return is_code != self._is_code(before) or not 0 < step < 3 * leading
        is_styled = self._rules.is_styled(line)
        if is_styled and self._rules.is_styled(before) and self._is_same_heading(line, before, column):
            return False
        if size != before.size and abs(size - before.size) > 0.12 * size:
            return True
        if step < -0.3 * size or (step > STEP_RATIO_MAX * leading and step > 1.1 * size):
            return step < 0 or not self._is_lowered(line, before, column)
        if (line.is_bold != before.is_bold or is_styled != self._rules.is_styled(before)) and (
            step > 1.1 * leading or not column.is_full(before, line)
        ):
            return True
        if self._marker:
            set_in = line.x0 - self._piece[0].x0
            return set_in < 0.3 * size and not (set_in > -2 and column.is_full(before, line))
        if abs(line.x0 - before.x0) > 0.8 * size:
            if column.is_centred(line) and column.is_centred(before):
                return False
            if self._is_indented(line, before, after):
                return True
        return not is_large and self._is_paragraph_end(before, line, column)

    def _is_lowered(self, line: Segment, before: Segment, column: Column) -> bool:
        """Whether a line goes on with a sentence, a little lower than usual, as below a raised number."""
        if (
            self._marker
            or not line.text[0].islower()
            or before.text.endswith(_ENDS)
            or not column.is_full(before, line)
        ):
            return False
        is_near = line.bottom - before.bottom <= LOWERED_RATIO_MAX * (column.leading or 1.3 * line.size)
        return is_near and line.is_bold == before.is_bold and abs(line.x0 - before.x0) <= 0.8 * line.size

    def _is_same_heading(self, line: Segment, before: Segment, column: Column) -> bool:
        """Whether a line in a style of headings continues the heading of the line before."""
        if not self._rules.are_same_style(line, before) or parse_number(line.text):
            return False
        if not 0 < line.bottom - before.bottom < HEADING_STEP_MAX * max(line.size, before.size):
            return False
        if line.text[0].islower() or column.is_full(before, line):
            return True
        first = self._piece[0]
        if line.x0 > first.x0 + 0.4 * line.size and parse_number(first.text):
            return True
        return abs(line.x0 + line.x1 - before.x0 - before.x1) < line.size

    def _is_indented(self, line: Segment, before: Segment, after: Segment | None) -> bool:
        """Whether a line has the indent of a new paragraph, or the outdent of a new hanging one."""
        if line.x0 > before.x0:
            return len(self._piece) > 1 or (after is not None and after.x0 < line.x0 - 0.5 * line.size)
        return len(self._piece) > 1

    @staticmethod
    def _is_paragraph_end(before: Segment, line: Segment, column: Column) -> bool:
        """Whether the line before ends a paragraph: it is short although the next word would have fitted."""
        is_ended = before.text.endswith(_ENDS)
        if line.text[0].islower() or not (is_ended or column.is_short(before)):
            return False
        if column.is_full(before, line) and not (is_ended and is_cjk(line.text[0]) and column.has_room(before)):
            return False
        return not (column.is_centred(line) and column.is_centred(before))

    def _finish(self) -> None:
        piece, self._piece = self._piece, []
        if not piece:
            return
        page, box = self._page, bounding_box(piece)
        if self._is_code(piece[0]):
            self._indents.clear()
            self._blocks.append(Code(text=format_code(piece), page=page, box=box))
            return
        text = join_lines([line.text for line in piece], self._page_text)
        is_bullet = bool(self._marker) and self._marker in BULLETS
        if not is_bullet and self._rules.take_title(piece):
            self._indents.clear()
            self._blocks.append(Title(text=text, page=page, box=box))
        elif not is_bullet and (level := self._rules.level(piece, text)):
            self._add_heading(piece, level)
        elif self._marker:
            self._blocks.append(self._make_item(piece, text))
        else:
            self._indents.clear()
            self._blocks.append(Paragraph(text=text, page=page, box=box))

    def _find_named_headings(self, lines: Sequence[Segment]) -> dict[int, tuple[int, int]]:
        """Headings that the outline names: where they begin, where they end, and their levels; the title has 0."""
        found: dict[int, tuple[int, int]] = {}
        texts = [line.text for line in lines]
        for index, text in enumerate(texts):
            count, level = self._rules.outline.match(texts[index:]) if not text[0].islower() else (0, 0)
            if count and (level or self._rules.take_named_title()):
                found[index] = index + count, level
        return found

    def _add_heading(self, piece: Sequence[Segment], level: int) -> None:
        self._indents.clear()
        text, box = join_lines([line.text for line in piece], self._page_text), bounding_box(piece)
        if level:
            self._blocks.append(Heading(text=text, level=level, page=self._page, box=box))
        else:
            self._blocks.append(Title(text=text, page=self._page, box=box))

    def _make_item(self, piece: Sequence[Segment], text: str) -> ListItem:
        x0, size = piece[0].x0, piece[0].size
        while self._indents and x0 < self._indents[-1] - 0.5 * size:
            self._indents.pop()
        if not self._indents or x0 > self._indents[-1] + 0.5 * size:
            self._indents.append(x0)
        return ListItem(
            text=text[len(self._marker) :].lstrip(),
            depth=len(self._indents) - 1,
            ordered=self._is_numbered,
            marker=self._marker,
            page=self._page,
            box=bounding_box(piece),
        )


def _is_set_in(line: Segment, after: Segment | None, column: Column) -> bool:
    """Whether a line begins a list item: it is set in, and goes on under its own text, or ends early."""
    if after is None or line.x0 < column.left + 0.5 * line.size:
        return False
    return after.x0 > line.x0 + 0.5 * line.size or not column.is_full(line, after)


def _mirror(line: Segment) -> Segment:
    return msgspec.structs.replace(line, x0=-line.x1, x1=-line.x0)


def _mirror_boxes(blocks: list[AnyBlock]) -> list[AnyBlock]:
    for block in blocks:
        if block.box is not None:
            left, top, right, bottom = block.box
            block.box = -right, top, -left, bottom
    return blocks
