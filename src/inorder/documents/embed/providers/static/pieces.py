"""Split a text into the word pieces of a vocabulary.

The rules are those of an uncased BERT tokenizer, but only letters and digits count: a static vector of punctuation says
nothing. Names of program code are split into their words. A word that is not in the vocabulary is split into the
longest pieces that are; a piece that continues a word is marked by `##`. An identifier in which letters and digits take
turns, such as a hash, is data and has no pieces.
"""

import re
import unicodedata
from collections.abc import Sequence

_RUN = re.compile(r"[A-Za-z0-9]+")
_WORD = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|[0-9]+")
_ASCII_BETWEEN_RUNS = {code: " " for code in range(128) if not chr(code).isalnum()}
_DATA = re.compile(r"(?=.{6})(?:.*[0-9][A-Za-z]+[0-9]|.*[A-Za-z][0-9]+[A-Za-z])")
_LETTERS_MAX = 48
"""A longer word is data, such as a key in base 64."""
_CACHED_WORDS_MAX = 1 << 16
"""Words repeat. This many take about ten megabytes."""
CONTINUED = "##"


class PieceCache(dict[str, tuple[int, ...]]):
    """The numbers of the pieces of each run of letters and digits. It is cleared when it is full: the words in use
    return soon."""

    def __init__(self, vocabulary: Sequence[str]) -> None:
        super().__init__()
        self._numbers = {piece: number for number, piece in enumerate(vocabulary)}

    def __missing__(self, run: str) -> tuple[int, ...]:
        if len(self) >= _CACHED_WORDS_MAX:
            self.clear()
        words = _WORD.findall(run) if len(run) <= _LETTERS_MAX and not _DATA.match(run) else []
        self[run] = pieces = tuple(piece for word in words for piece in self._split(word.lower()))
        return pieces

    def split_text(self, text: str) -> list[int]:
        """The numbers of the pieces of a text, in their order."""
        return [piece for run in _split_runs(text) for piece in self[run]]

    def _split(self, word: str) -> list[int]:
        found: list[int] = []
        start = 0
        while start < len(word):
            prefix = CONTINUED if start else ""
            for end in range(len(word), start, -1):
                number = self._numbers.get(prefix + word[start:end])
                if number is not None:
                    found.append(number)
                    start = end
                    break
            else:
                return []
        return found


def measure_known_letters(text: str) -> float:
    """The share of the letters of a text that are in the alphabet of the vocabulary; 0 if it has no letters."""
    letters = [letter for letter in _fold(text) if letter.isalpha()]
    return sum(map(str.isascii, letters)) / max(1, len(letters))


def _split_runs(text: str) -> list[str]:
    if text.isascii():  # twice as fast as a regular expression
        return text.translate(_ASCII_BETWEEN_RUNS).split()
    return _RUN.findall(_fold(text))


def _fold(text: str) -> str:
    """The text without diacritics."""
    if text.isascii():
        return text
    return "".join(each for each in unicodedata.normalize("NFKD", text) if not unicodedata.combining(each))
