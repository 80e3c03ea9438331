"""A power loss at any moment of a whole run of stage `index`, with its journal, manifest, draft and vectors."""

import json
import shutil
from itertools import islice
from pathlib import Path

import pytest

import inorder
from inorder.index.connection import open_index
from inorder.index.stage import plan, sinks, stage
from inorder.journal.writer import FsyncPolicy
from tests.index.documents import add_document
from tests.index.published import read_whole_index
from tests.support.recorded_disk import RecordedDisk
from tests.support.sqlite_calls import SqliteCalls
from tests.support.system_calls import SystemCalls


def build(source: Path, data: Path, fsync: FsyncPolicy) -> inorder.StageOutcome:
    """Run the stage in this process."""
    finish = stage.finish
    assert finish is not None
    open_index.cache_clear()
    try:
        return inorder.run_stage(
            plan([source], data),
            stage.worker,
            inorder.StageOptions(data=data, policy="io", workers=1, progress="none", telemetry=False, fsync=fsync),
            sinks=sinks(data),
            finish=lambda: finish(data),
        )
    finally:
        open_index.cache_clear()


def rows_of(data: Path) -> dict[str, str]:
    """The latest outcome of every item."""
    lines = (data / "manifests" / "index.jsonl").read_text(encoding="utf-8").splitlines()
    return {row["doc_id"]: row["status"] for row in map(json.loads, lines) if row["status"] != "config"}


@pytest.mark.slow
@pytest.mark.req("IDX-2", "IDX-3", "JRN-7")
@pytest.mark.parametrize(("fsync", "first"), [("batch", 0), ("off", 1)])
def test_after_a_power_loss_at_any_moment_the_next_run_ends_with_the_same_index(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fsync: FsyncPolicy, first: int
) -> None:
    """Of the states that are found, each policy takes every second one: a run takes a while."""
    source, data, found = tmp_path / "source", tmp_path / "data", tmp_path / "found"
    source.mkdir()
    for name in ("a", "b", "c"):
        (source / f"{name}.py").write_text(f"def {name}():\n    return 1\n")
    add_document(data, "doc", "lamp")
    build(source, data, fsync)
    (source / "a.py").write_text("def other():\n    return 2\n")
    (source / "b.py").unlink()
    add_document(data, "doc", "wick")
    before = {str(path.relative_to(data)): path.read_bytes() for path in data.rglob("*") if path.is_file()}
    with monkeypatch.context() as patch:
        calls = SystemCalls(patch, data)
        SqliteCalls(calls, patch)
        build(source, data, fsync)
    wanted = read_whole_index(data)
    count = 0
    for lost in islice(RecordedDisk(calls.events, before).lose_power(samples=0), first, None, 2):
        count += 1
        shutil.rmtree(found, ignore_errors=True)
        lost.restore(found)
        outcome = build(source, found, "off")
        assert (outcome.stop_kind, outcome.failed) == (None, 0), lost.description
        assert read_whole_index(found) == wanted, lost.description
        assert set(rows_of(found)) >= {"doc", "source/a.py", "source/c.py"}, lost.description
    assert count > 20
