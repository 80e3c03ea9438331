"""How much of one sequence of words is found in another, in the same order."""

from bisect import bisect_left
from collections import defaultdict, deque
from collections.abc import Sequence


def share_in_order(given: Sequence[str], found: Sequence[str]) -> float:
    """The share of the given words that are found in order: the longest run of them that nothing interrupts but more.

    Words that are given several times are matched in turn.
    """
    places: defaultdict[str, deque[int]] = defaultdict(deque)
    for place, word in enumerate(given):
        places[word].append(place)
    ends: list[int] = []
    for word in found:
        if places[word]:
            place = places[word].popleft()
            at = bisect_left(ends, place)
            ends[at : at + 1] = [place]
    return len(ends) / len(given) if given else 1.0
