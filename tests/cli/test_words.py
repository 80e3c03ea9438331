"""Who indexes a folder meets the words of the product, not those of the engine."""

import io
import os
import re

import pytest

from inorder.cli.commands import COMMANDS
from inorder.cli.output import fit_lines
from tests.cli.test_counts import FILES, QUICK
from tests.pipeline.runs import write
from tests.support.command_line import CommandLine

pytestmark = [pytest.mark.req("PIP-5"), pytest.mark.slow]

FORBIDDEN = re.compile(r"\b(?:skip(?:s|ped)?|seqs?|leases?|envelopes?|windows?|lags?)\b", re.IGNORECASE)
"""Words of the engine room: `-v`, the report's engine room, tuning, specs, and stages of users."""
OF_STAGES = frozenset(("manifest", "stage"))
"""Commands about stages of users, whose items can be skipped."""


def find_forbidden(text: str) -> set[str]:
    return {found.lower() for found in FORBIDDEN.findall(text)}


def test_everyday_commands_say_nothing_of_the_engine(cli: CommandLine) -> None:
    write(cli.folder / "docs", **FILES)
    (cli.folder / "docs" / "link.md").symlink_to("nowhere")
    said = {}

    def call(*arguments: str) -> None:
        ended = cli.run_in_process(*arguments)
        assert ended.code in (0, 3), ended.err
        said[arguments] = find_forbidden(ended.out + ended.err)

    call("plan", "docs")
    call("run", "docs", *QUICK)
    write(cli.folder / "docs", **{"ash.md": "# Ash, edited\n", "new.md": "# New\n"})
    (cli.folder / "docs" / "birch.txt").unlink()
    call("plan", "docs")
    for name in (*FILES, "link.md", "box.zip/in.md"):
        call("explain", f"docs/{name}")
    call("plan", "docs", "--force")
    call("run", "docs", *QUICK)
    call("run", "docs", *QUICK)
    call("chunk", *QUICK, "--tokens-max", "40")
    call("retry", *QUICK)
    for command in ("failures", "inspect", "sources", "verify", "plan"):
        call(command)
    call("search", "lamp")
    call("search", "light")
    call("show", "docs/ash.md")
    call("forget", "docs")
    assert {arguments: words for arguments, words in said.items() if words} == {}


@pytest.mark.parametrize("command", sorted(set(COMMANDS) - OF_STAGES))
def test_the_help_of_a_command_says_nothing_of_the_engine(cli: CommandLine, command: str) -> None:
    assert find_forbidden(cli.run(command, "--help", COLUMNS="200").out) == set()


class Terminal(io.StringIO):
    """A terminal of any width."""

    def isatty(self) -> bool:
        return True

    def fileno(self) -> int:
        return 2


def test_long_lines_are_broken_and_what_follows_is_indented(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.get_terminal_size", lambda number: os.terminal_size((60, 24)))
    words = "lamp " * 15
    lines = fit_lines(["short", f"   {words}", words], Terminal())
    assert lines[0] == "short"
    assert all(len(line) <= 60 for line in lines)
    starts = [len(line) - len(line.lstrip()) for line in lines]
    assert starts == [0, 3, 3, 0, 2]
    assert fit_lines([words], io.StringIO()) == [words]
