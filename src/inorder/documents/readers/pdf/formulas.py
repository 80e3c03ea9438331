"""Finds displayed formulas: paragraphs of symbols without words.

A formula is often drawn in pieces: a fraction is two lines, a sum has limits above and below. Pieces without words that
are directly above, below or beside a formula belong to it. Its text is what was drawn, in reading order.
"""

import re
from collections.abc import Iterable

from inorder.documents.model import AnyBlock, Box, Formula, Paragraph

CHARACTERS_MAX = 300
FRAGMENT_CHARACTERS_MAX = 24
NEAR_POINTS = 14.0
"""How far apart two pieces of a formula may be."""

_RELATION = re.compile(
    "[=<>\u2192\u21a6\u21d2\u21d4\u2208\u221d\u223c\u2243\u2245\u2248\u2254\u225c\u2260-\u2265\u2282\u2286]"
)
_WORD = re.compile(r"[^\W\d_]{3,}")
_FUNCTIONS = "|sin|cos|tan|cot|tanh|log|exp|max|min|arg|argmax|argmin|lim|sup|inf|det|diag|dim|mod|var|"
"""Names of functions, which are not words."""


def join_formulas(blocks: Iterable[AnyBlock]) -> list[AnyBlock]:
    """The blocks, with paragraphs that are formulas, and the pieces around them, as one formula each."""
    found: list[AnyBlock] = []
    waiting: list[Paragraph] = []

    def flush() -> None:
        if not waiting:
            return
        if any(is_formula(piece.text) for piece in waiting):
            text = " ".join(piece.text for piece in waiting)
            found.append(Formula(text=text, page=waiting[0].page, box=_join_boxes(waiting)))
        else:
            found.extend(waiting)
        waiting.clear()

    for block in blocks:
        if not isinstance(block, Paragraph) or not (is_formula(block.text) or _is_fragment(block.text)):
            flush()
            found.append(block)
            continue
        if waiting and not _is_near(waiting[-1], block):
            flush()
        waiting.append(block)
    flush()
    return found


def is_formula(text: str) -> bool:
    """Whether a text relates two things and has no words."""
    return 2 < len(text) <= CHARACTERS_MAX and bool(_RELATION.search(text)) and not _has_words(text)


def _is_fragment(text: str) -> bool:
    return len(text) <= FRAGMENT_CHARACTERS_MAX and not _has_words(text)


def _has_words(text: str) -> bool:
    return any(f"|{word.lower()}|" not in _FUNCTIONS for word in _WORD.findall(text))


def _is_near(before: Paragraph, block: Paragraph) -> bool:
    if before.box is None or block.box is None:
        return False
    return block.box[1] - before.box[3] < NEAR_POINTS and before.box[1] - block.box[3] < NEAR_POINTS


def _join_boxes(pieces: Iterable[Paragraph]) -> Box | None:
    boxes = [piece.box for piece in pieces if piece.box is not None]
    if not boxes:
        return None
    lefts, tops, rights, bottoms = zip(*boxes, strict=True)
    return min(lefts), min(tops), max(rights), max(bottoms)
