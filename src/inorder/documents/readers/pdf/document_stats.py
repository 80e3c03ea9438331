"""Statistics of a whole document, needed to read any page of it: the size of its text, its headings, its furniture.

They are computed from a sample of pages that depends only on the number of pages, so that parts of a document that are
read separately give the same result as the whole. Up to a few dozen pages the sample is all pages. Above that, pages
are taken in pairs, because headers often differ on left and right pages.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

import msgspec

from .furniture.edges import FurnitureStats, compute_furniture_stats, count_furniture_rows, list_edge_rows
from .headings.outline import NO_OUTLINE, OutlineEntry, PageOutline, make_outline, outline_of_page
from .headings.runs import CHARACTERS_MAX, SIZE_STEP, Run, StyleKey, collect_runs, match_outline
from .headings.styles import (
    LEVELS_MAX,
    OUTLINED_MIN,
    Headings,
    HeadingStyle,
    find_headings,
    find_title_style,
    heading_size_min,
)
from .headings.tags import find_tag_shift
from .segments import PageText, Segment, SegmentStyle

SAMPLE_PAGES_MAX = 32
MONO_SHARE_MIN = 0.85
"""Share of text in fonts of fixed width in a document that is typed. A manual with listings has less."""


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
    body_face: str = ""
    """The font of the running text."""
    headings: Headings = Headings()
    title_style: HeadingStyle | None = None
    """The style of a title that is not larger than the text."""
    outline: tuple[OutlineEntry, ...] = ()
    tag_shift: int = -1
    """How far the levels of tagged headings are shifted; -1 if they are not used."""

    def outline_of_page(self, page: PageText) -> PageOutline:
        """The headings of a page that the outline or the structure tree of the PDF names."""
        tagged = page.tagged_headings if self.tag_shift >= 0 else []
        if not self.outline and not tagged:
            return NO_OUTLINE
        return outline_of_page(self.outline, page.number, [(level - self.tag_shift, text) for level, text in tagged])

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


STATS_DECODER = msgspec.json.Decoder(DocumentStats)
"""Made here, not with the first part of a document: two threads must not make it at the same time."""


def sample_pages(count: int) -> list[int]:
    """The numbers of the pages of the sample."""
    if count <= SAMPLE_PAGES_MAX:
        return list(range(1, count + 1))
    pairs = SAMPLE_PAGES_MAX // 2
    starts = [1 + (count - 2) * index // (pairs - 1) for index in range(pairs)]
    return sorted({page for start in starts for page in (start, start + 1)})


def compute_stats(pages: Sequence[PageText], bookmarks: Iterable[tuple[int, int, str]] = ()) -> DocumentStats:
    """The statistics of a document, from a sample of its pages and its bookmarks."""
    letters: defaultdict[SegmentStyle, int] = defaultdict(int)
    for segment in (segment for page in pages for segment in page.segments):
        letters[segment.size, segment.face, segment.is_bold, segment.is_mono] += len(segment.text)
    total = sum(letters.values())
    if not total:
        return DocumentStats()
    bold = sum(count for (_, _, is_bold, _), count in letters.items() if is_bold)
    mono = sum(count for (_, _, _, is_mono), count in letters.items() if is_mono)
    body_size, body_face = _find_body(letters)
    title_size = _find_title_size(pages, body_size)
    written = [page for page in pages if page.rows]
    rows = [list_edge_rows(page) for page in written]
    row_counts = [len(page.rows) for page in written]
    edges = compute_furniture_stats(rows, [page.height for page in written], row_counts, body_size)
    outline = make_outline(bookmarks)
    body = (body_size, body_face, 2 * bold > total, False)
    furniture = [count_furniture_rows(page, edges) for page in written]
    tag_shift = -1 if len(outline) >= OUTLINED_MIN else find_tag_shift([page.tagged_headings for page in pages], total)
    known = DocumentStats(outline=outline, tag_shift=tag_shift)
    runs = _collect_all_runs(written, furniture, body, known)
    title_style = None if title_size or not written else find_title_style(runs, written[0].height, body)
    title = next((run for run in runs if run.page == 1 and _is_title(run, title_size, title_style)), None)
    return DocumentStats(
        body_size,
        2 * bold > total,
        mono > MONO_SHARE_MIN * total,
        tuple(_find_heading_sizes(pages, body_size, title_size)),
        title_size,
        edges,
        body_face,
        find_headings([run for run in runs if run is not title], body),
        title_style,
        outline,
        tag_shift,
    )


def _is_title(run: Run, size: float, style: HeadingStyle | None) -> bool:
    return abs(run.key[0] - size) <= SIZE_STEP if size else style is not None and run.key == style.key


def _find_body(letters: dict[SegmentStyle, int]) -> tuple[float, str]:
    """Size and font of most of the text."""
    sizes: Counter[float] = Counter()
    for (size, _, _, _), count in letters.items():
        sizes[_round_size(size)] += count
    body_size = max(sizes, key=lambda size: (sizes[size], -size))
    faces: Counter[str] = Counter()
    for (size, face, _, _), count in letters.items():
        if _round_size(size) == body_size:
            faces[face] += count
    return body_size, max(faces, key=lambda face: (faces[face], face))


def _collect_all_runs(
    pages: Iterable[PageText],
    furniture: Iterable[tuple[int, int]],
    body: StyleKey,
    known: DocumentStats,
) -> list[Run]:
    """The runs of all pages, without furniture, which is given as numbers of rows at the top and at the bottom."""
    runs: list[Run] = []
    for page, (headers, footers) in zip(pages, furniture, strict=True):
        outer = page.rows[:headers] + page.rows[len(page.rows) - footers :]
        found = collect_runs(page, {segment.order for row in outer for segment in row}, body)
        match_outline(found, known.outline_of_page(page))
        runs += found
    return runs


def _round_size(size: float) -> float:
    return round(size / SIZE_STEP) * SIZE_STEP


def _may_be_heading(segment: Segment) -> bool:
    return not segment.direction and any(map(str.isalpha, segment.text))


def _find_title_size(pages: Sequence[PageText], body_size: float) -> float:
    """The largest size in the upper part of the first page; 0 if it is not larger than the text."""
    first = next((page for page in pages if page.number == 1), None)
    if first is None:
        return 0.0
    letters: Counter[float] = Counter()
    least = heading_size_min(body_size)
    for segment in first.segments:
        size = _round_size(segment.size)
        if size >= least and not segment.direction and segment.top < 0.6 * first.height:
            letters[size] += sum(map(str.isalpha, segment.text))
    stated = [size for size, count in letters.items() if 3 <= count <= CHARACTERS_MAX]
    return max(stated, default=0.0)


def _find_heading_sizes(pages: Iterable[PageText], body_size: float, title_size: float) -> list[float]:
    """Sizes of headings. That of the title is included only if it occurs on other pages too."""
    seen: Counter[float] = Counter()
    least = heading_size_min(body_size)
    titles = 0
    for page in pages:
        for segment in [segment for segment in page.segments if segment.size >= least]:
            if _may_be_heading(segment):
                size = _round_size(segment.size)
                titles += size == title_size and page.number > 1
                seen[size] += 1
    if not titles:
        seen.pop(title_size, None)
    return sorted(seen, reverse=True)[: LEVELS_MAX - 1]
