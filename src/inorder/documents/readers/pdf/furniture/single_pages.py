"""Finds headers, footers and page numbers in documents of a few pages, where nothing is repeated.

A row at the edge is furniture if it reads like it: a page number, a journal with its volume, a copyright notice, where
it was downloaded. A short row in small type, far above a page of text, is a running head. So is a row of several parts,
far from each other, in the margin of the page. Everything else is text: a word that is missing there is worse than a
header that is left in it.
"""

import re
from collections.abc import Sequence

from inorder.documents.readers.pdf.segments import EdgeRow

EDGE_SHARE = 0.1
"""How far from the edge of a page such rows may be, as a share of the height of the page. Farther ones need a wider
gap."""
GAP_SIZES = 0.8
WIDE_GAP_RATIO = 1.5
"""A wide gap to the text, compared with the size of the text."""
CHARACTERS_MAX = 80
SIZE_RATIO_MAX = 1.05
NUMBER_RATIO_MAX = 1.35
"""Size of a page number, compared with the text."""
MARGIN_SHARE = 0.055
"""How far from the edge the middle of a row in the margin may be, as a share of the height of the page."""
SMALL_RATIO = 0.9
"""Size of a running head that nothing else shows, compared with the text."""
HEAD_CHARACTERS_MIN, HEAD_CHARACTERS_MAX = 4, 60
HEAD_ROWS_MIN = 12
"""Rows of a page that has such a head."""

_PAGE_WORDS = r"page|seite|p[aá]gina|pg\.?|p\.|pag\.?"
_PAGE_NUMBER = re.compile(
    rf"[^\w\s]*\s*(?:(?:{_PAGE_WORDS})\s*[|:]?\s*)?"
    r"(?:\d{1,4}|(?-i:[ivxl]{1,7}|[A-Z]{1,2}-\d{1,3}|[A-Z]\d{1,4})|\d{1,2}-\d{1,3})"
    r"\s*(?:(?:/|of|von|de|sur|di)\s*\d{1,4})?\s*[^\w\s]*",
    re.IGNORECASE,
)
_NOTE = re.compile(r"(?:\d{1,3}|[*\u2020\u2021\u00a7])\s*[^\W\d_]")
_BESIDE_NUMBER = re.compile(r"\d{1,4}\s+[^\W\d_].{2,}|[^\W\d_].{2,}\s\d{1,4}", re.DOTALL)
_RUNNING = re.compile(
    r"\bvol(?:ume\b|\.)\s*\d|\bno\.\s*\d|\bet al\.|arxiv:"
    r"|\bpage \d+ of \d+|\b(?:journal|proceedings|transactions) of\b|\bpreprint\b"
    r"|\b(?:author|accepted) manuscript\b|\b\d+\s*[,:]\s*[a-z]?\d+\s*[\u2013-]\s*\d+\b|^page \d{1,4}\b",
    re.IGNORECASE,
)
_NOTICE = re.compile(
    r"\bissn\b|\bisbn\b|\bdoi\b|\u00a9|\bcopyright\b|all rights reserved|\bdownloaded (?:from|by)\b"
    r"|\blicensed use limited\b|^VerDate\b|^(?:https?://|www\.)\S+(?:\s*\(\d+ of \d+\).*)?$",
    re.IGNORECASE,
)
_SENTENCE_ENDS = (".", ",", ";", ":", "?", "!", "-")
_LIST_MARKER = re.compile(r"\W|\d+[.)]\s|\w[.)]\s")


def take_furniture(inwards: Sequence[EdgeRow], height: float, row_count: int, body_size: float) -> list[EdgeRow]:
    """The outermost rows at one edge of a page that are furniture by themselves."""
    taken = 0
    for index, row in enumerate(inwards):
        is_known = _reads_like_furniture(row, body_size) or _is_in_margin(row, height, body_size)
        if not is_known and (row_count < HEAD_ROWS_MIN or not _is_small_head(row, body_size)):
            break
        from_edge = row.middle if row.edge == "header" else height - row.middle
        is_certain = from_edge <= EDGE_SHARE * height or (row.is_spread and is_known)
        if row.gap > (GAP_SIZES * row.size if is_certain else WIDE_GAP_RATIO * body_size):
            taken = index + 1
    return list(inwards[:taken])


def _reads_like_furniture(row: EdgeRow, body_size: float) -> bool:
    """Whether a row is a page number, a journal with its volume, or a notice."""
    text = row.text
    if _PAGE_NUMBER.fullmatch(text):
        return row.size <= NUMBER_RATIO_MAX * body_size
    if row.size > SIZE_RATIO_MAX * body_size or (row.edge == "footer" and _NOTE.match(text) and not row.is_spread):
        return False
    if _NOTICE.search(text):
        return True
    if len(text) > CHARACTERS_MAX:
        return False
    if _RUNNING.search(text):
        return True
    is_beside = bool(_BESIDE_NUMBER.fullmatch(text)) and not text.endswith(".")
    return is_beside and (row.is_spread or row.size < 0.95 * body_size)


def _is_in_margin(row: EdgeRow, height: float, body_size: float) -> bool:
    """Whether a row has several parts, far from each other, and stands in the margin, apart from the text."""
    from_edge = row.middle if row.edge == "header" else height - row.middle
    if not row.is_spread or from_edge > MARGIN_SHARE * height or row.gap < WIDE_GAP_RATIO * body_size:
        return False
    if row.size > NUMBER_RATIO_MAX * body_size or len(row.text) > CHARACTERS_MAX:
        return False
    return not row.text.endswith(_SENTENCE_ENDS) and not _LIST_MARKER.match(row.text)


def _is_small_head(row: EdgeRow, body_size: float) -> bool:
    """Whether a row is a running head by its size and by its distance to the text."""
    text = row.text
    if row.edge != "header" or row.size > SMALL_RATIO * body_size or row.gap < WIDE_GAP_RATIO * body_size:
        return False
    if not HEAD_CHARACTERS_MIN <= len(text) <= HEAD_CHARACTERS_MAX or text[0].islower():
        return False
    return not text.endswith(_SENTENCE_ENDS) and not _LIST_MARKER.match(text)
