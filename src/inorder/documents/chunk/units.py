"""Split a document into units, the smallest parts of a chunk: a paragraph that fits, a sentence of one that does not, a
row of a table, a line of code. A unit is a range of the document's text. Together the units cover all of it except
white space.

The text of a document is its pieces, separated by empty lines. Offsets count characters of this text, so a chunk is a
range of it, and any two offsets can be compared.

What is too large is split at the best available place: between sentences, else between words, else beside punctuation
within a word, else between graphemes, so that accents and joined emoji stay whole, and only then between characters.
"""

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache, lru_cache, partial
from itertools import islice
from typing import NamedTuple

from .tokens import SPACELESS, TokenCounter, choose_part_counter

GAP = "\n\n"
_STOPS = "\u3002\uff01\uff1f"  # full stops of scripts that have no space after them
_CLOSING = "\"'\u201d\u2019)\\]\u300d\u300f\uff09"
_SENTENCE = rf"[.!?\u2026{_STOPS}\n](?:(?<=\n)\n*|(?<=[{_STOPS}])[{_CLOSING}]*\s*|(?<=[.!?\u2026])[{_CLOSING}]*\s+)"
_ABBREVIATIONS = (
    r"e\.g|i\.e|cf|viz|vs|figs?|eqs?|refs?|secs?|chap|tabs?|nos?|vol|pp|eds?|et al|al|approx|ca|resp|incl|"
    r"dr|mr|mrs|ms|prof|st|jr|sr|gen|col|inc|ltd|corp|dept|univ|jan|feb|aug|sept?|oct|nov|dec|"
    r"z\.\s?b|d\.\s?h|u\.\s?a|bzw|usw|nr|abb|vgl|str|p\.\s?ex|u\.\s?s"
)
"""What is followed by a full stop that ends no sentence, in several languages."""
_ABBREVIATION_CHARACTERS = 16
_WORD = rf"[^\s{SPACELESS}]+\s*|[{SPACELESS}]\s*|\s+"
_FLAG_LETTER = "[\U0001f1e6-\U0001f1ff]"
_PART = rf"{_FLAG_LETTER}{{2}}|[^\W_]+|[\W_]"
_FIRST_ACCENT = "\u0300"
_JOINER = "\u200d"
_SKIN_TONES = range(0x1F3FB, 0x1F400)
_FLAG_TAGS = range(0xE0020, 0xE0080)
_JAMO = range(0x1160, 0x1200)
_SPACING_VOWELS = "\u0e33\u0eb3"
_VIRAMA = 9
_PARTS_AT_ONCE = 4096


class Piece(NamedTuple):
    """A block of a document, as far as chunking needs it."""

    text: str
    kind: str
    """`heading`, `text`, `list`, `table` or `code`."""
    ref: str
    """The reference of its item in the document."""
    pages: tuple[int, ...] = ()
    """The pages that it is on."""
    path: tuple[str, ...] = ()
    """Titles of the enclosing sections, outermost first; for a heading, itself included."""
    links: tuple[tuple[str, str], ...] = ()
    """Text and target of each link in the text, in its order."""
    header: int = 0
    """How many characters at its beginning are the header rows of a table."""
    language: str = ""
    """The programming language of code, as DocTags names it; empty if it is not known."""


class Unit(NamedTuple):
    """A range of text that is not split any further."""

    start: int
    end: int
    tokens: int
    piece: int
    """The number of its piece."""
    is_heading: bool
    header: tuple[int, int] | None = None
    """The range of the header of the table, if the unit is below it."""


def join_pieces(pieces: Sequence[Piece]) -> str:
    """The text of the document."""
    return GAP.join(piece.text for piece in pieces)


def split_units(pieces: Sequence[Piece], count: TokenCounter, tokens_max: int) -> Iterator[Unit]:
    """Split the pieces as little as possible so that no unit is larger than `tokens_max`, unless it is a single
    character. What follows a heading is also split if it would not fit into one chunk with the heading."""
    start = heading_tokens = 0
    for number, piece in enumerate(pieces):
        is_heading = piece.kind == "heading"
        room = tokens_max if is_heading or heading_tokens >= tokens_max else tokens_max - heading_tokens
        heading_tokens = heading_tokens if is_heading else 0
        header = (start, start + piece.header) if piece.header else None
        for first, last, tokens in _split_piece(piece, count, tokens_max, room):
            yield Unit(
                start + first, start + last, tokens, number, is_heading, header if first >= piece.header else None
            )
            heading_tokens += tokens if is_heading else 0
        start += len(piece.text) + len(GAP)


_Span = tuple[int, int, int]
"""Start, end and tokens; offsets are within the piece."""
_EndFinder = Callable[[str, int, int], Iterator[int]]
"""Finds where a range of a text can be split; its end is included."""


def _split_piece(piece: Piece, count: TokenCounter, tokens_max: int, room: int) -> Iterable[_Span]:
    text = piece.text
    if piece.kind in ("table", "code"):
        return _Splitter(text, count, tokens_max, room).split(_find_line_ends(text))
    content = text.strip()
    tokens = count(content)
    if tokens > room:
        return _Splitter(text, count, tokens_max, room).split(_find_sentence_ends(text, 0, len(text)))
    return ((0, len(text), tokens),) if content else ()


class _Splitter:
    """Splits a text so that no part is too large. The tokens of a part are counted without white space around it."""

    def __init__(self, text: str, count: TokenCounter, tokens_max: int, room: int) -> None:
        self._text = text
        self._count = count
        self._count_parts = choose_part_counter(count)
        self._tokens_max = tokens_max
        self._room = room
        """Limit for the next part; it is below `tokens_max` directly after a heading."""

    def split(self, ends: Iterable[int]) -> Iterator[_Span]:
        """Split the text at these ends. A part that is still too large is split further; a blank one is left out."""
        start = 0
        for end in ends:
            if content := self._text[start:end].strip():
                tokens = self._count(content)
                if tokens <= self._tokens_max:
                    yield start, end, tokens
                else:
                    yield from self._fill(start, end, _FINER)
                self._room = self._tokens_max
            start = end

    def _fill(self, start: int, end: int, levels: Sequence[_EndFinder]) -> Iterator[_Span]:
        """Collect parts until the limit is reached, split as the first level allows. A part that is too large by itself
        is split by the next level."""
        taken = [start]
        tokens = 0
        for at, size in self._measure_parts(start, levels[0](self._text, start, end)):
            if len(taken) > 1 and tokens + size > self._room:
                yield from self._halve(taken)
                self._room = self._tokens_max
                taken, tokens = taken[-1:], 0
            if size > self._tokens_max and len(levels) > 1:
                yield from self._fill(taken[-1], at, levels[1:])
                taken = [at]
            else:
                taken.append(at)
                tokens += size
        yield from self._halve(taken)

    def _measure_parts(self, start: int, ends: Iterator[int]) -> Iterator[tuple[int, int]]:
        """The end and the tokens of each part."""
        while block := list(islice(ends, _PARTS_AT_ONCE)):
            yield from zip(block, self._count_parts(self._text, start, block), strict=True)
            start = block[-1]

    def _halve(self, ends: Sequence[int]) -> Iterator[_Span]:
        """One span if it fits, else split in the middle: a text may have more tokens than its parts together."""
        content = self._text[ends[0] : ends[-1]].strip()
        if not content:
            return
        tokens = self._count(content)
        if tokens > self._tokens_max and len(ends) > 2:
            middle = len(ends) // 2
            yield from self._halve(ends[: middle + 1])
            yield from self._halve(ends[middle:])
        else:
            yield ends[0], ends[-1], tokens


def _find_line_ends(text: str) -> Iterator[int]:
    end = 0
    for line in text.splitlines(keepends=True):
        end += len(line)
        yield end


def _make_end_finder(pattern: str) -> _EndFinder:
    """Finds the ends of all matches, except within a grapheme. The pattern is compiled for the first text that is
    split: that takes milliseconds, and short documents need none."""
    compile_pattern = cache(partial(re.compile, pattern))

    def ends(text: str, start: int, end: int) -> Iterator[int]:
        for match in compile_pattern().finditer(text, start, end):
            at = match.end()
            if at < end and (text[at] < _FIRST_ACCENT or not _is_within_grapheme(text, at)):
                yield at
        if start < end:
            yield end

    return ends


def _find_grapheme_ends(text: str, start: int, end: int) -> Iterator[int]:
    return (at for at in range(start + 1, end + 1) if at == end or not _is_within_grapheme(text, at))


def _find_character_ends(text: str, start: int, end: int) -> Iterator[int]:
    return iter(range(start + 1, end + 1))


_find_matches = _make_end_finder(_SENTENCE)


def _find_sentence_ends(text: str, start: int, end: int) -> Iterator[int]:
    """The ends of sentences. A full stop after an abbreviation or a number such as "III." ends none, unless a line ends
    there."""
    for at in _find_matches(text, start, end):
        before = text[max(start, at - _ABBREVIATION_CHARACTERS) : at]
        if at == end or before.endswith("\n") or not _abbreviation().search(before):
            yield at


@cache
def _abbreviation() -> re.Pattern[str]:
    return re.compile(rf"(?<!\w)(?:{_ABBREVIATIONS}|[^\W\d_]|(?-i:[IVXLC]+))\.\s*\Z", re.I)


_FINER = (_make_end_finder(_WORD), _make_end_finder(_PART), _find_grapheme_ends, _find_character_ends)


def _is_within_grapheme(text: str, at: int) -> bool:
    """Whether the characters on both sides belong together: a letter and its accent, the persons of a family emoji."""
    after = text[at]
    return after >= _FIRST_ACCENT and (_joins_previous(after) or _joins_next(text[at - 1]))


@lru_cache(4096)
def _joins_previous(character: str) -> bool:
    code = ord(character)
    return (
        character == _JOINER
        or unicodedata.category(character) in ("Mn", "Mc", "Me")
        or code in _SKIN_TONES
        or code in _FLAG_TAGS
        or code in _JAMO
        or character in _SPACING_VOWELS
    )


@lru_cache(4096)
def _joins_next(character: str) -> bool:
    return character == _JOINER or unicodedata.combining(character) == _VIRAMA
