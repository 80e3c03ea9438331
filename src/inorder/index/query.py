"""Parse a question into what the database can look up.

A short question may have a phrase in double quotes, a word to leave out after a minus sign, and the beginning of a word
before an asterisk. All other characters, and all of a long question, are words or nothing.
"""

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from inorder.errors import OperatorError

from .lexical.analysis import TERM_CHARACTERS_MAX, analyze, is_partial, join_digits, split_runs, split_words
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
_SYNTAX_CHARACTERS_MAX = 300
"""Of a longer question, such as a text that was pasted, no character is syntax."""
_PHRASE = re.compile(r'(?<!\S)"([^"]*\w[^"]*)"(?!\w)')
_EXCLUDED = re.compile(r"(?<!\S)-([^\W\d_]{3}\w*|[^\W\d_\x00-\u02ff]\w*)(?=\s|$)")
"""Shorter ones in Latin letters are options of commands, as in `ls -la`."""
_BEGINNING = re.compile(r"(?<![\w*])(\w{2,})\*(?![\w*])")
_NOTATION = re.compile(r"(?<!\S)(?:\w+(?:[-&+./]\w+)+|\w+(?:\+\+|#)|[0-9]+[A-Za-z]{1,3})(?=[\s?!,;:.)]|$)")
_NUMBER_WITH_UNIT = re.compile(r"([0-9]+)([^\W\d_]{1,3})")
_UNIT_MIN = 2
"""Letters of a unit that is looked up by itself: `m` and `a` are too frequent."""
_GREEK_NAMES = """
    alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi omicron pi rho sigma tau upsilon phi chi
    psi omega
    """.split()  # noqa: SIM905
_GREEK = dict(zip((chr(code) for code in range(0x3B1, 0x3CA) if code != 0x3C2), _GREEK_NAMES, strict=True))
_OTHER_SPELLINGS = _GREEK | {name: letter for letter, name in _GREEK.items()}
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
    """What was asked, without words to leave out."""
    kind: str
    """`text`, or one of `sym`, `def`, `ref` and `imports`."""
    name: str
    """The symbol or module to look up; empty for a `text` query."""
    characters: int = 0
    """The length of the question as it was asked; `text` has the beginning of one that is too long."""
    phrases: tuple[str, ...] = ()
    """What must be in a chunk word by word."""
    excluded: tuple[str, ...] = ()
    """Words that must not be in a chunk."""
    beginnings: frozenset[str] = frozenset()
    """Words of the question that stand for all words that begin with them."""
    notations: tuple[str, ...] = ()
    """Words with signs, such as `C++`, `AT&T` and `10-K`, in lower case: the signs are not indexed."""

    def make_groups(self, languages: Mapping[str, int] = NO_LANGUAGES) -> list[TermGroup]:
        """What to look up in an index of documents in these languages, given with the number of documents in each. Stop
        words are those of the language of the question. A word is looked up in the forms that it has there and in
        English, which is also that of code; in every language of the index if the question does not tell its own."""
        meant = (*self.notations, *self.phrases)
        return list(_make_groups(self.text, self.beginnings, meant, tuple(languages.items())))

    def make_required_groups(self, languages: Mapping[str, int] = NO_LANGUAGES) -> list[TermGroup]:
        """A term that a text has if it has a word of a phrase, for each of these words. A word in other letters, such
        as `FogHorn` for `foghorn`, may have other parts, so it is looked up as a whole and as a single part."""
        words = dict.fromkeys(word for phrase in self.phrases for word in split_words(phrase))
        lower = [word.casefold() for word in words if not is_partial(word)]
        languages_of = dict.fromkeys(("", *languages))
        runs = dict.fromkeys(run for word in lower for run in split_runs(word))
        found = [TermGroup((run,)) for run in runs]
        for word in lower:
            if not split_runs(word):
                whole = word.strip("_")[:TERM_CHARACTERS_MAX]
                forms = [whole, *(analyze(word, each)[-1] for each in languages_of)] if whole else []
                found.append(TermGroup(tuple(dict.fromkeys(forms))))
        return [group for group in found if any(group.forms)]

    def accepts(self, text: str) -> bool:
        """Whether a chunk with this text has all phrases, and no word that is to be left out."""
        if not self.phrases and not self.excluded:
            return True
        words = f" {_join_words(text)} "
        has_all = all(f" {_join_words(phrase)} " in words for phrase in self.phrases)
        return has_all and not any(f" {_join_words(word)} " in words for word in self.excluded)

    def find_notations(self, text: str) -> float:
        """The share of the question that its words with signs make which a text has as they are written."""
        lower = text.casefold()
        words = sum(len(split_words(notation)) for notation in self.notations if notation in lower)
        return words / max(1, len(split_words(self.text)))

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
def _make_groups(
    text: str, beginnings: frozenset[str], meant: tuple[str, ...], counts: tuple[tuple[str, int], ...]
) -> tuple[TermGroup, ...]:
    """The groups of `Query.make_groups`. Words of what is `meant` as it is written are no stop words."""
    language = _detect_language(text, counts)
    languages = [language] if language else [name for name, _ in counts]
    words, joined = _read_words(text)
    kept = {word.casefold() for part in meant for word in split_words(part)}
    relevant = {
        word: count for word, count in words.items() if word.casefold() in kept or not is_stop_word(word, language)
    } or words
    found: Counter[tuple[tuple[str, ...], bool]] = Counter()
    for word, count in relevant.items():
        if word in beginnings:
            found[(word.casefold(),), True] += count
            continue
        analyzed = [analyze(word, each) for each in dict.fromkeys(("", *languages))]
        others, is_prefix = [*_spell_otherwise(word), *joined.get(word, ())], is_partial(word)
        for forms in zip(*analyzed, strict=True):
            found[tuple(dict.fromkeys((*forms, *others))), is_prefix] += count
    most = dict(found.most_common(_TERMS_MAX))
    return tuple(TermGroup(*term, math.sqrt(count)) for term, count in found.items() if term in most)


def _read_words(text: str) -> tuple[Counter[str], dict[str, list[str]]]:
    """The words of a question, and further terms for some: a number and its unit as one word, so that `10 km` and
    `10km` are the same."""
    words: Counter[str] = Counter()
    joined: dict[str, list[str]] = {}
    before = ""
    for word in split_words(join_digits(text)):
        number = _NUMBER_WITH_UNIT.fullmatch(word)
        parts = [number[1], *([number[2]] if len(number[2]) >= _UNIT_MIN else [])] if number else [word]
        words.update(parts)
        whole = word if number else f"{before}{word}" if before.isascii() and before.isdigit() else ""
        if number or _NUMBER_WITH_UNIT.fullmatch(whole):
            for part in parts if number else (before, word):
                joined.setdefault(part, []).append(whole.casefold())
        before = word
    return words, joined


def _spell_otherwise(word: str) -> list[str]:
    """Other terms for the same: the name of a Greek letter for the letter, and the other way round."""
    other = _OTHER_SPELLINGS.get(word.lower())
    return [other] if other else []


def _join_words(text: str) -> str:
    """The words of a text between spaces. Of a script without spaces, each character counts as a word."""
    words = split_words(join_digits(text))
    if not text.isascii():
        words = [" ".join(word) if split_runs(word) else word for word in words]
    return " ".join(words).casefold()


def _take_syntax(text: str) -> Query:
    """A question whose signs have a meaning, if it is short. A question of nothing but words to leave out has none."""
    if len(text) > _SYNTAX_CHARACTERS_MAX:
        return Query(text, "text", "")
    excluded = tuple(dict.fromkeys(_EXCLUDED.findall(text)))
    rest = _EXCLUDED.sub(" ", text) if excluded else text
    if excluded and not analyze(rest):
        rest, excluded = text, ()
    phrases = tuple(" ".join(split_words(join_digits(phrase))) for phrase in _PHRASE.findall(rest))
    beginnings = frozenset(word for found in _BEGINNING.findall(rest) for word in split_words(found))
    notations = tuple(dict.fromkeys(found.casefold() for found in _NOTATION.findall(rest)))
    return Query(rest.strip(), "text", "", 0, phrases, excluded, beginnings, notations)


def parse_query(text: str) -> Query:
    """Parse a question. Raises OperatorError if there is nothing to search for."""
    text = text.strip()
    characters, text = len(text), replace_surrogates(text[:CHARACTERS_MAX]).strip()
    kind, colon, name = text.partition(":")
    if colon and kind in NAME_PREFIXES:
        if not name.strip():
            raise OperatorError(f"{kind}: needs a name to look for, as in {kind}:Kernel.step")
        return Query(text, kind, name.strip(), characters)
    if not analyze(text):
        raise OperatorError("the query contains no word to search for")
    return _take_syntax(text)._replace(characters=characters)


def replace_surrogates(text: str) -> str:
    """A text with U+FFFD in place of lone surrogates, which cannot be encoded."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def is_stop_word(word: str, language: str = "") -> bool:
    """Whether a word says nothing about what is looked for, in this language; in English, if it is not known."""
    lower = word.lower()
    return (language in ("", "en") and lower in _STOP_WORDS) or is_function_word(lower, language)
