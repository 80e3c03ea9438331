"""Detect the language of a text, which decides how its words are stemmed.

The script decides where only one stemmed language is written in it. Among the languages of the Latin and Cyrillic
scripts, the one with the most function words in the text wins. This needs no model, and a paragraph is enough. A text
without function words, such as a table, has no language: it is stemmed as English.
"""

import math
import re
from collections import Counter
from collections.abc import Mapping
from functools import cache
from pathlib import Path

STEMMERS = {
    "ar": "arabic",
    "ca": "catalan",
    "cs": "czech",
    "da": "danish",
    "de": "german",
    "el": "greek",
    "en": "english",
    "es": "spanish",
    "et": "estonian",
    "fa": "persian",
    "fi": "finnish",
    "fr": "french",
    "hi": "hindi",
    "hu": "hungarian",
    "hy": "armenian",
    "id": "indonesian",
    "it": "italian",
    "lt": "lithuanian",
    "nl": "dutch",
    "no": "norwegian",
    "pl": "polish",
    "pt": "portuguese",
    "ro": "romanian",
    "ru": "russian",
    "sv": "swedish",
    "ta": "tamil",
    "tr": "turkish",
}
"""The Snowball stemmer of each language, by ISO 639-1 code. Other languages are not stemmed."""

_FUNCTION_WORDS = Path(__file__).with_name("function_words.txt")
"""One line per language: its code, and its most frequent function words."""
_SCRIPTS = {
    "ar": "\u0600-\u06ff\u0750-\u077f",
    "el": "\u0370-\u03ff\u1f00-\u1fff",
    "he": "\u0590-\u05ff",
    "hi": "\u0900-\u097f",
    "hy": "\u0530-\u058f",
    "ja": "\u3040-\u30ff",
    "km": "\u1780-\u17ff",
    "ko": "\uac00-\ud7af",
    "lo": "\u0e80-\u0eff",
    "my": "\u1000-\u109f",
    "ta": "\u0b80-\u0bff",
    "th": "\u0e00-\u0e7f",
    "zh": "\u3400-\u4dbf\u4e00-\u9fff",
}
_SAMPLE_CHARACTERS = 8_000
_HITS_SHARE_MIN = 0.05
"""A text in which fewer of the words are function words of a language is not in that language."""
_SHARES = 27_720
"""A function word is shared by its languages: one that few languages have says more. Divisible by 1 to 12."""
_EVIDENCE = 20.0
"""How much likelier a function word is in a text of its language than in one of another."""
_ODDS_MAX = 1e200
_CERTAINTY = 0.95
_JAPANESE_SHARE = 0.1
"""Kana make up more than this share of the characters of a Japanese text, and hardly any of a Chinese one."""
_WORD = re.compile(r"[^\W\d_]{2,}")
"""Single letters are as often names of variables as words."""
_PERSIAN = re.compile("[پچژگ]")


def detect_language(text: str) -> str:
    """The ISO 639-1 code of the language of a text; empty if it cannot be told.

    >>> detect_language("Das Nebelhorn wird bei schlechter Sicht von der Wache gestartet.")
    'de'
    """
    sample = text[:_SAMPLE_CHARACTERS]
    if not sample.isascii():
        by_script = _detect_by_script(sample)
        if by_script:
            return by_script
    return _detect_by_words(sample)


def _detect_by_script(text: str) -> str:
    letters = sum(map(str.isalpha, text))
    shares = {language: len(pattern.findall(text)) for language, pattern in _script_patterns().items()}
    east_asian = shares["zh"] + shares["ja"]
    if shares["ja"] > _JAPANESE_SHARE * east_asian:
        shares["ja"] = east_asian
    best = max(shares, key=lambda language: shares[language])
    if 2 * shares[best] <= letters:
        return ""
    return "fa" if best == "ar" and 50 * len(_PERSIAN.findall(text)) > shares["ar"] else best


@cache
def _script_patterns() -> dict[str, re.Pattern[str]]:
    return {language: re.compile(f"[{ranges}]") for language, ranges in _SCRIPTS.items()}


@cache
def _languages_by_word() -> dict[str, list[str]]:
    by_word: dict[str, list[str]] = {}
    for line in _FUNCTION_WORDS.read_text(encoding="utf-8").splitlines():
        language, *words = line.split()
        for word in words:
            by_word.setdefault(word, []).append(language)
    return by_word


def detect_question_language(text: str, counts: Mapping[str, int]) -> str:
    """The language of a question to documents in these languages, given with the number of documents in each; empty if
    it is not clear. A question is too short to tell a language that nobody writes there: each function word is evidence
    that has to outweigh the share of the documents.

    >>> detect_question_language("open the door", {"en": 1000, "nl": 1})
    'en'
    """
    by_script = "" if text.isascii() else _detect_by_script(text[:_SAMPLE_CHARACTERS])
    if by_script:
        return by_script if by_script in counts else ""
    by_word = _languages_by_word()
    odds = {language: float(count) for language, count in counts.items()}
    odds["en"] = odds.get("en", 0) + 1
    for word in {word.lower() for word in _WORD.findall(text[:_SAMPLE_CHARACTERS])}:
        for language in by_word.get(word, ()):
            if language in odds:
                odds[language] = min(_ODDS_MAX, odds[language] * _EVIDENCE)
    best = max(sorted(odds), key=odds.__getitem__)
    return best if odds[best] >= _CERTAINTY * math.fsum(odds.values()) and best in counts else ""


def _detect_by_words(text: str) -> str:
    by_word = _languages_by_word()
    words = Counter(map(str.lower, _WORD.findall(text)))
    scores: Counter[str] = Counter()
    hits: Counter[str] = Counter()
    for word, count in words.items():
        known = by_word.get(word, ())
        for language in known:
            hits[language] += count
            scores[language] += _SHARES // len(known) * count
    if not hits:
        return ""
    best = min(scores, key=lambda language: (-scores[language], language != "en", language))
    return best if hits[best] >= _HITS_SHARE_MIN * words.total() else ""


def is_function_word(word: str, language: str) -> bool:
    """Whether a word, in lower case, only holds a sentence of the language together."""
    return language in _languages_by_word().get(word, ())
