"""Numbers of pages as text: `1-12, 15`."""

from collections.abc import Iterable, Iterator
from itertools import groupby


def name_pages(numbers: Iterable[int]) -> str:
    """Return ascending numbers as text."""
    parts = []
    for _, run in groupby(enumerate(numbers), key=lambda each: each[1] - each[0]):
        found = [number for _, number in run]
        parts.append(str(found[0]) if len(found) == 1 else f"{found[0]}-{found[-1]}")
    return ", ".join(parts)


def list_pages(text: str) -> Iterator[int]:
    """Yield the numbers in a text of `name_pages`."""
    for part in filter(None, text.split(", ")):
        first, _, last = part.partition("-")
        yield from range(int(first), int(last or first) + 1)
