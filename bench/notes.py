"""Generates notes for benchmarks, many small documents: the same ones every time.

A note is Markdown of 400 bytes: a title and a few sentences of random words.
"""

import random
from pathlib import Path

NOTE_BYTES = 400
PER_FOLDER = 500
SHARE = 100
"""One of this many notes is changed."""


def make_notes(folder: Path, count: int) -> None:
    """Write the notes."""
    words = make_words(random.Random(0))
    for number in range(count):
        path = note_path(folder, number)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(make_text(random.Random(number), words))


def change_notes(folder: Path, count: int, change: int = 1) -> None:
    """Write one of every `SHARE` notes again, with another text for every number of a change."""
    words = make_words(random.Random(change))
    for number in range(0, count, SHARE):
        note_path(folder, number).write_text(make_text(random.Random(change * count + number), words))


def note_path(folder: Path, number: int) -> Path:
    """The path of a note in the folder that has them all."""
    return folder / f"{number // PER_FOLDER:04}" / f"{number:07}.md"


def make_words(source: random.Random) -> list[str]:
    """A vocabulary of which, as in every language, few words are frequent."""
    syllables = [a + b for a in "bdfgklmnprst" for b in ("a", "e", "i", "o", "u", "an", "er")]
    return ["".join(source.choices(syllables, k=source.randint(1, 4))) for _ in range(5000)]


def make_text(source: random.Random, words: list[str]) -> str:
    """A title and sentences."""

    def pick(count: int) -> str:
        return " ".join(words[int(source.paretovariate(0.6)) % len(words)] for _ in range(count))

    text = f"# {pick(4)}\n\n"
    while len(text) < NOTE_BYTES:
        text += f"{pick(12).capitalize()}.\n\n"
    return text[:NOTE_BYTES]
