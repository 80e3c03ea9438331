"""Targets of other packages."""

import json
from pathlib import Path

import pytest

from tests.support.command_line import CommandLine

pytestmark = [pytest.mark.req("PLG-1"), pytest.mark.process, pytest.mark.slow]


def read_log(path: Path) -> dict[str, list[str]]:
    documents = json.loads(path.read_text())["documents"]
    return {doc_id: each["texts"] for doc_id, each in documents.items()}


@pytest.mark.parametrize("scheme", ["lightlog", "lighthouse.target:log"])
def test_an_index_is_exported_to_a_target_of_a_plug_in(cli: CommandLine, example: Path, scheme: str) -> None:
    place = cli.folder / "log.json"
    ended = cli.run_in_process("run", "sources", "--workers", "1", "--to", f"{scheme}://{place}")
    assert ended.code == 0, ended.err
    assert sorted(read_log(place)) == ["sources/a.lamp", "sources/b.md"]
    (cli.source_folder / "b.md").unlink()
    cli.run_in_process("run", "sources", "--workers", "1")
    ended = cli.run_in_process("export", "--to", f"{scheme}://{place}")
    assert ended.code == 0, ended.err
    assert sorted(read_log(place)) == ["sources/a.lamp"]


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("lighthouse.target:nobody:///x", "lighthouse.target has no attribute 'nobody'"),
        ("no_such_module:log:///x", "no module named no_such_module"),
    ],
)
def test_a_target_that_is_not_there_is_a_mistake_of_one_line(
    cli: CommandLine, example: Path, address: str, said: str
) -> None:
    cli.run_in_process("run", "sources", "--workers", "1", "--quiet")
    ended = cli.run_in_process("export", "--to", address.replace(":///", "://"))
    assert (ended.code, len(ended.err.splitlines())) == (2, 1)
    assert said in ended.err


def test_a_target_without_search_says_so(cli: CommandLine, example: Path) -> None:
    ended = cli.run_in_process("search", "mercury", "--index", "lightlog:///tmp/x")
    assert ended.code == 2
    assert "search in lightlog of inorder-lighthouse 1.0 is not supported" in ended.err
