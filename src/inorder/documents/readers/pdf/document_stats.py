"""Statistics of a whole document, needed to read any page of it: the size of its text, its headings, its furniture.

They are computed from a sample of pages that depends only on the number of pages, so that parts of a document that are
read separately give the same result as the whole. Up to a few dozen pages the sample is all pages. Above that, pages
are taken in pairs, because headers often differ on left and right pages.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

import msgspec

from .furniture import FurnitureStats, compute_furniture_stats, find_edge_rows
from .segments import PageText, Segment

SAMPLE_PAGES_MAX = 32
HEADING_RATIO = 1.15
HEADING_POINTS = 0.9
"""How much larger than the text a heading is at least: by this ratio, and by this many points."""
HEADING_CHARACTERS_MAX = 200
LEVELS_MAX = 6
SIZE_STEP = 0.5


class DocumentStats(msgspec.Struct, frozen=True):
    """What holds for all pages of a document. Stored in DATA as JSON: fields are only added."""

    body_size: float = 10.0
    body_is_bold: bool = False
    body_is_mono: bool = False
    heading_sizes: tuple[float, ...] = ()
    """In descending order."""
    title_size: float = 0.0
    """0 if there is no title."""
    edges: FurnitureStats = FurnitureStats()

    def heading_level(self, size: float) -> int:
        """The level of a heading of this size."""
        larger = sum(other > size + SIZE_STEP for other in self.heading_sizes)
        return min(LEVELS_MAX, 1 + larger)

    @property
    def heading_size_min(self) -> float:
        """The smallest size of text that is larger than running text, and may be a heading."""
        return heading_size_min(self.body_size)

    @property
    def bold_heading_level(self) -> int:
        """The level of a heading that is bold, but not larger than the text."""
        return min(LEVELS_MAX, 1 + len(self.heading_sizes))


def sample_pages(count: int) -> list[int]:
    """The numbers of the pages of the sample."""
    if count <= SAMPLE_PAGES_MAX:
        return list(range(1, count + 1))
    pairs = SAMPLE_PAGES_MAX // 2
    starts = [1 + (count - 2) * index // (pairs - 1) for index in range(pairs)]
    return sorted({page for start in starts for page in (start, start + 1)})


def compute_stats(pages: Sequence[PageText]) -> DocumentStats:
    """The statistics of a document, from a sample of its pages."""
    exact: defaultdict[float, int] = defaultdict(int)
    bold = mono = 0
    for page in pages:
        for segment in page.segments:
            length = len(segment.text)
            exact[segment.size] += length
            if segment.is_bold:
                bold += length
            if segment.is_mono:
                mono += length
    total = sum(exact.values())
    if not total:
        return DocumentStats()
    sizes: Counter[float] = Counter()
    for size, length in exact.items():
        sizes[_round_size(size)] += length
    body_size = max(sizes, key=lambda size: (sizes[size], -size))
    title_size = _find_title_size(pages, body_size)
    written = [page for page in pages if page.rows]
    edges = [find_edge_rows(page.rows, page.height, page.number) for page in written]
    return DocumentStats(
        body_size,
        2 * bold > total,
        2 * mono > total,
        tuple(_find_heading_sizes(pages, body_size, title_size)),
        title_size,
        compute_furniture_stats(edges, [page.height for page in written], body_size),
    )


def _round_size(size: float) -> float:
    return round(size / SIZE_STEP) * SIZE_STEP


def heading_size_min(body_size: float) -> float:
    """The smallest size of text that is larger than running text, and may be a heading."""
    return max(HEADING_RATIO * body_size, body_size + HEADING_POINTS)


def _may_be_heading(segment: Segment) -> bool:
    return not segment.direction and any(map(str.isalpha, segment.text))


def _find_title_size(pages: Sequence[PageText], body_size: float) -> float:
    """The largest size in the upper part of the first page; 0 if it is not larger than the text."""
    first = next((page for page in pages if page.number == 1), None)
    if first is None:
        return 0.0
    letters: Counter[float] = Counter()
    for segment in first.segments:
        if not segment.direction and segment.top < 0.6 * first.height:
            letters[_round_size(segment.size)] += sum(map(str.isalpha, segment.text))
    least = heading_size_min(body_size)
    stated = [size for size, count in letters.items() if 3 <= count <= HEADING_CHARACTERS_MAX and size >= least]
    return max(stated, default=0.0)


def _find_heading_sizes(pages: Iterable[PageText], body_size: float, title_size: float) -> list[float]:
    """Sizes of headings. That of the title is included only if it occurs on other pages too."""
    seen: Counter[float] = Counter()
    least = heading_size_min(body_size)
    titles = 0
    for page in pages:
        for segment in page.segments:
            if segment.size >= least and _may_be_heading(segment):
                size = _round_size(segment.size)
                titles += size == title_size and page.number > 1
                seen[size] += 1
    if not titles:
        seen.pop(title_size, None)
    return sorted(seen, reverse=True)[: LEVELS_MAX - 1]
