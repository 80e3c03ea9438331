"""How the states after a loss of power are walked through: every one where they are few, a sample where they are many.

Whoever builds a state asks a `Draw` at each point where it could go more than one way. The first way is always that
all is well, the second that the thing is lost; so a draw that answers 0 throughout gives the state in which everything
was kept, and one that answers 1 throughout the state in which nothing was.
"""

from collections.abc import Callable, Iterator
from random import Random
from typing import TypeVar

T = TypeVar("T")

Draw = Callable[[int], int]
"""Asked with n, which is at least 2, it answers with one of 0 to n - 1."""

TRIES_PER_STATE = 4
"""A sample may hit what it has already hit; past so many tries it is content with fewer."""

ORDERLY_PER_QUESTION = 8
"""There are only so many ways to lose things in order; past them the rest of a sample is left to chance."""


def every(build: Callable[[Draw], T]) -> Iterator[T]:
    """Build once for every series of answers: the last answer changes first, like the last wheel of a counter."""
    wheels: list[list[int]] = []
    while True:
        yield build(_Replay(wheels))
        while wheels and wheels[-1][0] + 1 == wheels[-1][1]:
            wheels.pop()
        if not wheels:
            return
        wheels[-1][0] += 1


class _Replay:
    """Answers as the wheels say, and adds wheels at 0 for questions that are new."""

    def __init__(self, wheels: list[list[int]]) -> None:
        self._wheels = wheels
        self._asked = 0

    def __call__(self, ways: int) -> int:
        if self._asked == len(self._wheels):
            self._wheels.append([0, ways])
        answer = self._wheels[self._asked][0]
        self._asked += 1
        return answer


def sampled(build: Callable[[Draw], T], limit: int, seed: int) -> Iterator[T]:
    """Build at most `limit` times, each time with other answers: all well first, then all lost, then by chance."""
    chance = Random(seed)
    seen: set[tuple[int, ...]] = set()
    questions = 0
    for attempt in range(limit * TRIES_PER_STATE):
        if len(seen) == limit:
            return
        draw = _Mood(chance, attempt, questions)
        built = build(draw)
        questions = max(questions, len(draw.answers))
        if tuple(draw.answers) not in seen:
            seen.add(tuple(draw.answers))
            yield built


class _Mood:
    """A way to draw.

    Chance alone would leave almost everything in pieces almost always, and the interesting states are those in which
    almost everything is well. So the moods change: little is lost, much is lost, anything goes. And at first, every
    second time, all is well up to some point, anything goes there, and nothing is kept after it, as by an orderly disk.
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
