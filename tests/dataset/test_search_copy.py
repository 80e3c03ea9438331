"""`inorder export search`: a copy of DATA for search alone."""

import json
import os
from pathlib import Path

import pytest

from tests.dataset.corpus import make_corpus
from tests.pipeline.folders import FolderRuns
from tests.support.in_process import run_in_process

pytestmark = pytest.mark.req("DAT-1", "PIP-7")


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> FolderRuns:
    made = make_corpus(tmp_path_factory.mktemp("corpus"))
    assert command(made, "export", "search", "--to", "copy", "--data", "data")[0] == 0
    return made


def command(runs: FolderRuns, *arguments: str) -> tuple[int, str, str]:
    return run_in_process(list(arguments), runs.folder, {})


def find(runs: FolderRuns, data: str) -> list[dict[str, object]]:
    code, out, err = command(runs, "search", "rota", "--data", data, "--json")
    assert code == 0, err
    found: list[dict[str, object]] = json.loads(out)["hits"]
    return found


@pytest.mark.slow
def test_it_answers_as_the_library_and_has_nothing_else(runs: FolderRuns) -> None:
    assert find(runs, "copy") == find(runs, "data") != []
    assert all(name.startswith("library.") for name in os.listdir(runs.folder / "copy"))


@pytest.mark.slow
def test_a_run_does_not_write_to_it(runs: FolderRuns) -> None:
    before = {path.name: path.read_bytes() for path in (runs.folder / "copy").iterdir() if path.is_file()}
    code, _, err = command(runs, "run", "docs", "--data", "copy", "--quiet")
    assert code == 2
    assert "copy for search" in err
    assert {name: (runs.folder / "copy" / name).read_bytes() for name in before} == before


@pytest.mark.parametrize(
    "arguments", [("--to", "copy"), ("--to", "s3://bucket/copy"), ("--to", "x", "--format", "jsonl")]
)
def test_what_cannot_be_done_is_said_in_one_line(runs: FolderRuns, arguments: tuple[str, ...]) -> None:
    code, out, err = command(runs, "export", "search", *arguments, "--data", "data")
    assert (code, out) == (2, "")
    assert len(err.strip().splitlines()) == 1
    assert not Path(runs.folder / "x").exists()
