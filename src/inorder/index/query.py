"""Parse a question into what the database can look up. No character of a question is ever treated as syntax."""

import re
from typing import NamedTuple

from inorder.errors import OperatorError

NAME_PREFIXES = ("sym", "def", "ref", "imports")
"""A question that begins with one of these and a colon is about a name."""
_WORD = re.compile(r"\w+")
_NAME_PART = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+")
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
    terms: list[str]
    """The terms to search for, in the order of the question; none for a lookup by name."""

    @property
    def match_expression(self) -> str:
        """The expression for the full-text index: any of the terms."""
        return " OR ".join(f'"{term}"' for term in self.terms)


def parse_query(text: str) -> Query:
    """Parse a question. Raises OperatorError if there is nothing to search for."""
    text = text.strip()
    kind, colon, name = text.partition(":")
    if colon and kind in NAME_PREFIXES:
        if not name.strip():
            raise OperatorError(f"{kind}: needs a name to look for, as in {kind}:Kernel.step")
        return Query(text, kind, name.strip(), [])
    terms = _split_terms(text)
    if not terms:
        raise OperatorError("the query contains no word to search for")
    return Query(text, "text", "", terms)


def _split_terms(text: str) -> list[str]:
    words = _WORD.findall(text)
    relevant = [word for word in words if word.lower() not in _STOP_WORDS] or words
    terms: dict[str, None] = {}
    for word in relevant:
        parts = [part for piece in word.split("_") for part in _NAME_PART.findall(piece)]
        for term in (word, *(parts if len(parts) > 1 else ())):
            terms.setdefault(term.strip("_").lower())
    return [term for term in terms if term][:_TERMS_MAX]
