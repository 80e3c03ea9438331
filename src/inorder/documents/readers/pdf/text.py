"""Reads the segments of a page: pieces of lines without wide gaps, with position, size and style.

PDFium returns the text of a page in draw order, with line breaks and missing spaces inserted. A line of PDFium may
contain two columns or several cells. To find the gaps between them, the positions of words are needed. They are
requested for lines that are wide for their number of characters, for a sample of the others, and for the neighbours of
every line with a gap: gaps that matter are below one another, and plain text has none.
"""

import re
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from itertools import compress, repeat
from operator import attrgetter, sub, truediv

from inorder.documents.readers.unicode import NO_CHARACTER

from .coordinates import SegmentReader
from .pdfium import CharacterBox
from .segments import ASKEW, MONO_WIDTH, Extent, Segment, Span

GAP_SHARE = 0.8
"""A gap that is wider than this share of the height of a character separates segments."""
CELL_CHARACTERS_MAX = 45
"""A line with gaps whose pieces are shorter on average may be a row of a table: all of its spaces are measured."""
CELL_GAP_SHARE = 0.4
SHORT_CHARACTERS_MAX = 25
"""In a line with pieces as short as this, smaller gaps count too."""
BESIDE_GAP_SHARE = 0.38
"""A gap that is wider than this share of the size separates cells if rows beside it have a gap there too."""
NUMBER_GAP_SHARE = 0.3
"""The same for columns of numbers, of which this share must have it."""
NUMBER_WIDE_SHARE = 0.9
LETTER_WIDTH = 0.5
"""Maximum width of most letters, as a share of their size."""
SAMPLE_STEP = 16
MARKER_LENGTH_MAX = 3
"""A gap after at most this many characters follows a list marker, and says nothing about other lines."""
ASKEW_WORDS_MAX = 100
ASKEW_SEGMENTS_MAX = 2_000
"""Limits of what is separated from rotated text. Drawings have more of it."""
SPARSE_RATIO = 1.15
"""A line whose characters are wider than usual by this ratio may have gaps."""

_LINE = re.compile(rf"[^\s{NO_CHARACTER}](?:[^\r\n{NO_CHARACTER}]*[^\s{NO_CHARACTER}])?{NO_CHARACTER}?")
_SPACE = re.compile(" ")
_NUMBER = r"[-+(\u2212$\u20ac\u00a3]*\d[\d.,]*[%)]?"
NUMBERS = re.compile(rf"{_NUMBER}(?: {_NUMBER})+")
"""Several numbers."""
_THOUSANDS = re.compile(r"[-+(\u2212$\u20ac\u00a3]*\d{1,3}(?: \d{3})+(?:[.,]\d+)?[%)]?")

by_span = attrgetter("span")


def read_segments(reader: SegmentReader) -> list[Segment]:
    """All segments of a page in draw order."""
    segments = reader.read(*_find_lines(reader))
    if not segments:
        return []
    gaps: list[Span] = []
    directions = {segment.direction for segment in segments}
    if ASKEW in directions and len(directions) > 1:
        segments = _split_askew(reader, segments)
    for direction in directions - {ASKEW}:
        lines = segments
        if len(directions) > 1:
            lines = [segment for segment in segments if segment.direction == direction]
        gaps += GapFinder(reader, lines, direction).find_all()
    if gaps:
        segments = _split_segments(reader, segments, gaps)
    reader.clear_partial_styles(segments)
    return segments


def _split_askew(reader: SegmentReader, segments: list[Segment]) -> list[Segment]:
    """The segments, with text that is not rotated separated from a watermark that was drawn after it."""
    found: list[Segment] = []
    for number, segment in enumerate(segments):
        start, last = segment.span
        spaces = [match.start() for match in _SPACE.finditer(reader.text, start, last)]
        if segment.direction != ASKEW or not 0 < len(spaces) <= ASKEW_WORDS_MAX or number > ASKEW_SEGMENTS_MAX:
            found.append(segment)
            continue
        ends = [*[space - 1 for space in spaces], last]
        words = list(zip([start, *[space + 1 for space in spaces]], ends, strict=True))
        pieces = reader.read(words, [reader.text[first : end + 1] for first, end in words])
        upright = next((at for at, piece in enumerate(pieces) if piece.direction == ASKEW), 0)
        if upright:
            spans = [(start, pieces[upright - 1].span[1]), (pieces[upright].span[0], last)]
            found += reader.read(spans, [reader.text[first : end + 1] for first, end in spans])
        else:
            found.append(segment)
    for order, segment in enumerate(found):
        segment.order = order
    return found


def _find_lines(reader: SegmentReader) -> tuple[list[Span], list[str]]:
    """The lines of a text without white space around them: where they are, and their text."""
    found = [(start, end - 1) for start, end in map(re.Match.span, _LINE.finditer(reader.text))]
    return found, [reader.text[start : last + 1] for start, last in found]


def _split_segments(reader: SegmentReader, segments: list[Segment], gaps: Sequence[Span]) -> list[Segment]:
    """The segments, with those that have gaps split there."""
    starts = [segment.span[0] for segment in segments]
    lines = sorted({bisect_left(starts, begin) - 1 for _, begin in gaps})
    pieces = _place_pieces(reader, *reader.split([segments[line] for line in lines], gaps))
    found: list[Segment] = []
    done = placed = 0
    for line in lines:
        found += segments[done:line]
        done, last = line + 1, segments[line].span[1]
        while placed < len(pieces) and pieces[placed].span[0] <= last:
            found.append(pieces[placed])
            placed += 1
    found += segments[done:]
    for order, segment in enumerate(found[lines[0] :], lines[0]):
        segment.order = order
    return found


def _place_pieces(reader: SegmentReader, pieces: list[Segment], boxes: list[CharacterBox]) -> list[Segment]:
    """The pieces, with those read again that are above or below the line that they were split from: PDFium takes rows
    that begin with a single character, one below the other, for one line. `boxes` are those of their first characters.
    """
    if reader.page.rotation:
        return pieces
    top = reader.page.bounds[3]
    is_elsewhere = [
        not piece.direction and (top - floor <= piece.top or top - ceiling >= piece.bottom)
        for piece, (_, ceiling, _, floor) in zip(pieces, boxes, strict=True)
    ]
    if not any(is_elsewhere):
        return pieces
    spans = [piece.span for piece in compress(pieces, is_elsewhere)]
    others = [piece for piece, elsewhere in zip(pieces, is_elsewhere, strict=True) if not elsewhere]
    others += reader.read(spans, [reader.text[start : last + 1] for start, last in spans])
    return sorted(others, key=by_span)


def cut_segments(reader: SegmentReader, crossing: list[tuple[Segment, list[float]]]) -> list[Segment]:
    """Split segments where vertical rules cross them. Each is given with the positions of its rules."""
    left, segments = reader.page.bounds[0], [segment for segment, _ in crossing]
    cuts = [
        (space - 1, space + 1)
        for number, space, (end, begin) in _measure_spaces(reader, segments)
        if any(end - 1 <= wall + left <= begin + 1 for wall in crossing[number][1])
    ]
    return _cut(reader, segments, cuts)


def cut_beside(reader: SegmentReader, crossing: list[tuple[Segment, list[Extent]]]) -> list[Segment] | None:
    """Split segments at spaces that are as wide as between cells, and at the same place as gaps of rows beside them.

    Each is given with the extents of these gaps. None if there is no such space.
    """
    left, segments = reader.page.bounds[0], [segment for segment, _ in crossing]
    cuts = [
        (space - 1, space + 1)
        for number, space, (end, begin) in _measure_spaces(reader, segments)
        if begin - end > BESIDE_GAP_SHARE * segments[number].size
        and any(max(end - left, low) < min(begin - left, high) for low, high in crossing[number][1])
    ]
    return _cut(reader, segments, cuts) if cuts else None


def cut_numbers(reader: SegmentReader, segments: list[Segment]) -> list[Segment] | None:
    """Split segments of numbers, one below the other, at all of their spaces; None if these are spaces in numbers.

    A space between the digits of a number is as wide as between words; the gap between two columns is wider.
    """
    if all(_THOUSANDS.fullmatch(segment.text) for segment in segments):
        return None
    spaces = _measure_spaces(reader, segments)
    wide = sum(begin - end > NUMBER_GAP_SHARE * segments[number].size for number, _, (end, begin) in spaces)
    if wide < NUMBER_WIDE_SHARE * len(spaces):
        return None
    return _cut(reader, segments, [(space - 1, space + 1) for _, space, _ in spaces])


def _measure_spaces(reader: SegmentReader, segments: Sequence[Segment]) -> list[tuple[int, int, Extent]]:
    """The number of the segment of each space, its place, and where the characters around it end and begin."""
    found = [
        (number, match.start())
        for number, segment in enumerate(segments)
        for match in _SPACE.finditer(reader.text, *segment.span)
    ]
    edges = find_edges(reader, [space for _, space in found])
    return [(*each, edge) for each, edge in zip(found, edges, strict=True)]


def find_edges(reader: SegmentReader, spaces: list[int]) -> Iterable[Extent]:
    """Where the characters before and after these spaces end and begin."""
    page = reader.page
    boxes = page.boxes(page.character_indices([space - 1 for space in spaces] + [space + 1 for space in spaces]))
    return [(before[2], after[0]) for before, after in zip(boxes, boxes[len(spaces) :], strict=False)]


def cut_at_gaps(reader: SegmentReader, segments: list[Segment]) -> list[Segment]:
    """Split segments at all of their wide gaps. Returns the same segments if there are none."""
    finder = GapFinder(reader, segments, 0)
    spaces = [match.start() for start, last in finder.spans for match in _SPACE.finditer(reader.text, start, last)]
    cuts = finder.measure(spaces, repeat(GAP_SHARE))
    return _cut(reader, segments, cuts) if cuts else segments


def _cut(reader: SegmentReader, segments: list[Segment], cuts: list[Span]) -> list[Segment]:
    """The pieces of these segments, split at the cuts."""
    spans = [segment.span for segment in segments]
    wholes = reader.read(spans, [reader.text[start : last + 1] for start, last in spans])
    pieces, _ = reader.split(wholes, cuts)
    reader.clear_partial_styles(pieces)
    return pieces


class GapFinder:
    """Finds wide gaps in the lines of a page that have the same direction."""

    def __init__(self, reader: SegmentReader, lines: Sequence[Segment], direction: int) -> None:
        self._page = reader.page
        self._text = reader.text
        self._lines = lines
        self.spans = [line.span for line in lines]
        self._mono_starts = {line.span[0] for line in lines if line.is_mono}
        """Lines in which a single space is as wide as a small gap."""
        self._quarter = (reader.page.rotation + direction) % 4
        self._letter = LETTER_WIDTH * min([line.size for line in lines])
        """The usual width of a letter, for pages on which all words are far apart."""

    def find_all(self) -> list[Span]:
        """The gaps of sparse lines, of the neighbours of those that have gaps, and so on."""
        spans = self.spans
        starts = [start for start, _ in spans]
        wave = self._find_sparse_lines()
        seen = set(wave)
        found: list[Span] = []
        while wave:
            gaps = self._find([spans[index] for index in wave])
            found += gaps
            telling = {
                line for end, begin in gaps if end - starts[line := bisect_left(starts, begin) - 1] > MARKER_LENGTH_MAX
            }
            near = {line + step for line in telling for step in (-1, 1)}
            wave = sorted(index for index in near - seen if 0 <= index < len(spans))
            seen.update(wave)
        return found

    def _find_sparse_lines(self) -> list[int]:
        """Lines that are wide for the number and size of their characters, and a sample of the others."""
        spans = self.spans
        rates = [
            (line.x1 - line.x0) / ((last - start + 1) * line.size)
            for line, (start, last) in zip(self._lines, spans, strict=True)
        ]
        limit = min(sorted(rates)[len(rates) // 3], MONO_WIDTH) * SPARSE_RATIO
        sparse = [index for index, rate in enumerate(rates) if not 0.0 < rate < limit or not index % SAMPLE_STEP]
        return [
            index
            for index in sparse
            if spans[index][1] - spans[index][0] > 1 and not self._is_dense_code(index, rates[index])
        ]

    def _is_dense_code(self, index: int, rate: float) -> bool:
        is_dense = self._lines[index].is_mono and 0 < rate < MONO_WIDTH * SPARSE_RATIO
        return is_dense and index % SAMPLE_STEP > 0

    def _find(self, lines: list[Span]) -> list[Span]:
        """The positions where these lines have a wide gap, or continue at another height."""
        gaps = self.measure(self._find_wide_spaces(lines), repeat(GAP_SHARE))
        if not gaps:
            return []
        starts = [start for start, _ in lines]
        counts: dict[int, int] = {}
        for end, begin in gaps:
            line = bisect_left(starts, begin) - 1
            if end > starts[line]:
                counts[line] = counts.get(line, 0) + 1
        found = {begin for _, begin in gaps}
        others: list[int] = []
        shares: list[float] = []
        for line, gap_count in counts.items():
            start, last = lines[line]
            length = (last - start) / (gap_count + 1)
            if length < CELL_CHARACTERS_MAX:
                spaces = [
                    space for space in _find_spaces(self._text[start : last + 1], start) if space + 1 not in found
                ]
                others += spaces
                is_close = length < SHORT_CHARACTERS_MAX and start not in self._mono_starts
                shares += [CELL_GAP_SHARE if is_close else GAP_SHARE] * len(spaces)
        return gaps + self.measure(others, shares)

    def measure(self, spaces: list[int], shares: Iterable[float]) -> list[Span]:
        """The spaces that are wider than a share of the height of a character, or after which the height changes."""
        if not spaces:
            return []
        page, least = self._page, 2 * self._letter
        around = page.character_indices([space - 1 for space in spaces] + [space + 1 for space in spaces])
        boxes = page.boxes(around, self._quarter)
        found: list[Span] = []
        for space, share, (x0, ceiling, x1, floor), (next_x0, next_ceiling, next_x1, next_floor) in zip(
            spaces, shares, boxes, boxes[len(spaces) :], strict=False
        ):
            height = ceiling - floor
            limit = share * (least if least > height else height)
            if next_x0 - x1 > limit or x0 - next_x1 > limit or next_floor >= ceiling or floor >= next_ceiling:
                found.append((space - 1, space + 1))
        return found

    def _find_wide_spaces(self, lines: list[Span]) -> list[int]:
        """Spaces after which the next word begins later than characters of usual width explain."""
        starts: list[int] = []
        for start, last in lines:
            for word in self._text[start : last + 1].split(" "):
                starts.append(start)
                start += len(word) + 1
        low = self._page.lows(self._page.character_indices(starts), self._quarter)
        steps = list(map(sub, low[1:], low))
        letters = list(map(sub, starts[1:], starts))
        rates = sorted(map(truediv, steps, letters))
        usual = min(rates[len(rates) // 3], self._letter) if rates else 0.0
        begins = {start for start, _ in lines}
        return [
            start - 1
            for step, count, start in zip(steps, letters, starts[1:], strict=True)
            if not 0.0 < step < usual * (count + 1.2) and start not in begins
        ]


def _find_spaces(line: str, start: int) -> list[int]:
    """The positions of the spaces of a line that begins at a position."""
    place = start - 1
    return [place := place + len(word) + 1 for word in line.split(" ")[:-1]]
