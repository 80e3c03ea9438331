"""No command on a page fetches the name `inorder` from a package index: it is not published there."""

import re

import pytest

from tests.docs.pages import pages, read

_FETCHED = re.compile(r"pip3? install[^\n`]*?[ \t]['\"]?inorder(?:\[[^\]\n]*\])?['\"]?(?=[\s`)\]]|$)", re.MULTILINE)
HISTORY = ("docs/decisions/", "docs/worklogs/")
GENERATED = ("docs/reference/command-line.md", "docs/reference/api.md")


@pytest.mark.parametrize("page", [page for page in pages() if not page.startswith(HISTORY) and page not in GENERATED])
def test_no_command_fetches_the_package_from_an_index(page: str) -> None:
    assert _FETCHED.findall(read(page)) == []
