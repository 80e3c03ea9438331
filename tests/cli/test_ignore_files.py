"""What is wrong with an ignore file costs the line that is wrong, and is said with the file and the line."""

import os

import pytest

from tests.support.command_line import CommandLine

pytestmark = pytest.mark.req("ROB-1")

BAD = {
    "a backslash": b"\\",
    "an exclamation mark": b"!",
    "a range that ends before it begins": b"[z-a]",
    "bytes that are not UTF-8": b"[\xff-\x80]",
    "a line of ten megabytes": b"x" * 10_000_000,
}


@pytest.fixture
def project(cli: CommandLine) -> CommandLine:
    cli.source("a.py", "def lamp():\n    return 1\n")
    cli.source("b.md", "# A lamp\n")
    cli.source("c.log", "a lamp\n")
    return cli


def list_found(cli: CommandLine) -> set[str]:
    return {os.path.basename(hit["path"]) for hit in cli.run("search", "lamp", "-k", "100", "--json").json["hits"]}


@pytest.mark.parametrize("name", [".gitignore", ".inorderignore"])
@pytest.mark.parametrize("line", BAD.values(), ids=BAD)
def test_a_bad_pattern_is_a_warning_and_the_other_lines_hold(project: CommandLine, name: str, line: bytes) -> None:
    place = project.source_folder / name
    place.write_bytes(b"# rules\n" + line + b"\n*.log\n*.py\n!a.py\n")
    ended = project.run_in_process("run", "sources", "--policy", "io")
    assert ended.code == 0
    [warning] = [text for text in ended.err.splitlines() if text.startswith("warning: ")]
    assert warning.startswith(f"warning: {place}, line 2: ")
    assert len(warning) < 250 + len(str(place))
    assert list_found(project) == {"a.py", "b.md", "c.log"} - ({"c.log"} if name == ".inorderignore" else set())


def test_a_file_with_many_bad_patterns_has_a_few_warnings(project: CommandLine) -> None:
    (project.source_folder / ".gitignore").write_text("!\n" * 1000)
    warnings = [
        text for text in project.run_in_process("run", "sources", "--policy", "io").err.splitlines() if "!" in text
    ]
    assert len(warnings) == 5
    assert "995 more lines are no valid patterns" in project.run("plan", "sources").out


@pytest.mark.process
@pytest.mark.parametrize("name", [".gitignore", ".inorderignore"])
def test_a_fifo_in_place_of_an_ignore_file_is_a_warning(project: CommandLine, name: str) -> None:
    os.mkfifo(project.source_folder / name)
    ended = project.run("run", "sources", "--policy", "io")
    assert ended.code == 0
    said = f"warning: {project.source_folder / name} cannot be read: not a regular file; it leaves nothing out"
    assert said in ended.err.splitlines()
    assert list_found(project) == {"a.py", "b.md", "c.log"}


def test_explain_names_the_rule_beside_a_bad_one(project: CommandLine) -> None:
    place = project.source_folder / ".inorderignore"
    place.write_text("[z-a]\n*.md\n")
    project.run_in_process("run", "sources", "--policy", "io")
    assert f"excluded by {place}: *.md" in project.run("explain", "sources/b.md").out
