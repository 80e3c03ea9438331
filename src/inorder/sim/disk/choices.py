"""How the states after a power loss are enumerated: all of them where they are few, a sample where they are many.

The code that builds a state calls a `Draw` at each point with more than one possibility. The first possibility is
always that the change was kept, the second that it was lost. So a draw that always returns 0 gives the state in which
everything was kept, and one that always returns 1 the state in which nothing was.
"""

from collections.abc import Callable, Iterator, Sequence
from random import Random
from typing import TypeVar

T = TypeVar("T")

Draw = Callable[[int], int]
"""Called with n, which is at least 2, it returns one of 0 to n - 1."""

TRIES_PER_STATE = 4
"""A sample may draw the same state again; after this many tries per state it ends with fewer."""

ORDERLY_PER_QUESTION = 8
"""There are few ways to lose changes in order; after this many per question the rest of a sample is random."""


def enumerate_all(build: Callable[[Draw], T], start: Sequence[int] = (), depth: int | None = None) -> Iterator[T]:
    """Build once for every sequence of answers. The last answer changes first, like the last digit of a counter. The
    first answers are always those of `start`; with a depth, only so many of them are changed."""
    digits = [[answer, answer + 1] for answer in start]
    while True:
        yield build(_Replay(digits))
        digits = digits[:depth]
        while digits and digits[-1][0] + 1 == digits[-1][1]:
            digits.pop()
        if not digits:
            return
        digits[-1][0] += 1


class _Replay:
    """Answers with the digits, and adds a digit 0 for each new question."""

    def __init__(self, digits: list[list[int]]) -> None:
        self._digits = digits
        self._position = 0

    def __call__(self, ways: int) -> int:
        if self._position == len(self._digits):
            self._digits.append([0, ways])
        answer = self._digits[self._position][0]
        self._position += 1
        return answer


def sample_some(build: Callable[[Draw], T], limit: int, seed: int) -> Iterator[T]:
    """Build at most `limit` times, each time with other answers: all kept first, then all lost, then random ones."""
    chance = Random(seed)
    seen: set[tuple[int, ...]] = set()
    questions = 0
    for attempt in range(limit * TRIES_PER_STATE):
        if len(seen) == limit:
            return
        draw = _RandomDraw(chance, attempt, questions)
        built = build(draw)
        questions = max(questions, len(draw.answers))
        if tuple(draw.answers) not in seen:
            seen.add(tuple(draw.answers))
            yield built


class _RandomDraw:
    """Random answers.

    Uniform answers would damage almost everything almost always, but the interesting states are those with little
    damage. So the probability of damage varies. And at first, every second time, everything is kept up to some point,
    the answer there is random, and nothing is kept after it, as on a disk that writes in order.
    """

    def __init__(self, chance: Random, attempt: int, questions: int) -> None:
        self.answers: list[int] = []
        self._chance = chance
        self._extreme = attempt if attempt < 2 else None
        is_orderly = attempt % 2 == 1 and attempt < ORDERLY_PER_QUESTION * questions
        self._end = chance.randrange(questions) if is_orderly else None
        self._damage = chance.choice((0.15, 0.5, 1.0))

    def __call__(self, ways: int) -> int:
        self.answers.append(self._answer(len(self.answers), ways))
        return self.answers[-1]

    def _answer(self, question: int, ways: int) -> int:
        if self._extreme is not None:
            return self._extreme
        if self._end is None:
            return self._chance.randrange(ways) if self._chance.random() < self._damage else 0
        if question == self._end:
            return self._chance.randrange(ways)
        return 0 if question < self._end else 1
