"""What a question to a whole repository is about: its code, or what is written about it.

A repository has source code, documentation, tests, examples, lists of changes, and data. The same words are in all of
them. Nothing is left out of an answer: the scores of documents beside code get two factors.

* By the kind of the document: a list of changes names everything and explains nothing.
* By the question: names, paths, error texts and words such as *implemented* lean to code, *how do I* and *install* to
  documentation. Each of these shifts the factor by the same step.
"""

import math
import re
from functools import lru_cache

CHANGES = 0.5
"""Of a list of changes, unless the question asks for changes."""
STEP = 0.3
"""What each sign in the question adds to the logarithm of the factor."""
_SIGNS_MAX = 3

_CHANGES = re.compile(
    r"(?:^|/)(?:change(?:s|log)|history|news|release(?:s|[-_ ]?notes)|whats[-_ ]?new)(?:[-_.][^/]*)?(?:/|$)",
    re.IGNORECASE,
)
_ASKS_FOR_CHANGES = re.compile(
    r"\b(?:chang(?:e[sd]?|elog)|release[sd]?|versions?|new in|since when|history|deprecat\w+|migrat\w+|upgrad\w+|"
    r"breaking)\b",
    re.IGNORECASE,
)
_CODE_SIGNS = tuple(
    re.compile(pattern, flags)
    for pattern, flags in (
        (r"\w_\w|[a-z][A-Z]|[A-Z]{2}[a-z]{2}|\w::\w|\w\(\)", 0),  # names
        (r"[\w-]/[\w-]+\.\w{1,4}\b|\w\.(?:py|rs|go|ts|js|c|h|cc|cpp|java|rb)\b", 0),  # paths
        (r"\b\w+(?:Error|Exception)\b|\bTraceback\b|\bpanicked\b|\bsegfault\b|\berror:", 0),  # error texts
        (
            r"\b(?:implement\w*|internals?|class(?:es)?|functions?|methods?|struct|parser?|pars(?:es|ed|ing)|callback|"
            r"where is|how (?:is|are|does|the|\w+ (?:is|are)))\b",
            re.IGNORECASE,
        ),
        (
            r"^(?:fix|add|remove|use|avoid|handle|support|make|allow|prevent|refactor|don't|do not|ensure)\b",
            re.IGNORECASE,
        ),
    )
)
_PROSE_SIGNS = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        r"\b(?:how (?:do|can|should) (?:i|we|you)|how to|can i|should i|what is|what are|why)\b",
        r"\b(?:install\w*|getting started|quick ?start|tutorial|guide|overview|introduction|documentation|docs|"
        r"contribut\w+|license|faq|deploy\w*|best practices?)\b",
        r"^(?:using|writing|running|creating|making|building|working with|setting up|configuring)\b",
    )
)


def find_factor(question: str) -> float:
    """The factor of documents beside code, by what the question is about."""
    signs = sum(bool(sign.search(question)) for sign in _CODE_SIGNS)
    signs -= sum(bool(sign.search(question)) for sign in _PROSE_SIGNS)
    return math.exp(-STEP * max(-_SIGNS_MAX, min(_SIGNS_MAX, signs)))


def asks_for_changes(question: str) -> bool:
    """Whether a list of changes may be the answer."""
    return bool(_ASKS_FOR_CHANGES.search(question))


@lru_cache(maxsize=1 << 16)
def lists_changes(item_id: str) -> bool:
    """Whether a document is a list of changes, judged by its path below the source."""
    return bool(_CHANGES.search(item_id.partition("/")[2]))
