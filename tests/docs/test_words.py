"""The pages use the words of the field: no metaphors of ours."""

import re

import pytest

from tests.docs.pages import pages, read

PRIVATE_WORDS = re.compile(
    r"anew|loss of power|twice is once|nobody|somebody|whoever|weather|foreman|telegraph|\bcrews?\b|\bdesks?\b",
    re.IGNORECASE,
)


OF_THE_ENGINE = re.compile(r"\b(?:skip(?:s|ped)?|seqs?|leases?|envelopes?)\b", re.IGNORECASE)
"""Words of the engine and of stages of one's own, which people who search documents need not know."""
FOR_SEARCHERS = [
    "README.md",
    "docs/README.md",
    "docs/getting-started.md",
    *(f"docs/guides/{name}.md" for name in ("search", "keep-it-current", "code-search", "rag", "data", "documents")),
]


@pytest.mark.parametrize("page", FOR_SEARCHERS)
def test_pages_for_searchers_have_no_words_of_the_engine(page: str) -> None:
    lines = read(page).splitlines()
    assert [f"{number}: {line}" for number, line in enumerate(lines, start=1) if OF_THE_ENGINE.search(line)] == []


@pytest.mark.parametrize("page", pages())
def test_no_private_words(page: str) -> None:
    lines = read(page).splitlines()
    assert [f"{number}: {line}" for number, line in enumerate(lines, start=1) if PRIVATE_WORDS.search(line)] == []
