"""The pictures of the pages have a form for light and one for dark screens, and the README keeps what it promises."""

import re

import pytest

from inorder.version import __version__
from tests.docs.pages import read

PICTURES = [("README.md", "report", "png"), ("docs/guides/your-own-job.md", "order", "svg")]
PICTURES += [("docs/explanation/performance.md", "comparison", "svg")]


@pytest.mark.parametrize(("page", "picture", "kind"), PICTURES)
def test_pictures_have_a_light_and_a_dark_form(page: str, picture: str, kind: str) -> None:
    assert re.search(rf'srcset="[\w./]*images/{picture}-dark\.{kind}"', read(page))
    assert re.search(rf'src="[\w./]*images/{picture}-light\.{kind}"', read(page))


def test_the_first_minute_says_what_a_searcher_gets() -> None:
    first = read("README.md").partition("## Example")[0]
    assert "Search your own documents" in first
    assert not re.search(r"\b(?:commit|kernel|journal|seq|lease|envelope)", first)


def test_the_status_names_this_version() -> None:
    stated = re.search(r"^\| status \| version (\d+\.\d+), ", read("README.md"), re.MULTILINE)
    assert stated is not None
    assert __version__.startswith(f"{stated[1]}.")
