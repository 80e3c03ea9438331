"""The pages show what really happens: the commands of their console blocks are run, and their output is compared."""

import re

import pytest

from tests.docs.pages import read
from tools.console import is_same, pages, run_page

_FENCED = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


@pytest.mark.process
@pytest.mark.parametrize("page", pages())
def test_commands_print_what_is_shown(page: str) -> None:
    for shown, printed in run_page(read(page)):
        assert is_same(shown.output, printed), f"{shown.command}\n{printed}\nrun `python -m tools.console {page}`"


@pytest.mark.parametrize("page", pages())
def test_commands_with_a_prompt_are_in_console_blocks(page: str) -> None:
    others = [text for language, text in _FENCED.findall(read(page)) if language != "console"]
    assert [line for text in others for line in text.splitlines() if line.startswith("$ ")] == []
