"""Text analysis: the terms under which a text is found.

A text is split into words, and each word gives one or more terms. Texts and questions go through the same analysis.

* Scripts with spaces between words: the word in NFKC and without case, stemmed by the rules of the language, then
  without diacritics. So `Häuser` and `haus` meet, and so do `résumé` and `resume`.
* Scripts without spaces, and Hangul: overlapping runs of characters. Two characters for Chinese, Japanese and Korean,
  three for Thai, Lao, Khmer and Burmese, whose letters say less. This needs no dictionary, finds names that no
  dictionary has, and does not split a text in two ways.
* Numbers whose digits are grouped by commas: the groups, and the number without commas. So `1,000` and `1000` meet.
* Names of program code: the parts of the name and the whole of it, so that `http`, `header` and `parseHTTPHeader` all
  find `parseHTTPHeader`.
"""

import re
import unicodedata
from collections.abc import Callable, Sequence
from functools import cache, lru_cache
from typing import Any

from .languages import STEMMERS

TERM_CHARACTERS_MAX = 64
"""A longer word is truncated: nothing that long is searched for."""
CACHED_WORDS_MAX = 1 << 16
"""Words repeat. This many take about ten megabytes per language."""

_PAIRED = "\u1100-\u11ff\u3040-\u30ff\u3131-\u318e\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
_PAIRED += "\U00020000-\U0003ffff"
_TRIPLED = "\u0e00-\u0eff\u0f00-\u0fff\u1000-\u109f\u1780-\u17ff\u1a20-\u1aaf\ua9e0-\ua9ff\uaa60-\uaa7f"
_MARKS = (
    "\u0300-\u036f\u0483-\u0487\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u064b-\u065f\u0670"
    "\u06d6-\u06dc\u06df-\u06e8\u06ea-\u06ed\u0711\u0730-\u074a\u07a6-\u07b0\u07eb-\u07f3\u07fd\u0816-\u082d\u0859-\u085b\u0898-\u089f"
    "\u08ca-\u0963\u0966-\u096f\u0971-\u0df3\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20f0"
)
"""Combining marks and vowel signs, which belong to the letter before them."""
_KEEPS_MARKS = re.compile("(?!\u0435)[\u0400-\u052f]")
"""Cyrillic letters, but for the one that is written with and without its marks."""
_NAME_PART = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|[0-9]+")
_ASCII_BETWEEN_WORDS = {code: " " for code in range(128) if not chr(code).isalnum() and chr(code) != "_"}
_GROUPED_DIGITS = re.compile(r"(?<![\w.,])[0-9]{1,3}(?:,[0-9]{3}){1,6}(?!,?\w)")
_GROUP = re.compile(",[0-9]{3}")
_INVISIBLE = dict.fromkeys(map(ord, "\u00ad\u0640\u200b\u200c\u200d\u2060\ufeff"))
"""Soft hyphens, Arabic elongation, and characters without width."""


@cache
def compile_word() -> re.Pattern[str]:
    """The pattern of a word. A run of a script without spaces is one. It takes milliseconds to compile, and a text in
    ASCII needs none."""
    return re.compile(rf"[{_PAIRED}]+|[{_TRIPLED}]+|(?:[^\W{_PAIRED}{_TRIPLED}][{_MARKS}]*)+")


@cache
def _compile_scripts() -> tuple[re.Pattern[str], re.Pattern[str]]:
    """The patterns of a character whose script is indexed in runs of two, and of three."""
    return re.compile(f"[{_PAIRED}]"), re.compile(f"[{_TRIPLED}]")


def split_words(text: str) -> list[str]:
    """The words of a text in NFKC, in their order. A run of a script without spaces is one word."""
    if text.isascii():  # three times as fast as a regular expression
        return text.translate(_ASCII_BETWEEN_WORDS).split()
    return compile_word().findall(unicodedata.normalize("NFKC", text).translate(_INVISIBLE))


@cache
def compile_word_or_number() -> re.Pattern[str]:
    """The pattern of a word, in which a number whose digits are grouped by commas is one."""
    return re.compile(rf"{_GROUPED_DIGITS.pattern}|{compile_word().pattern}")


def join_digits(text: str) -> str:
    """A text with `1000` in place of `1,000`."""
    return _GROUPED_DIGITS.sub(_remove_commas, text) if _GROUP.search(text) else text


def add_joined_digits(text: str) -> str:
    """A text with `1000` at its end for each `1,000` in it. A list of numbers may look the same, so the groups stay."""
    joined = map(_remove_commas, _GROUPED_DIGITS.finditer(text)) if _GROUP.search(text) else ()
    return " ".join([text, *joined])


def _remove_commas(found: re.Match[str]) -> str:
    return found[0].replace(",", "")


def analyze(text: str, language: str = "") -> list[str]:
    """The terms of a text, in their order.

    >>> analyze("Fog horns and parseHTTPHeader", "en")
    ['fog', 'horn', 'and', 'pars', 'http', 'header', 'parsehttpheader']
    """
    terms_of = open_term_cache(language)
    return [term for word in split_words(text) for term in terms_of[word]]


class TermCache(dict[str, tuple[str, ...]]):
    """A cache of the terms of each word. It is cleared when it is full: the words in use return soon."""

    def __init__(self, stem: Callable[[str], str], stem_many: Callable[[list[str]], Sequence[str]]) -> None:
        super().__init__()
        self._stem = lru_cache(CACHED_WORDS_MAX)(lambda part: strip_marks(stem(part.casefold())))
        """Cached by part: names consist of few parts."""
        self._stem_many = stem_many

    def __missing__(self, word: str) -> tuple[str, ...]:
        if len(self) >= CACHED_WORDS_MAX:
            self.clear()
        self[word] = terms = tuple(self.derive_terms(word))
        return terms

    def derive_terms(self, word: str) -> list[str]:
        """The terms of a word, without the cache."""
        is_short_name = len(word) <= TERM_CHARACTERS_MAX and word.isascii() and word.isalpha()
        if is_short_name and (word.islower() or word.istitle()):  # most words have one part
            return [self._stem(word)]
        runs = [] if word.isascii() else split_runs(word)
        if runs:
            return runs
        whole = word.strip("_").casefold()[:TERM_CHARACTERS_MAX]
        if word[0].isdigit() or len(word) > TERM_CHARACTERS_MAX:  # data, such as a number or a key in base 64
            return [whole] if whole else []
        parts = [part for part in (_NAME_PART.findall(word) if word.isascii() else word.split("_")) if part]
        terms = [self._stem(part) for part in parts]
        return terms if len(terms) == 1 else [*terms, whole] if terms else []

    def derive_part_terms(self, parts: Sequence[str]) -> Sequence[str]:
        """The term of each part of a name in ASCII, without a cache."""
        stems = self._stem_many([part.lower() for part in parts])
        return stems if "".join(stems).isascii() else [*map(strip_marks, stems)]


@cache
def open_term_cache(language: str) -> TermCache:
    """The cache for a language. English is the default, also for program code."""
    import Stemmer

    if not language:
        return open_term_cache("en")
    name = STEMMERS.get(language)
    if not name:
        return TermCache(str, list)
    stemmer = Stemmer.Stemmer(name, 0)
    return TermCache(lambda word: stemmer.stemWord(word) or word, lambda words: _stem_many(stemmer, words))


def _stem_many(stemmer: Any, words: list[str]) -> list[str]:
    """The stems of words. A Turkish suffix such as `leri` is left with no letter: then the word is its own stem."""
    stems: list[str] = stemmer.stemWords(words)
    return stems if all(stems) else [stem or word for stem, word in zip(stems, words, strict=True)]


def is_partial(word: str) -> bool:
    """Whether a word of a script without spaces is shorter than the runs that are indexed, so that it may be the
    beginning of one."""
    return len(word) < _run_size(word)


def split_runs(word: str) -> list[str]:
    """The overlapping runs of characters of a word in a script without spaces; empty for a word in another script."""
    size = _run_size(word)
    if not size:
        return []
    return [word[at : at + size] for at in range(len(word) - size + 1)] or [word]


def _run_size(word: str) -> int:
    """How many characters are indexed together; 0 for a script with spaces."""
    paired, tripled = _compile_scripts()
    return 2 if paired.match(word) else 3 if tripled.match(word) else 0


def strip_marks(word: str) -> str:
    """A word without diacritics. Cyrillic letters such as й stay as they are, and so do vowel signs of Indic scripts,
    without which words would not be told apart."""
    if word.isascii():
        return word
    kept: list[str] = []
    for character in unicodedata.normalize("NFD", word):
        if (
            not unicodedata.combining(character)
            or character >= "\u0900"
            or _KEEPS_MARKS.match(kept[-1] if kept else "")
        ):
            kept.append(character)
    return unicodedata.normalize("NFC", "".join(kept))
