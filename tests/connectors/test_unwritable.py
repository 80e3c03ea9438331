"""Exports to files that cannot be created or cannot grow: one line says why, and a full disk can be emptied."""

import subprocess
from pathlib import Path

import pytest

from tests.connectors.postgres.exports import Corpus, make_texts
from tests.connectors.test_target_exports import DOCUMENTS, FAST, KINDS, list_index, read
from tests.support.command_line import COMMAND, clean_environment
from tests.support.in_process import run_in_process

pytestmark = [pytest.mark.process, pytest.mark.slow]
KILOBYTES_MAX = 200


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    corpus = Corpus(tmp_path_factory.mktemp("unwritable"), dense="hash:1024")
    sections = [f"# Part {number}\n\nThe keeper winds the clock of lamp {number}.\n\n" for number in range(80)]
    corpus.make(make_texts(DOCUMENTS, "first") | {"long.md": "".join(sections)})
    return corpus.data


@pytest.mark.parametrize("scheme", ["duckdb", "lance"])
def test_a_file_that_cannot_grow_ends_the_export_which_can_be_repeated(scheme: str, data: Path, tmp_path: Path) -> None:
    """A limit for the size of files stands for a full disk: both fail a write. The vectors of the long document alone
    are larger."""
    pytest.importorskip(KINDS[scheme].package, reason="make test-connectors installs it")
    line = [COMMAND, "export", "--to", f"{scheme}://{tmp_path}/{KINDS[scheme].place}", "--data", str(data)]
    environment = {**clean_environment(), **FAST}
    limited = ["bash", "-c", f'ulimit -f {KILOBYTES_MAX}; exec "$@"', "bash", *line]
    stopped = subprocess.run(limited, env=environment, capture_output=True, text=True, check=False)
    assert (stopped.returncode, stopped.stdout, stopped.stderr.count("\n")) == (1, "", 1), stopped.stderr
    assert stopped.stderr.endswith(": File too large; make room, and run again to resume\n")
    code, _, err = run_in_process(line[1:], tmp_path, FAST)
    assert code == 0, err
    assert read(scheme, tmp_path) == list_index(data)


@pytest.mark.parametrize(
    ("scheme", "place", "problem"),
    [
        ("lance", "file.txt/tables", "Not a directory"),
        ("lance", "x" * 300, "File name too long"),
        ("duckdb", "file.txt/x.duckdb", "Not a directory"),
        ("duckdb", "missing/x.duckdb", "No such file or directory"),
    ],
)
def test_a_place_that_cannot_be_created_is_one_line_of_wrong_usage(
    scheme: str, place: str, problem: str, data: Path, tmp_path: Path
) -> None:
    pytest.importorskip(KINDS[scheme].package, reason="make test-connectors installs it")
    (tmp_path / "file.txt").touch()
    line = ["export", "--to", f"{scheme}://{tmp_path}/{place}", "--data", str(data)]
    code, out, err = run_in_process(line, tmp_path, FAST)
    assert (code, out, err.count("\n")) == (2, "", 1), err
    assert "cannot be opened" in err
    assert problem in err
    assert "resume" not in err
