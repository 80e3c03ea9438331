"""The smallest things that a chunk is made of: a paragraph that fits, a sentence of one that does not, a row of a
table, a line of code. A unit is a stretch of the document's text, and units cover all of it.

The text of a document is its pieces, one after the other, with an empty line between. Offsets count characters of it,
so a chunk *is* a stretch of it, and any two offsets can be compared.
"""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from .tokens import Count

GAP = "\n\n"
_ENDS = "\u3002\uff01\uff1f"  # the full stops of scripts that write no space after them
_SENTENCE_END = re.compile(rf"(?<=[.!?\u2026{_ENDS}])[\"'\u201d\u2019)\]]*\s+|(?<=[{_ENDS}])|\n+")
_WORD_END = re.compile(r"\s+|(?<=[^\x00-\u2fff])")


class Piece(NamedTuple):
    """A block of a document, as far as chunks care."""

    text: str
    kind: str
    """`heading`, `text`, `list`, `table` or `code`."""
    ref: str
    """The document item it came from, as the document names it."""
    page: int | None = None
    path: tuple[str, ...] = ()
    """Titles of the sections it lies in, the outermost first; of a heading, itself included."""


class Unit(NamedTuple):
    """A stretch of text that is not cut any further."""

    start: int
    end: int
    tokens: int
    piece: int
    """Which piece it is of."""
    is_heading: bool


def joined(pieces: Sequence[Piece]) -> str:
    """The text of the document."""
    return GAP.join(piece.text for piece in pieces)


def units(pieces: Sequence[Piece], count: Count, tokens_max: int) -> Iterator[Unit]:
    """Every piece, cut as little as can be so that nothing is larger than `tokens_max`."""
    start = 0
    for number, piece in enumerate(pieces):
        for first, last, tokens in _cut(piece, count, tokens_max):
            yield Unit(start + first, start + last, tokens, number, piece.kind == "heading")
        start += len(piece.text) + len(GAP)


def _cut(piece: Piece, count: Count, tokens_max: int) -> Iterator[tuple[int, int, int]]:
    """Start, end and tokens of each unit within a piece."""
    text = piece.text
    total = count(text)
    if piece.kind in ("table", "code"):
        yield from _fitting(text, [*_lines(text)], count, tokens_max)
    elif total <= tokens_max:
        yield 0, len(text), total
    else:
        yield from _fitting(text, [*_spans(text, _SENTENCE_END)], count, tokens_max)


def _fitting(
    text: str, spans: Sequence[tuple[int, int]], count: Count, tokens_max: int
) -> Iterator[tuple[int, int, int]]:
    """The spans, those that are too large cut into words."""
    for start, end in spans:
        tokens = count(text[start:end])
        if tokens <= tokens_max:
            yield start, end, tokens
        else:
            yield from _words(text, start, end, count, tokens_max)


def _words(text: str, start: int, end: int, count: Count, tokens_max: int) -> Iterator[tuple[int, int, int]]:
    """A sentence, line or row that is too large: as many words as fit, again and again; a word that is too large by
    itself is cut through."""
    from_ = start
    tokens = 0
    for first, last in _spans(text[start:end], _WORD_END):
        size = count(text[start + first : start + last])
        if tokens and tokens + size > tokens_max:
            yield from_, start + first, tokens
            from_, tokens = start + first, 0
        if size > tokens_max:
            yield from _pieces_of_a_word(text, start + first, start + last, count, tokens_max)
            from_, tokens = start + last, 0
        else:
            tokens += size
    if from_ < end:
        yield from_, end, tokens


def _pieces_of_a_word(text: str, start: int, end: int, count: Count, tokens_max: int) -> Iterator[tuple[int, int, int]]:
    while start < end:
        length = min(end - start, tokens_max)
        while length > 1 and count(text[start : start + length]) > tokens_max:
            length //= 2
        yield start, start + length, count(text[start : start + length])
        start += length


def _spans(text: str, boundary: re.Pattern[str]) -> Iterator[tuple[int, int]]:
    """From one boundary to the next; what separates belongs to what comes before it."""
    start = 0
    for found in boundary.finditer(text):
        if found.end() > start:
            yield start, found.end()
            start = found.end()
    if start < len(text):
        yield start, len(text)


def _lines(text: str) -> Iterator[tuple[int, int]]:
    start = 0
    for line in text.splitlines(keepends=True):
        yield start, start + len(line)
        start += len(line)
