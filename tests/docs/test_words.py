"""The pages use the words of the field: no metaphors of ours."""

import re

import pytest

from tests.docs.pages import pages, read

PRIVATE_WORDS = re.compile(
    r"anew|loss of power|twice is once|nobody|somebody|whoever|weather|foreman|telegraph|\bcrews?\b|\bdesks?\b",
    re.IGNORECASE,
)


@pytest.mark.parametrize("page", pages())
def test_no_private_words(page: str) -> None:
    lines = read(page).splitlines()
    assert [f"{number}: {line}" for number, line in enumerate(lines, start=1) if PRIVATE_WORDS.search(line)] == []
