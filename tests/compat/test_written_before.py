"""What version 0.1.0 wrote is read: finished runs are skipped, interrupted runs and iterations are resumed."""

import json
import os
import sqlite3
import subprocess
import sys
import tarfile
from pathlib import Path
from zlib import crc32

import pytest

from tests.support.command_line import GUARD_S

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
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=GUARD_S, check=True)
    return done.stdout.splitlines()


@pytest.mark.req("JRN-3", "RUN-4")
def test_items_of_a_finished_run_are_skipped(written: Path) -> None:
    assert run_again(written, "stage", "finished") == ["resumed at None succeeded 0 skipped 11"]


@pytest.mark.req("RUN-17")
@pytest.mark.parametrize("finished", [True, False])
def test_its_cache_of_hashes_is_not_trusted(written: Path, finished: bool) -> None:
    """It has no change times: a file that was rewritten in place, and got its old mtime back, counted as unchanged."""
    data = written / "finished"
    if not finished:  # the cache of the interrupted run, with its log
        for path in (written / "interrupted" / "cache").iterdir():
            path.rename(data / "cache" / path.name)
    path = data / "upper" / "00.txt"
    content, before = path.read_bytes(), path.stat()
    row = (os.fsencode(path), "crc32", before.st_size, before.st_mtime_ns, before.st_ino, 2**62, str(crc32(content)))
    with sqlite3.connect(data / "cache" / "upper.sqlite") as cache:
        cache.execute("INSERT INTO files VALUES (?, ?, ?, ?, ?, ?, ?)", row)
    cache.close()
    path.write_bytes(content[::-1])
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert run_again(written, "stage", "finished")[-1] == "resumed at None succeeded 1 skipped 10"
    assert path.read_bytes() == content


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
