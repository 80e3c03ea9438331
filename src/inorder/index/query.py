"""Parse a question into what the database can look up. No character of a question is ever treated as syntax."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from inorder.errors import OperatorError

from .lexical.analysis import analyze, is_partial, split_words
from .lexical.languages import detect_question_language, is_function_word
from .lexical.scoring import TermGroup

NAME_PREFIXES = ("sym", "def", "ref", "imports")
"""A question that begins with one of these and a colon is about a name."""
CHARACTERS_MAX = 20_000
"""The rest of a longer question is not searched for."""
_TERMS_MAX = 256
"""Of a question with more different terms, those that it repeats most are looked up, and the first of the others."""
_PREFIX_MIN = 5
"""Letters of a word whose beginning is looked up: `car` is no carrot."""
NO_LANGUAGES: Mapping[str, int] = {}
_STOP_WORDS = set(
    """
    a an and are as at be by can could did do does for from had has have how i if in into is it its may me my no not of
    on or our shall should so some than that the their them then there these they this to was we were what when where
    which who whom whose why will with would you your
    """.split()  # noqa: SIM905
)


class Query(NamedTuple):
    """A parsed question."""

    text: str
    kind: str
    """`text`, or one of `sym`, `def`, `ref` and `imports`."""
    name: str
    """The symbol or module to look up; empty for a `text` query."""
    characters: int = 0
    """The length of the question as it was asked; `text` has the beginning of one that is too long."""

    def make_groups(self, languages: Mapping[str, int] = NO_LANGUAGES) -> list[TermGroup]:
        """What to look up in an index of documents in these languages, given with the number of documents in each. Stop
        words are those of the language of the question. A word is looked up in the forms that it has there and in
        English, which is also that of code; in every language of the index if the question does not tell its own."""
        return list(_make_groups(self.text, tuple(languages.items())))

    def detect_language(self, languages: Mapping[str, int]) -> str:
        """The language of the question among those of an index; empty if the question does not tell."""
        return _detect_language(self.text, tuple(languages.items()))


def widen_groups(groups: Sequence[TermGroup]) -> list[TermGroup]:
    """Terms that begin with these count too: for a question of which nothing is in the index. Short ones stay."""
    return [group._replace(is_prefix=group.is_prefix or min(map(len, group.forms)) >= _PREFIX_MIN) for group in groups]


@lru_cache(maxsize=16)
def _detect_language(text: str, counts: tuple[tuple[str, int], ...]) -> str:
    return detect_question_language(text, dict(counts)) if counts else ""


@lru_cache(maxsize=16)
def _make_groups(text: str, counts: tuple[tuple[str, int], ...]) -> tuple[TermGroup, ...]:
    language = _detect_language(text, counts)
    languages = [language] if language else [name for name, _ in counts]
    words = Counter(split_words(text))
    relevant = {word: count for word, count in words.items() if not is_stop_word(word, language)} or words
    found: Counter[tuple[tuple[str, ...], bool]] = Counter()
    for word, count in relevant.items():
        analyzed = [analyze(word, each) for each in dict.fromkeys(("", *languages))]
        for forms in zip(*analyzed, strict=True):
            found[tuple(dict.fromkeys(forms)), is_partial(word)] += count
    kept = dict(found.most_common(_TERMS_MAX))
    return tuple(TermGroup(*term, math.sqrt(count)) for term, count in found.items() if term in kept)


def parse_query(text: str) -> Query:
    """Parse a question. Raises OperatorError if there is nothing to search for."""
    text = replace_surrogates(text).strip()
    characters, text = len(text), text[:CHARACTERS_MAX]
    kind, colon, name = text.partition(":")
    if colon and kind in NAME_PREFIXES:
        if not name.strip():
            raise OperatorError(f"{kind}: needs a name to look for, as in {kind}:Kernel.step")
        return Query(text, kind, name.strip(), characters)
    if not analyze(text):
        raise OperatorError("the query contains no word to search for")
    return Query(text, "text", "", characters)


def replace_surrogates(text: str) -> str:
    """A text with U+FFFD in place of lone surrogates, which cannot be encoded."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def is_stop_word(word: str, language: str = "") -> bool:
    """Whether a word says nothing about what is looked for, in this language; in English, if it is not known."""
    lower = word.lower()
    return (language in ("", "en") and lower in _STOP_WORDS) or is_function_word(lower, language)
