"""The numbers of headings (1, 1.1, I., A.), and the levels that follow from them."""

import re
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple

_WORDS = ("Chapter", "Section", "Part", "Appendix", "Kapitel", "Abschnitt", "Teil", "Chapitre", "Partie", "Anhang")
_PREFIX = rf"(?:(?:{'|'.join(_WORDS)})\s+)?"
_NUMBER = re.compile(
    _PREFIX + r"(?:(?P<arabic>\d{1,2}(?:\.\d{1,2}){0,4})\.?|(?P<roman>[IVX]{1,5})\."
    r"|(?P<letter>[A-Z](?:\.\d{1,2}){1,3}|[A-Z](?=\.))\.?)"
    r"[\s\u2002\u2003]+(?=[^\W\d_])"
)
_NUMBER_ALONE = re.compile(r"\d{1,2}(?:\.\d{1,2}){0,4}\.?|[IVX]{1,5}\.?|[A-Z](?:\.\d{1,2}){0,3}\.?")
_ROMAN = {"I": 1, "V": 5, "X": 10}


class Number(NamedTuple):
    """The number of a heading."""

    scheme: str
    """1, I or A."""
    path: tuple[int, ...]
    length: int
    """How many characters of the text it takes."""


def parse_number(text: str) -> Number | None:
    """The number that a text begins with; None if there is none."""
    match = _NUMBER.match(text)
    if match is None:
        return None
    arabic, roman, letter = match.group("arabic", "roman", "letter")
    if arabic:
        return Number("1", tuple(map(int, arabic.split("."))), match.end())
    if roman:
        return Number("I", (_parse_roman(roman),), match.end())
    first, *rest = letter.split(".")
    return Number("A", (ord(first) - 64, *map(int, rest)), match.end())


def is_number_alone(text: str) -> bool:
    """Whether a text is the number of a heading and nothing else."""
    return bool(_NUMBER_ALONE.fullmatch(text))


def _parse_roman(text: str) -> int:
    values = [_ROMAN[letter] for letter in text]
    return sum(-value if value < after else value for value, after in zip(values, [*values[1:], 0], strict=True))


def increasing_share(paths: Sequence[tuple[int, ...]]) -> float:
    """The share of neighbours that increase, in the order of the document."""
    steps = [before < after for before, after in pairwise(paths)]
    return sum(steps) / len(steps) if steps else 1.0


def counting_share(paths: Sequence[tuple[int, ...]]) -> float:
    """The share of numbers that directly follow the one before: 1.2 and 2 follow 1.1, and so does 1.1.1."""
    if not paths:
        return 0.0
    right = sum(_follows(before, after) for before, after in pairwise(paths)) + (paths[0][-1] == 1)
    return right / len(paths)


def _follows(before: tuple[int, ...], after: tuple[int, ...]) -> bool:
    if after == (*before, 1):
        return True
    depth = len(after)
    return depth <= len(before) and after == (*before[: depth - 1], before[depth - 1] + 1)


def level_of(number: Number, schemes: Iterable[str]) -> int:
    """The level of a heading with this number in a document with these schemes."""
    if number.scheme == "I":
        return 1
    if "I" not in schemes:
        return len(number.path)
    if number.scheme == "A":
        return 1 + len(number.path)
    return len(number.path) + (2 if "A" in schemes else 1)
