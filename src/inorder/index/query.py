"""Parse a question into what the database can look up. No character of a question is ever treated as syntax."""

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from inorder.errors import OperatorError

from .lexical.analysis import analyze, is_partial, split_words
from .lexical.languages import is_function_word
from .lexical.scoring import TermGroup

NAME_PREFIXES = ("sym", "def", "ref", "imports")
"""A question that begins with one of these and a colon is about a name."""
_TERMS_MAX = 48
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

    def make_groups(self, languages: Sequence[str] = ()) -> list[TermGroup]:
        """What to look up in an index of documents in these languages. A word is looked up in every form that it has
        in any of them: the index knows the languages, and a question is too short to tell its own."""
        return list(_make_groups(self.text, tuple(languages)))


@lru_cache(maxsize=16)
def _make_groups(text: str, languages: tuple[str, ...]) -> tuple[TermGroup, ...]:
    words = split_words(text)
    relevant = [word for word in words if not is_stop_word(word, languages)] or words
    groups: dict[TermGroup, None] = {}
    for word in dict.fromkeys(relevant):
        analyzed = [analyze(word, language) for language in dict.fromkeys(("", *languages))]
        for forms in zip(*analyzed, strict=True):
            groups.setdefault(TermGroup(tuple(dict.fromkeys(forms)), is_partial(word)))
        if len(groups) >= _TERMS_MAX:
            break
    return tuple(groups)[:_TERMS_MAX]


def parse_query(text: str) -> Query:
    """Parse a question. Raises OperatorError if there is nothing to search for."""
    text = replace_surrogates(text).strip()
    kind, colon, name = text.partition(":")
    if colon and kind in NAME_PREFIXES:
        if not name.strip():
            raise OperatorError(f"{kind}: needs a name to look for, as in {kind}:Kernel.step")
        return Query(text, kind, name.strip())
    if not analyze(text):
        raise OperatorError("the query contains no word to search for")
    return Query(text, "text", "")


def replace_surrogates(text: str) -> str:
    """A text with U+FFFD in place of lone surrogates, which cannot be encoded."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def is_stop_word(word: str, languages: Sequence[str] = ()) -> bool:
    """Whether a word says nothing about what is looked for, in English or one of these languages."""
    lower = word.lower()
    return lower in _STOP_WORDS or any(is_function_word(lower, language) for language in languages)
