"""Sources and steps of other packages."""

from pathlib import Path

import pytest

from tests.support.command_line import CommandLine, CommandResult
from tests.support.python_path import prepend_path

pytestmark = [pytest.mark.req("PLG-1"), pytest.mark.process, pytest.mark.slow]

STEP = """
from inorder.plugins import Paragraph

def shout(document, name):
    document.blocks.append(Paragraph(text="{word}"))
    return document

def forget(document, name):
    return None
"""


def run(cli: CommandLine, *arguments: str) -> CommandResult:
    return cli.run_in_process("run", *arguments, "--workers", "1", "--json")


def find_paths(cli: CommandLine, question: str) -> list[str]:
    ended = cli.run_in_process("search", question, "--mode", "lexical", "--json")
    return sorted(hit["path"] for hit in ended.json["hits"])


@pytest.mark.parametrize("scheme", ["logbook", "lighthouse.source:logbook"])
def test_a_source_of_a_plug_in_is_listed_and_read(cli: CommandLine, example: Path, scheme: str) -> None:
    ended = run(cli, f"{scheme}://1889")
    assert (ended.code, ended.json["counts"]["new"]) == (0, 2), ended.err
    assert find_paths(cli, "barque") == [f"{scheme}://1889/april.md"]
    assert run(cli, f"{scheme}://1889").json["counts"]["unchanged"] == 2
    assert run(cli, f"{scheme}://1890/may.md").json["counts"]["new"] == 1


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("logbok://1889", "unknown protocol 'logbok' of a source"),
        ("no_such_module:logbook://1889", "no module named no_such_module"),
        ("lighthouse.source:PAGES://1889", "it has no identity, open_filesystem"),
    ],
)
def test_a_source_that_is_not_there_is_a_mistake_of_one_line(
    cli: CommandLine, example: Path, address: str, said: str
) -> None:
    ended = run(cli, address)
    assert (ended.code, len(ended.err.splitlines())) == (2, 1)
    assert said in ended.err


def test_a_step_changes_documents_before_they_are_chunked(cli: CommandLine, example: Path) -> None:
    cli.source("c.md", "# Tower\n\nIt has 184 stairs.\n")
    assert run(cli, "sources").code == 0
    assert find_paths(cli, "184") == ["sources/c.md"]
    assert run(cli, "sources", "--set", "steps=redact").json["counts"]["changed"] == 3
    assert find_paths(cli, "184") == []


def test_steps_run_in_their_order_and_again_when_their_source_has_changed(cli: CommandLine, example: Path) -> None:
    for word in ("cormorant", "puffin 7"):
        cli.write("mine.py", STEP.format(word=word))
        steps = "steps=mine:shout, lighthouse.step:redact"
        ended = cli.run("run", "sources", "--workers", "1", "--set", steps, PYTHONPATH=prepend_path(example))
        assert ended.code == 0, ended.err
    assert find_paths(cli, "puffin") == ["sources/a.lamp", "sources/b.md"]
    assert find_paths(cli, "7") == []


def test_a_step_that_returns_no_document_fails_the_file(cli: CommandLine) -> None:
    cli.write("mine.py", STEP.format(word="x"))
    ended = run(cli, "sources", "--set", "steps=mine:forget")
    assert (ended.code, ended.json["counts"]["failed"]) == (3, 1)
    assert "has returned NoneType, and not a Document" in cli.run_in_process("failures").out


@pytest.mark.parametrize("steps", ["nobody", "mine:nobody", "redact,"])
def test_a_step_that_is_not_there_is_a_mistake_of_one_line(cli: CommandLine, example: Path, steps: str) -> None:
    cli.write("mine.py", STEP.format(word="x"))
    ended = run(cli, "sources", "--set", f"steps={steps}")
    assert (ended.code, len(ended.err.splitlines())) == (2, 1)
