"""What somebody asks, made into what the database understands. No character of a question is ever syntax."""

import re
from typing import NamedTuple

from inorder.errors import OperatorError

SYMBOLIC = ("sym", "def", "ref", "imports")
_WORD = re.compile(r"\w+")
_HUMP = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+")
_TERMS_MAX = 48
_COMMON = set(
    """
    a an and are as at be by can could did do does for from had has have how i if in into is it its may me my no not of
    on or our shall should so some than that the their them then there these they this to was we were what when where
    which who whom whose why will with would you your
    """.split()  # noqa: SIM905
)
"""Words that say nothing about what is looked for."""


class Query(NamedTuple):
    """A question."""

    said: str
    kind: str
    """`text`, or one of `sym`, `def`, `ref` and `imports`."""
    name: str
    """Of the symbol or module."""
    terms: list[str]
    """What to look for, in the order in which it was said."""

    @property
    def match(self) -> str:
        """For the full-text index: any of the terms."""
        return " OR ".join(f'"{term}"' for term in self.terms)


def understood(said: str) -> Query:
    """A question, taken apart."""
    said = said.strip()
    kind, colon, name = said.partition(":")
    if colon and kind in SYMBOLIC:
        if not name.strip():
            raise OperatorError(f"say what to look for after {kind}:, as in {kind}:Kernel.step")
        return Query(said, kind, name.strip(), [])
    terms = _terms(said)
    if not terms:
        raise OperatorError("say what to look for: there is no word in the question")
    return Query(said, "text", "", terms)


def _terms(said: str) -> list[str]:
    words = _WORD.findall(said)
    telling = [word for word in words if word.lower() not in _COMMON] or words
    found: dict[str, None] = {}
    for word in telling:
        parts = [part for piece in word.split("_") for part in _HUMP.findall(piece)]
        for term in (word, *(parts if len(parts) > 1 else ())):
            found.setdefault(term.strip("_").lower())
    return [term for term in found if term][:_TERMS_MAX]
