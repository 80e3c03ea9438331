"""Decides whether lines are a heading, and its level, by what is known of the whole document."""

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from inorder.documents.readers.pdf.formulas import is_formula
from inorder.documents.readers.pdf.segments import PageText, Segment

from .captions import CAPTION
from .numbering import level_of, parse_number
from .runs import CHARACTERS_MAX, LINES_MAX, SIZE_STEP, style_key
from .styles import LEVELS_MAX, SAME_SIZE_CHARACTERS_MAX, is_plain_heading

if TYPE_CHECKING:
    from inorder.documents.readers.pdf.document_stats import DocumentStats

SAME_SIZE_LINES_MAX = 3
SAME_SIZE_SPACES_MAX = 24
SIZE_SHARE_MIN = 0.92
"""Size of a bold heading, as a share of that of the text."""
PROSE_CHARACTERS_MIN = 60
"""What has more, and two sentences, is text in another size."""
_SENTENCES = re.compile(r"\w{2}[)\"\u201d]?[.!?]\s+[^\W\d_a-z].*\w[.!?]$", re.DOTALL)
"""The end of a sentence, followed by another one."""


class HeadingRules:
    """The headings of one page of a document."""

    def __init__(self, stats: "DocumentStats", page: PageText) -> None:
        self._stats = stats
        self._size_min = stats.heading_size_min
        self._levels = {style.key: style.level for style in stats.headings.styles}
        self._front = {style.key for style in stats.headings.front_styles} if page.number == 1 else set()
        title = stats.title_style
        self._title = title.key if title and page.number == 1 else None
        self._wants_title = page.number == 1 and (stats.title_size > 0 or title is not None)
        self._may_be_named = page.number == 1
        self.outline = stats.outline_of_page(page)

    def is_styled(self, line: Segment) -> bool:
        """Whether a line has a style of headings."""
        stats = self._stats
        if line.size >= self._size_min:
            return True
        if line.is_bold and not stats.body_is_bold:
            return True
        if line.face == stats.body_face and not line.text.isupper():
            return False
        return style_key(line, stats.body_size) in self._levels

    def are_same_style(self, line: Segment, other: Segment) -> bool:
        """Whether two lines have the same style."""
        body_size = self._stats.body_size
        return style_key(line, body_size) == style_key(other, body_size)

    def take_title(self, piece: Sequence[Segment]) -> bool:
        """Whether these lines are the title of the document. True only once."""
        if not self._wants_title:
            return False
        size, stats = piece[0].size, self._stats
        by_size = stats.title_size > 0 and abs(size - stats.title_size) <= SIZE_STEP
        if by_size or (self._title and style_key(piece[0], stats.body_size) == self._title):
            self._wants_title = False
            return True
        return False

    def take_named_title(self) -> bool:
        """Whether a line that the outline names as the title is it. True only once."""
        if not self._may_be_named:
            return False
        self._may_be_named = self._wants_title = False
        return True

    def level(self, piece: Sequence[Segment], text: str) -> int:
        """The level of a heading; 0 if these lines are not a heading."""
        stats, first = self._stats, piece[0]
        larger = first.size >= self._size_min
        if not larger and not self.is_styled(first):
            return self._plain_level(piece, text) if stats.headings.has_plain_numbers else 0
        if len(piece) > LINES_MAX or len(text) > CHARACTERS_MAX or CAPTION.match(text):
            return 0
        if not any(map(str.isalpha, text)) or text in self._stats.headings.repeated or is_formula(text):
            return 0
        if len(text) > PROSE_CHARACTERS_MIN and _SENTENCES.search(text):
            return 0
        key = style_key(first, stats.body_size)
        if key in self._front:
            return 0
        level = self._levels.get(key, 0)
        if not larger and not self._is_same_size_heading(piece, text, is_known=level > 0):
            return 0
        number = parse_number(text)
        if number is not None and number.scheme in stats.headings.schemes:
            return min(LEVELS_MAX, level_of(number, stats.headings.schemes))
        return level or (stats.heading_level(first.size) if larger else stats.bold_heading_level)

    def lead_level(self, title: Segment) -> int:
        """The level of a heading that the text follows on the same line; 0 if it is not a heading."""
        number = parse_number(title.text)
        headings = self._stats.headings
        if number is None or number.scheme not in headings.schemes:
            return 0
        if style_key(title, self._stats.body_size) not in self._levels:
            return 0
        return min(LEVELS_MAX, level_of(number, headings.schemes))

    def _is_same_size_heading(self, piece: Sequence[Segment], text: str, *, is_known: bool) -> bool:
        """Whether lines that are not larger than the text are a heading."""
        stats, first = self._stats, piece[0]
        if not is_known and (stats.headings.is_outlined or first.size < SIZE_SHARE_MIN * stats.body_size):
            return False
        if first.is_bold and not all(line.is_bold for line in piece):
            return False
        if len(text) > SAME_SIZE_CHARACTERS_MAX or len(piece) > SAME_SIZE_LINES_MAX:
            return False
        if text.count(" ") > SAME_SIZE_SPACES_MAX or text[0].islower():
            return False
        return not text.endswith((".", ",", ";", ":")) or (parse_number(text) is not None and len(text) < 60)

    def _plain_level(self, piece: Sequence[Segment], text: str) -> int:
        """The level of a numbered heading that looks like the text."""
        headings = self._stats.headings
        if len(piece) > 2 or not is_plain_heading(text):
            return 0
        number = parse_number(text)
        if number is None or number.scheme not in headings.schemes:
            return 0
        return min(LEVELS_MAX, level_of(number, headings.schemes))
