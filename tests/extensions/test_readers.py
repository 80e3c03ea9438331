"""Readers of other packages: which files they read, and what happens if one is broken."""

from pathlib import Path

import pytest

from tests.extensions.conftest import AddPackage
from tests.support.command_line import CommandLine
from tests.support.plugin_package import install_example
from tests.support.python_path import prepend_path

pytestmark = [pytest.mark.req("PLG-1"), pytest.mark.process, pytest.mark.slow]

READER = """
from inorder.plugins import Document, Paragraph

class Shouting:
    extensions = ("md", "lamp")

    def read(self, data, name):
        return Document(name=name, mimetype="text/x", blocks=[Paragraph(text="{word} " + data.decode().upper())])

reader = Shouting()
"""


def find_paths(cli: CommandLine, question: str) -> list[str]:
    found = cli.run_in_process("search", question, "--mode", "lexical", "--json").json
    return sorted(hit["path"] for hit in found["hits"])


def run(cli: CommandLine, *arguments: str) -> dict[str, int]:
    """The counts of a run."""
    ended = cli.run_in_process("run", "sources", "--workers", "1", "--json", *arguments)
    assert ended.code == 0, ended.err
    counts: dict[str, int] = ended.json["counts"]
    return counts


def test_an_installed_reader_reads_a_type_that_nothing_built_in_reads(cli: CommandLine, example: Path) -> None:
    run(cli)
    assert find_paths(cli, "mercury") == ["sources/a.lamp"]
    [row] = [row for row in cli.rows("doctags") if row["doc_id"] == "sources/a.lamp"]
    assert row["engine"] == "lighthouse.reader:lamp inorder-lighthouse/1.0"
    assert run(cli)["unchanged"] == 2


def test_a_file_is_read_again_when_its_reader_is_installed_gets_a_new_version_or_is_gone(
    cli: CommandLine, tmp_path: Path
) -> None:
    run(cli)
    assert cli.run_in_process("search", "mercury", "--json").json["hits"][0]["kind"] == "lines"
    for version in ("1.0", "1.1"):
        path = prepend_path(install_example(tmp_path / version, version))
        ended = [cli.run("run", "sources", "--workers", "1", "--json", PYTHONPATH=path) for _ in range(2)]
        assert [each.json["counts"]["changed"] for each in ended] == [1, 0]
    assert run(cli)["changed"] == 1


def test_a_reader_takes_over_a_type_only_when_it_is_named(cli: CommandLine, add_package: AddPackage) -> None:
    add_package("loud", "1", {"inorder.readers": {"loud": "loud:reader"}}, {"loud.py": READER.format(word="installed")})
    run(cli)
    assert find_paths(cli, "installed") == ["sources/a.lamp"]
    assert run(cli, "--reader", "loud")["changed"] == 1
    assert find_paths(cli, "installed") == ["sources/a.lamp", "sources/b.md"]
    assert run(cli)["changed"] == 1
    assert find_paths(cli, "installed") == ["sources/a.lamp"]


def test_a_reader_that_is_named_as_module_and_name_is_run_again_when_its_source_has_changed(cli: CommandLine) -> None:
    for word in ("first", "second"):
        cli.write("mine.py", READER.format(word=word))
        ended = cli.run("run", "sources", "--workers", "1", "--reader", "mine:reader", "--json")
        assert ended.code == 0, ended.err
        assert ended.json["counts"]["unchanged"] == 0
        assert find_paths(cli, word) == ["sources/a.lamp", "sources/b.md"]


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("1 / 0", "cannot import broken: ZeroDivisionError: division by zero"),
        ("raise SystemExit(3)", "cannot import broken: SystemExit: 3"),
        ("import no_such_library", "cannot import broken: ModuleNotFoundError: No module named 'no_such_library'"),
        ("", "broken has no attribute 'reader'"),
        ("reader = 1", "it has no extensions, read, as inorder.plugins asks for"),
    ],
)
def test_a_broken_reader_is_one_line_and_costs_nothing_else(
    cli: CommandLine, example: Path, add_package: AddPackage, source: str, said: str
) -> None:
    add_package("broken", "0.1", {"inorder.readers": {"lens": "broken:reader"}}, {"broken.py": source})
    line = f"cannot use the plug-in lens of broken 0.1 (readers): {said}"
    ended = cli.run_in_process("run", "sources", "--workers", "1")
    assert ended.code == 0
    assert [each for each in ended.err.splitlines() if "plug-in" in each] == [f"warning: {line}"]
    assert find_paths(cli, "mercury") == ["sources/a.lamp"]
    named = cli.run_in_process("run", "sources", "--reader", "lens")
    assert (named.code, named.err) == (2, f"inorder: {line}\n")
    listed = cli.run_in_process("plugins", "--json").json["plugins"]
    readers = [each for each in listed if each["kind"] == "readers"]
    assert [(each["name"], each["problem"]) for each in readers] == [("lamp", None), ("lens", line)]


def test_two_readers_with_one_name_are_named_and_neither_reads(cli: CommandLine, add_package: AddPackage) -> None:
    for package in ("one", "two"):
        files = {f"{package}.py": READER.format(word=package)}
        add_package(package, "1", {"inorder.readers": {"loud": f"{package}:reader"}}, files)
    said = "have a plug-in with the same name loud (readers)"
    ended = cli.run_in_process("run", "sources", "--workers", "1")
    assert (ended.code, ended.err.count(said)) == (0, 1)
    named = cli.run_in_process("run", "sources", "--reader", "loud")
    assert (named.code, len(named.err.splitlines())) == (2, 1)
    assert said in named.err
    assert cli.run_in_process("plugins").err.count(said) == 1
    assert run(cli, "--reader", "one:reader")["changed"] == 2


def test_two_readers_of_one_type_are_named_and_neither_reads(cli: CommandLine, add_package: AddPackage) -> None:
    for package in ("one", "two"):
        files = {f"{package}.py": READER.format(word=package)}
        add_package(package, "1", {"inorder.readers": {package: f"{package}:reader"}}, files)
    ended = cli.run_in_process("run", "sources", "--workers", "1")
    assert ended.code == 0
    assert ended.err.count("one of one 1 and two of two 1 read .lamp; choose one with --reader") == 1
    assert run(cli, "--reader", "two")["changed"] == 2


@pytest.mark.parametrize("name", ["nobody", "no_such_module:reader", "pdf", "jobs:count"])
def test_a_reader_that_is_not_there_is_a_mistake_of_one_line(cli: CommandLine, name: str) -> None:
    ended = cli.run_in_process("run", "sources", "--reader", name)
    assert (ended.code, len(ended.err.splitlines())) == (2, 1)
    assert name.partition(":")[0] in ended.err


def test_a_file_that_the_reader_cannot_read_fails_alone(cli: CommandLine, example: Path) -> None:
    (cli.source_folder / "damaged.lamp").write_bytes(b"\xff\xfe lamp")
    ended = cli.run_in_process("run", "sources", "--workers", "1", "--json")
    assert (ended.code, ended.json["counts"]["failed"]) == (3, 1)
    assert "not a lamp" in cli.run_in_process("failures").out


def test_the_plug_ins_of_packages_are_listed_with_package_and_version(cli: CommandLine, example: Path) -> None:
    ended = cli.run_in_process("plugins")
    assert (ended.code, ended.err) == (0, "")
    listed = [line.split() for line in ended.out.splitlines()]
    assert ["readers", "lamp", "inorder-lighthouse", "1.0"] in listed
    assert {kind for kind, *_ in listed} == {"readers", "providers", "rerankers", "sources", "targets", "steps"}
