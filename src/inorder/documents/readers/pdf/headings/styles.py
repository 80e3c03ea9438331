"""Finds the styles of headings in a document, and the level of each.

Evidence for the level of a style, the strongest first: the outline of the PDF, numbers that count
through the document, and the prominence of the style compared with the others. A style that is used for running text
is not a style of headings. Neither is one that occurs only above the first certain heading of the first page: those
are the authors.
"""

import itertools
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

import msgspec

from .numbering import counting_share, increasing_share, level_of, parse_number
from .runs import SIZE_STEP, Run, StyleKey

HEADING_RATIO = 1.15
HEADING_POINTS = 0.9
"""How much larger than the text a heading is at least: by this ratio, and by this many points."""
LEVELS_MAX = 6
SAME_SIZE_CHARACTERS_MAX = 150
"""Of a heading that is not larger than the text."""
RUNS_MIN = 3
"""How many headings a style needs that is neither larger, nor bold, nor numbered."""
NUMBERS_MIN = 3
"""How many numbered headings in the style of the text there must be."""
TITLE_SHARE = 0.45
"""How far down the first page a title may be that is not larger than the text."""
REPEATED_PAGES_MIN = 4
OUTLINED_MIN = 3
"""How many headings of a document its outline must name to be trusted."""
FRONT_WORDS = frozenset(("abstract", "introduction", "summary", "contents", "keywords", "zusammenfassung", "inhalt"))


class HeadingStyle(msgspec.Struct, frozen=True):
    """A style of headings and their level. Stored in DATA as JSON: fields are only added."""

    size: float
    face: str
    is_bold: bool
    is_capitals: bool
    level: int

    @property
    def key(self) -> StyleKey:
        """The style itself."""
        return self.size, self.face, self.is_bold, self.is_capitals


class Headings(msgspec.Struct, frozen=True):
    """How the headings of a document look. Stored in DATA as JSON: fields are only added."""

    styles: tuple[HeadingStyle, ...] = ()
    schemes: tuple[str, ...] = ()
    """Schemes of numbers that count through the document: 1, I, A."""
    has_plain_numbers: bool = False
    """Whether there are numbered headings in the style of the text."""
    front_styles: tuple[HeadingStyle, ...] = ()
    """Styles that occur only above the first heading of the first page."""
    is_outlined: bool = False
    """Whether the outline of the PDF names the headings."""
    repeated: tuple[str, ...] = ()
    """Texts that stand alone on several pages: running heads that are not at the edge."""


def heading_size_min(body_size: float) -> float:
    """The smallest size of text that is larger than running text, and may be a heading."""
    return max(HEADING_RATIO * body_size, body_size + HEADING_POINTS)


def find_headings(runs: Sequence[Run], body: StyleKey) -> Headings:
    """How headings look, from the runs of a document in draw order."""
    by_key: defaultdict[StyleKey, list[Run]] = defaultdict(list)
    for run in runs:
        by_key[run.key].append(run)
    least = heading_size_min(body[0])
    candidates = {key for key in by_key if key != body and _is_candidate(by_key[key], body, least)}
    schemes = _find_schemes([run for run in runs if run.key in candidates and run.is_short])
    has_plain = _has_plain_numbers(runs, candidates, body)
    if has_plain:
        schemes |= {"1"}
    known = _find_known_levels(by_key, candidates, schemes)
    front = _find_front_styles(runs, candidates, known)
    is_outlined = sum(run.level >= 0 for run in runs) >= OUTLINED_MIN
    styles = {
        key
        for key in candidates - front
        if key in known or key[0] >= least or (not is_outlined and (key[2] or _is_regular(by_key[key])))
    }
    levels = _rank_levels(styles, known)
    return Headings(
        tuple(HeadingStyle(*key, level) for key, level in sorted(levels.items())),
        tuple(sorted(schemes)),
        has_plain,
        tuple(HeadingStyle(*key, 0) for key in sorted(front)),
        is_outlined,
        _find_repeated([run for run in runs if run.key in candidates]),
    )


def _find_repeated(runs: Iterable[Run]) -> tuple[str, ...]:
    """Texts of short runs that are on several pages."""
    pages: defaultdict[str, set[int]] = defaultdict(set)
    for run in runs:
        if run.is_short:
            pages[run.text].add(run.page)
    return tuple(sorted(text for text, on in pages.items() if len(on) >= REPEATED_PAGES_MIN))


def _is_candidate(runs: Sequence[Run], body: StyleKey, least: float) -> bool:
    """Whether a style may be one of headings: it is not smaller than the text, and not used for running text."""
    size, _, is_bold, capitals = runs[0].key
    if not any(run.is_short for run in runs):
        return False
    if size >= least or any(run.level >= 0 for run in runs):
        return True
    if size < (0.85 if is_bold or capitals else 0.92) * body[0] or not (
        is_bold or capitals or runs[0].key[1] not in ("", body[1])
    ):
        return False
    short = sum(run.is_short and run.gap_before > 0.2 * size for run in runs)
    return short >= 0.6 * len(runs)


def _find_schemes(runs: Iterable[Run]) -> set[str]:
    """The schemes of numbers that count through these runs."""
    paths: defaultdict[str, list[tuple[int, ...]]] = defaultdict(list)
    for run in runs:
        if run.number is not None:
            paths[run.number.scheme].append(run.number.path)
    found = set()
    for scheme, numbers in paths.items():
        if scheme == "A":
            share = sum(before < after or after[0] == 1 for before, after in itertools.pairwise(numbers))
            is_trusted = len(numbers) > 1 and share >= 0.7 * (len(numbers) - 1)
        else:
            is_trusted = len(numbers) > 1 and increasing_share(numbers) >= 0.7
        if is_trusted:
            found.add(scheme)
    return found


def _has_plain_numbers(runs: Sequence[Run], candidates: set[StyleKey], body: StyleKey) -> bool:
    """Whether there are headings in the style of the text: single lines, set apart, that count through the document.

    They may count together with the numbers of headings in other styles.
    """
    size = body[0]
    plain = [
        index
        for index, run in enumerate(runs)
        if run.number is not None
        and run.number.scheme == "1"
        and run.key[:2] == body[:2]
        and is_plain_heading(run.text)
        and run.line_count <= 2
        and run.gap_before > 0.25 * size < run.gap_after
    ]
    if len(plain) < NUMBERS_MIN:
        return False
    taken = set(plain)
    paths = [
        run.number.path
        for index, run in enumerate(runs)
        if run.number is not None
        and (index in taken or (run.key in candidates and run.is_short and run.number.scheme == "1"))
    ]
    if counting_share(paths) < 0.75:
        return False
    between = sum(run.line_count for run in runs[plain[0] : plain[-1]])
    return between >= 4 * len(plain)


def is_plain_heading(text: str) -> bool:
    """Whether a text with a number may be a heading although it looks like running text."""
    number = parse_number(text)
    if number is None or len(text) > SAME_SIZE_CHARACTERS_MAX or text.endswith((".", ",", ";", ":", "?", "!")):
        return False
    return text[number.length].isupper() or not text[number.length].isascii()


def _find_known_levels(
    by_key: dict[StyleKey, list[Run]], candidates: Iterable[StyleKey], schemes: set[str]
) -> dict[StyleKey, int]:
    """The levels of styles, by the outline or else by numbers."""
    known: dict[StyleKey, int] = {}
    for key in candidates:
        named = Counter(run.level for run in by_key[key] if run.level > 0)
        numbered = Counter(
            level_of(run.number, schemes)
            for run in by_key[key]
            if run.number is not None and run.number.scheme in schemes and run.is_short
        )
        votes = named or numbered
        if votes:
            known[key] = min(LEVELS_MAX, min(votes, key=lambda level: (-votes[level], level)))
    return known


def _find_front_styles(runs: Sequence[Run], candidates: set[StyleKey], known: dict[StyleKey, int]) -> set[StyleKey]:
    """Styles that occur only on the first page, above its first certain heading."""
    front: set[StyleKey] = set()
    later: set[StyleKey] = set()
    is_front, is_certain = True, bool(known)
    for run in runs:
        if run.page == 1 and run.text.split(" ")[0].rstrip(".:\u2014-").casefold() in FRONT_WORDS:
            is_front, is_certain = False, True
        elif run.key in known or run.page > 1:
            is_front = False
        (front if is_front else later).add(run.key)
    return (front - later) & candidates if is_certain else set()


def _is_regular(runs: Sequence[Run]) -> bool:
    """Whether all runs of a style that is neither larger nor bold look like headings."""
    short = [run for run in runs if run.is_short and run.line_count == 1 and run.gap_before > 0.3 * run.key[0]]
    return len(short) >= RUNS_MIN and len(short) >= 0.9 * len(runs) and all(len(run.text) < 60 for run in short)


def _rank_levels(styles: Iterable[StyleKey], known: dict[StyleKey, int]) -> dict[StyleKey, int]:
    """The level of each style: the known one, or one that fits between those of more and less prominent styles."""
    levels: dict[StyleKey, int] = {}
    above: StyleKey | None = None
    level = 0
    for key in sorted(styles, key=_prominence):
        if key in known:
            level = known[key]
        elif above is None or not _is_equal(above, key):
            level = min(LEVELS_MAX, level + 1)
        levels[key] = level
        above = key
    return levels


def _prominence(key: StyleKey) -> tuple[float, bool, bool, str]:
    size, face, is_bold, capitals = key
    return -size, not is_bold, not capitals, face


def _is_equal(one: StyleKey, other: StyleKey) -> bool:
    """Whether two styles have about the same size, and the same weight and case."""
    return abs(one[0] - other[0]) <= SIZE_STEP and one[2:] == other[2:]


def find_title_style(runs: Sequence[Run], height: float, body: StyleKey) -> HeadingStyle | None:
    """The style of a title that is not larger than the text: the first run of the document, alone in its style."""
    first = next((run for run in runs if run.page == 1), None)
    if first is None or first.key == body or not (first.key[2] or first.key[3]) or first.number is not None:
        return None
    if not first.is_short or first.first.top > TITLE_SHARE * height or first.gap_after < 0.3 * first.key[0]:
        return None
    if sum(run.key == first.key for run in runs) > 1:
        return None
    return HeadingStyle(*first.key, 0)
