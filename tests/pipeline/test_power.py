"""A power loss at any moment of a whole run, with its journal, manifests, library and vectors."""

import json
import shutil
from itertools import islice
from pathlib import Path

import pytest

from inorder.journal.writer import FsyncPolicy
from tests.index.published import read_published
from tests.pipeline.runs import Library, write
from tests.support.recorded_disk import RecordedDisk
from tests.support.sqlite_calls import SqliteCalls
from tests.support.system_calls import SystemCalls

STRIDE = 3
"""Of the states that are found, each policy takes every third one: a run takes a while."""


def build(source: Path, data: Path, fsync: FsyncPolicy) -> None:
    """Run the pipeline in this process, with one worker."""
    outcome = Library(data, dense="hash:16").run(source, workers=1, fsync=fsync)
    assert (outcome.stop_kind, outcome.counts.failed) == (None, 0)


def list_rows(data: Path) -> set[str]:
    """The files of which the step `index` has ever made a result."""
    lines = (data / "manifests" / "index.jsonl").read_text(encoding="utf-8").splitlines()
    return {row["doc_id"] for row in map(json.loads, lines) if row["status"] == "success"}


@pytest.mark.slow
@pytest.mark.req("IDX-2", "IDX-3", "JRN-7", "PIP-1")
@pytest.mark.parametrize(("fsync", "first"), [("batch", 0), ("off", 1)])
def test_after_a_power_loss_at_any_moment_the_next_run_ends_with_the_same_library(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fsync: FsyncPolicy, first: int
) -> None:
    source, data, found = tmp_path / "source", tmp_path / "data", tmp_path / "found"
    write(source, **{f"{name}.py": f"def {name}():\n    return 1\n" for name in ("a", "b", "c")}, **{"doc.md": "lamp"})
    build(source, data, fsync)
    write(source, **{"a.py": "def other():\n    return 2\n", "doc.md": "wick"})
    (source / "b.py").unlink()
    before = {str(path.relative_to(data)): path.read_bytes() for path in data.rglob("*") if path.is_file()}
    with monkeypatch.context() as patch:
        calls = SystemCalls(patch, data)
        SqliteCalls(calls, patch)
        build(source, data, fsync)
    wanted = read_published(data)
    count = 0
    for lost in islice(RecordedDisk(calls.events, before).lose_power(samples=0), first, None, STRIDE):
        count += 1
        shutil.rmtree(found, ignore_errors=True)
        lost.restore(found)
        build(source, found, "off")
        assert read_published(found) == wanted, lost.description
        assert list_rows(found) >= {"source/doc.md", "source/a.py", "source/c.py"}, lost.description
    assert count > 10
