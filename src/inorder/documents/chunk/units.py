"""The smallest things that a chunk is made of: a paragraph that fits, a sentence of one that does not, a row of a
table, a line of code. A unit is a stretch of the document's text, and units cover all of it but white space.

The text of a document is its pieces, one after the other, with an empty line between. Offsets count characters of it,
so a chunk *is* a stretch of it, and any two offsets can be compared.

What is too large is cut as gently as can be: between sentences, else between words, else beside the marks in a word,
else between letters as a reader sees them, accents and joined emoji in one, and only then between characters.
"""

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from .tokens import SPACELESS, Count

GAP = "\n\n"
_STOPS = "\u3002\uff01\uff1f"  # the full stops of scripts that write no space after them
_CLOSING = "\"'\u201d\u2019)\\]\u300d\u300f\uff09"
_SENTENCE = re.compile(
    rf"[.!?\u2026{_STOPS}\n](?:(?<=\n)\n*|(?<=[{_STOPS}])[{_CLOSING}]*\s*|(?<=[.!?\u2026])[{_CLOSING}]*\s+)"
)
_WORD = re.compile(rf"[^\s{SPACELESS}]+\s*|[{SPACELESS}]\s*|\s+")
_FLAG_LETTER = "[\U0001f1e6-\U0001f1ff]"
_PART = re.compile(rf"{_FLAG_LETTER}{{2}}|[^\W_]+|[\W_]")
_FIRST_ACCENT = "\u0300"
_JOINER = "\u200d"
_SKIN_TONES = range(0x1F3FB, 0x1F400)
_FLAG_TAGS = range(0xE0020, 0xE0080)
_JAMO = range(0x1160, 0x1200)
_SPACING_VOWELS = "\u0e33\u0eb3"
_VIRAMA = 9


class Piece(NamedTuple):
    """A block of a document, as far as chunks care."""

    text: str
    kind: str
    """`heading`, `text`, `list`, `table` or `code`."""
    ref: str
    """The document item it came from, as the document names it."""
    pages: tuple[int, ...] = ()
    """Those it stands on."""
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
    """Every piece, cut as little as can be so that nothing is larger than `tokens_max`, but for a single character that
    is. What follows a heading is also cut if it would not fit into a chunk together with it."""
    start = heading_tokens = 0
    for number, piece in enumerate(pieces):
        is_heading = piece.kind == "heading"
        room = tokens_max if is_heading or heading_tokens >= tokens_max else tokens_max - heading_tokens
        heading_tokens = heading_tokens if is_heading else 0
        for first, last, tokens in _cut(piece, count, tokens_max, room):
            yield Unit(start + first, start + last, tokens, number, is_heading)
            heading_tokens += tokens if is_heading else 0
        start += len(piece.text) + len(GAP)


_Span = tuple[int, int, int]
"""Start, end and tokens, within a piece."""
_Ends = Callable[[str, int, int], Iterator[int]]
"""Where a stretch of a text can be cut, its own end included."""


def _cut(piece: Piece, count: Count, tokens_max: int, room: int) -> Iterable[_Span]:
    text = piece.text
    if piece.kind in ("table", "code"):
        return _Cutter(text, count, tokens_max, room).each(_ends_of_lines(text))
    said = text.strip()
    tokens = count(said)
    if tokens > room:
        return _Cutter(text, count, tokens_max, room).each(_ends_of_sentences(text, 0, len(text)))
    return ((0, len(text), tokens),) if said else ()


class _Cutter:
    """Cuts a text so that no stretch of it is too large. Stretches are counted without the white space around them, as
    they will be read."""

    def __init__(self, text: str, count: Count, tokens_max: int, room: int) -> None:
        self._text = text
        self._count = count
        self._tokens_max = tokens_max
        self._room = room
        """Tokens of what comes next, if it is cut anyway."""

    def each(self, ends: Iterable[int]) -> Iterator[_Span]:
        """From end to end; what is too large by itself is cut. White space by itself is left out."""
        start = 0
        for end in ends:
            if said := self._text[start:end].strip():
                tokens = self._count(said)
                if tokens <= self._tokens_max:
                    yield start, end, tokens
                else:
                    yield from self._filled(start, end, _FINER)
                self._room = self._tokens_max
            start = end

    def _filled(self, start: int, end: int, levels: Sequence[_Ends]) -> Iterator[_Span]:
        """As much as fits, again and again, cut where the first of these levels allows; what is too large even then is
        cut where the others do."""
        taken = [start]
        tokens = 0
        for at in levels[0](self._text, start, end):
            size = self._count(self._text[taken[-1] : at].strip())
            if len(taken) > 1 and tokens + size > self._room:
                yield from self._halved(taken)
                self._room = self._tokens_max
                taken, tokens = taken[-1:], 0
            if size > self._tokens_max and len(levels) > 1:
                yield from self._filled(taken[-1], at, levels[1:])
                taken = [at]
            else:
                taken.append(at)
                tokens += size
        yield from self._halved(taken)

    def _halved(self, ends: Sequence[int]) -> Iterator[_Span]:
        """All of it if it fits: together it may have more tokens than its parts."""
        said = self._text[ends[0] : ends[-1]].strip()
        if not said:
            return
        tokens = self._count(said)
        if tokens > self._tokens_max and len(ends) > 2:
            middle = len(ends) // 2
            yield from self._halved(ends[: middle + 1])
            yield from self._halved(ends[middle:])
        else:
            yield ends[0], ends[-1], tokens


def _ends_of_lines(text: str) -> Iterator[int]:
    end = 0
    for line in text.splitlines(keepends=True):
        end += len(line)
        yield end


def _ends(stretch: re.Pattern[str]) -> _Ends:
    """After each of these, unless that is within a letter."""

    def ends(text: str, start: int, end: int) -> Iterator[int]:
        for found in stretch.finditer(text, start, end):
            at = found.end()
            if at < end and (text[at] < _FIRST_ACCENT or not _is_within_letter(text, at)):
                yield at
        if start < end:
            yield end

    return ends


def _ends_of_letters(text: str, start: int, end: int) -> Iterator[int]:
    return (at for at in range(start + 1, end + 1) if at == end or not _is_within_letter(text, at))


def _ends_of_characters(text: str, start: int, end: int) -> Iterator[int]:
    return iter(range(start + 1, end + 1))


_ends_of_sentences = _ends(_SENTENCE)
_FINER = (_ends(_WORD), _ends(_PART), _ends_of_letters, _ends_of_characters)


def _is_within_letter(text: str, at: int) -> bool:
    """Whether the characters on both sides are read as one: a letter and its accent, the persons of a family."""
    before, after = text[at - 1], text[at]
    if after < _FIRST_ACCENT:
        return False
    code = ord(after)
    return (
        after == _JOINER
        or before == _JOINER
        or unicodedata.category(after) in ("Mn", "Mc", "Me")
        or unicodedata.combining(before) == _VIRAMA
        or code in _SKIN_TONES
        or code in _FLAG_TAGS
        or code in _JAMO
        or after in _SPACING_VOWELS
    )
