"""What version 0.1.0 wrote is read: finished runs are skipped, interrupted runs and iterations are resumed."""

import json
import os
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

pytestmark = pytest.mark.process

HERE = Path(__file__).parent
ARCHIVE = HERE / "data-0.1.0.tar.gz"
PROGRAM = HERE / "program.py"


@pytest.fixture
def written(tmp_path: Path) -> Path:
    with tarfile.open(ARCHIVE) as archive:
        archive.extractall(tmp_path, filter="data")
    return tmp_path


def run_again(folder: Path, *arguments: str) -> list[str]:
    environment = {name: value for name, value in os.environ.items() if name != "DIE"}
    command = [sys.executable, str(PROGRAM), str(folder), *arguments]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=True)
    return done.stdout.splitlines()


@pytest.mark.req("JRN-3", "RUN-4")
def test_items_of_a_finished_run_are_skipped(written: Path) -> None:
    assert run_again(written, "stage", "finished") == ["resumed at None succeeded 0 skipped 11"]


@pytest.mark.req("JRN-3", "JRN-7")
def test_an_interrupted_run_is_resumed_at_its_last_commit(written: Path) -> None:
    assert run_again(written, "stage", "interrupted")[-1].startswith("resumed at 7 ")
    finished, resumed = (
        [json.loads(line) for line in (written / data / "manifests" / "upper.jsonl").read_text().splitlines()]
        for data in ("finished", "interrupted")
    )
    items = [row["doc_id"] for row in finished if row["doc_id"] != "__config__"]
    assert [row["doc_id"] for row in resumed if row["doc_id"] != "__config__"] == items
    published = sorted((written / "finished" / "upper").iterdir())
    assert len(published) == 22
    for path in published:
        assert (written / "interrupted" / "upper" / path.name).read_bytes() == path.read_bytes()


@pytest.mark.req("JRN-3")
def test_an_iteration_is_resumed_at_the_first_result_that_was_not_committed(written: Path) -> None:
    assert run_again(written, "imap", "iteration") == [f"result {2 * number}" for number in range(5, 12)]
