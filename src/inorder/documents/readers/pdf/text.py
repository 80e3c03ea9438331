"""Reads the segments of a page: pieces of lines without wide gaps, with position, size and style.

PDFium returns the text of a page in draw order, with line breaks and missing spaces inserted. A call costs as much as
the work it does, so per line we ask for the boxes of the first and last character and for the style of one in the
middle, not for every character.

A line of PDFium may contain two columns or several cells. To find the gaps between them, the positions of words are
needed. They are requested for lines that are wide for their number of characters, for a sample of the others, and for
the neighbours of every line with a gap: gaps that matter are below one another, and plain text has none.
"""

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable
from itertools import accumulate, chain, repeat
from operator import add, mul, sub, truediv

import msgspec

from inorder.documents.readers.unicode import NO_CHARACTER, clean, is_readable

from .coordinates import ReadingFrame, SpanBoxes
from .pdfium import PdfPage
from .segments import MONO_WIDTH, Extent, Segment, Span
from .style import PdfStyle, StyleReader

GAP_SHARE = 0.8
"""A gap that is wider than this share of the height of a character separates segments."""
CELL_CHARACTERS_MAX = 45
"""A line with gaps whose pieces are shorter on average may be a row of a table: all of its spaces are measured."""
CELL_GAP_SHARE = 0.4
SHORT_CHARACTERS_MAX = 25
"""In a line with pieces as short as this, smaller gaps count too."""
BESIDE_GAP_SHARE = 0.38
"""A gap that is wider than this share of the size separates cells if rows beside it have a gap there too."""
LETTER_WIDTH = 0.5
"""Maximum width of most letters, as a share of their size."""
SAMPLE_STEP = 16
MARKER_LENGTH_MAX = 3
"""A gap after at most this many characters follows a list marker, and says nothing about other lines."""
SPARSE_RATIO = 1.15
"""A line whose characters are wider than usual by this ratio may have gaps."""

_LINE = re.compile(rf"[^\s{NO_CHARACTER}](?:[^\r\n{NO_CHARACTER}]*[^\s{NO_CHARACTER}])?{NO_CHARACTER}?")
_SPACE = re.compile(" ")
_START = re.Match[str].start


def read_segments(page: PdfPage, text: str) -> list[Segment]:
    """All segments of a page in draw order."""
    spans = [(start, end - 1) for start, end in map(re.Match.span, _LINE.finditer(text))]
    if not spans:
        return []
    boxes = SpanBoxes(page, spans)
    style_reader = StyleReader(page)
    styles = _read_styles(style_reader, text, spans)
    letter = LETTER_WIDTH * min([style.size for style in styles])
    gaps = _find_all_gaps(page, text, spans, _find_sparse_lines(styles, boxes), letter)
    if gaps:
        styles = _split_spans(boxes, styles, gaps)
    return _make_segments(style_reader, text, styles, boxes)


def cut_segments(page: PdfPage, text: str, crossing: list[tuple[Segment, list[float]]]) -> list[Segment]:
    """Split segments where vertical rules cross them. Each is given with the positions of its rules."""
    spaces = [
        (match.start(), walls)
        for segment, walls in crossing
        for match in _SPACE.finditer(text, segment.span[0], segment.span[1])
    ]
    ends = page.boxes(page.character_indices([space - 1 for space, _ in spaces])).high(0)
    begins = page.boxes(page.character_indices([space + 1 for space, _ in spaces])).low(0)
    left = page.bounds[0]
    cuts = [
        (space - 1, space + 1)
        for (space, walls), end, begin in zip(spaces, ends, begins, strict=True)
        if any(end - 1 <= wall + left <= begin + 1 for wall in walls)
    ]
    return _cut(page, text, [segment.span for segment, _ in crossing], cuts)


def cut_beside(page: PdfPage, text: str, crossing: list[tuple[Segment, list[Extent]]]) -> list[Segment] | None:
    """Split segments at spaces that are as wide as between cells, and at the same place as gaps of rows beside them.

    Each is given with the extents of these gaps. None if there is no such space.
    """
    spaces = [
        (match.start(), segment.size, gaps)
        for segment, gaps in crossing
        for match in _SPACE.finditer(text, segment.span[0], segment.span[1])
    ]
    left = page.bounds[0]
    ends = page.boxes(page.character_indices([space - 1 for space, _, _ in spaces])).high(0)
    begins = page.boxes(page.character_indices([space + 1 for space, _, _ in spaces])).low(0)
    cuts = [
        (space - 1, space + 1)
        for (space, size, gaps), end, begin in zip(spaces, ends, begins, strict=True)
        if begin - end > BESIDE_GAP_SHARE * size
        and any(max(end - left, low) < min(begin - left, high) for low, high in gaps)
    ]
    return _cut(page, text, [segment.span for segment, _ in crossing], cuts) if cuts else None


def cut_at_gaps(page: PdfPage, text: str, segments: list[Segment]) -> list[Segment]:
    """Split segments at all of their wide gaps. Returns the same segments if there are none."""
    letter = LETTER_WIDTH * min([segment.size for segment in segments])
    spans = [segment.span for segment in segments]
    spaces = [match.start() for start, last in spans for match in _SPACE.finditer(text, start, last)]
    cuts = _measure_gaps(page, spaces, repeat(GAP_SHARE), letter)
    return _cut(page, text, spans, cuts) if cuts else segments


def _cut(page: PdfPage, text: str, spans: list[Span], cuts: list[Span]) -> list[Segment]:
    """The segments of these spans, split at the cuts."""
    boxes = SpanBoxes(page, spans)
    style_reader = StyleReader(page)
    styles = _read_styles(style_reader, text, boxes.spans)
    return _make_segments(style_reader, text, _split_spans(boxes, styles, cuts) if cuts else styles, boxes)


def _read_styles(style_reader: StyleReader, text: str, spans: list[Span]) -> list[PdfStyle]:
    """The style of the character in the middle of each span."""
    middles = [(start + last) // 2 for start, last in spans]
    return style_reader.read(
        style_reader.page.character_indices([middle + (text[middle] == " ") for middle in middles])
    )


def _split_spans(boxes: SpanBoxes, styles: list[PdfStyle], gaps: list[Span]) -> list[PdfStyle]:
    """Split spans at gaps. Returns the styles of all spans; parts of a span have its style."""
    style_of = {start: style for (start, _), style in zip(boxes.spans, styles, strict=True)}
    boxes.split(gaps)
    style = styles[0]
    return [style := style_of.get(start, style) for start, _ in boxes.spans]


def _find_all_gaps(page: PdfPage, text: str, lines: list[Span], wave: list[int], letter: float) -> list[Span]:
    """The gaps of the lines in `wave`, of the neighbours of those that have gaps, and so on.

    `letter` is the usual width of a letter, for pages on which all words are far apart.
    """
    seen = set(wave)
    found: list[Span] = []
    while wave:
        gaps = _find_gaps(page, text, [lines[index] for index in wave], letter)
        found += gaps
        telling = {line for gap in gaps if gap[0] - lines[line := bisect_right(lines, gap) - 1][0] > MARKER_LENGTH_MAX}
        near = {line + step for line in telling for step in (-1, 1)}
        wave = sorted(index for index in near - seen if 0 <= index < len(lines))
        seen.update(wave)
    return found


def _find_sparse_lines(styles: list[PdfStyle], boxes: SpanBoxes) -> list[int]:
    """Lines that are wide for the number and size of their characters, and a sample of the others."""
    low, high = boxes.extents(boxes.page.rotation)
    lengths = [last - start + 1 for start, last in boxes.spans]
    rates = list(map(truediv, map(sub, high, low), map(mul, lengths, [style.size for style in styles])))
    limit, limit_mono = min(sorted(rates)[len(rates) // 3], MONO_WIDTH) * SPARSE_RATIO, MONO_WIDTH * SPARSE_RATIO
    wide = {index for index, rate in enumerate(rates) if not 0 < rate < limit}
    wide -= {index for index in wide if styles[index].is_mono and 0 < rates[index] < limit_mono}
    return sorted(index for index in wide.union(range(0, len(rates), SAMPLE_STEP)) if lengths[index] > 2)


def _find_gaps(page: PdfPage, text: str, lines: list[Span], letter: float) -> list[Span]:
    """The positions where these lines have a wide gap, or continue at another height."""
    spaces = _find_wide_spaces(page, text, lines, letter)
    gaps = _measure_gaps(page, spaces, repeat(GAP_SHARE), letter)
    if not gaps:
        return []
    counts = Counter([bisect_right(lines, gap) - 1 for gap in gaps])
    found = {before + 1 for before, _ in gaps}
    others: list[int] = []
    shares: list[float] = []
    for line, count in counts.items():
        start, last = lines[line]
        length = (last - start) / (count + 1)
        if length < CELL_CHARACTERS_MAX:
            spaces = [space for space in map(_START, _SPACE.finditer(text, start, last)) if space not in found]
            others += spaces
            shares += [CELL_GAP_SHARE if length < SHORT_CHARACTERS_MAX else GAP_SHARE] * len(spaces)
    return gaps + _measure_gaps(page, others, shares, letter)


def _measure_gaps(page: PdfPage, spaces: list[int], shares: Iterable[float], letter: float) -> list[Span]:
    """The spaces that are wider than a share of the height of a character, or after which the height changes."""
    if not spaces:
        return []
    quarter = page.rotation
    before = page.boxes(page.character_indices([space - 1 for space in spaces]))
    after = page.boxes(page.character_indices([space + 1 for space in spaces]))
    across = (quarter + 1) % 4
    edges = zip(
        map(sub, after.low(quarter), before.high(quarter)),
        map(sub, before.low(quarter), after.high(quarter)),
        *(before.low(across), before.high(across), after.low(across), after.high(across)),
        strict=True,
    )
    return [
        (space - 1, space + 1)
        for space, share, (ahead, back, floor, ceiling, floor_after, ceiling_after) in zip(
            spaces, shares, edges, strict=False
        )
        if ahead > (limit := share * max(ceiling - floor, 2 * letter))
        or back > limit
        or floor_after >= ceiling
        or floor >= ceiling_after
    ]


def _find_wide_spaces(page: PdfPage, text: str, lines: list[Span], letter: float) -> list[int]:
    """Spaces after which the next word begins later than characters of usual width explain."""
    starts = list(chain.from_iterable(_find_word_starts(text[start : last + 1], start) for start, last in lines))
    low = page.boxes(page.character_indices(starts)).low(page.rotation)
    steps = list(map(sub, low[1:], low))
    letters = list(map(sub, starts[1:], starts))
    rates = sorted(map(truediv, steps, letters))
    usual = min(rates[len(rates) // 3], letter) if rates else 0.0
    begins = {start for start, _ in lines}
    return [
        starts[index + 1] - 1
        for index, (step, count) in enumerate(zip(steps, letters, strict=True))
        if not 0.0 < step < usual * (count + 1.2) and starts[index + 1] not in begins
    ]


def _find_word_starts(line: str, start: int) -> list[int]:
    lengths = map(add, map(len, line.split(" ")), repeat(1))
    return list(accumulate(lengths, initial=start))[:-1]


def _make_segments(style_reader: StyleReader, text: str, styles: list[PdfStyle], boxes: SpanBoxes) -> list[Segment]:
    """The segments of spans of the text of a page."""
    spans = boxes.spans
    _clear_partial_styles(style_reader, text, styles, spans)
    is_clean = is_readable(text)
    texts = [text[start : last + 1] if is_clean else clean(text[start : last + 1]) for start, last in spans]
    return ReadingFrame(boxes).segments(texts, styles)


def _clear_partial_styles(style_reader: StyleReader, text: str, styles: list[PdfStyle], spans: list[Span]) -> None:
    """Clear the bold flag and the font of spans that begin or end in another font.

    A span in the usual font of the page is not checked. A number at the beginning may have another font.
    """
    usual = Counter([style.face for style in styles]).most_common(1)[0][0]
    unusual = [index for index, style in enumerate(styles) if style.is_bold or style.face != usual]
    if not unusual:
        return
    page = style_reader.page
    at_start = style_reader.traits_of(page.character_indices([spans[index][0] for index in unusual]))
    at_end = style_reader.traits_of(page.character_indices([spans[index][1] for index in unusual]))
    for index, first, last in zip(unusual, at_start, at_end, strict=True):
        style = styles[index]
        is_bold = style.is_bold and first[0] and last[0]
        is_same = style.face == last[2] and (style.face == first[2] or text[spans[index][0]].isdigit())
        face = style.face if is_same else ""
        if is_bold != style.is_bold or face != style.face:
            styles[index] = msgspec.structs.replace(style, is_bold=is_bold, face=face)
