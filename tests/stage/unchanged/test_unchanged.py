"""A stage that is made of the results of another one: when nothing is checked, and when everything is."""

import os
import shutil
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

import inorder
from inorder.sinks.manifest import ManifestSink
from inorder.stage.data_layout import DataLayout
from inorder.stage.store.database import store_path
from inorder.stage.unchanged import spliced_manifest
from tests.stage.jobs import Place
from tests.stage.unchanged.pipeline import Pipeline

pytestmark = pytest.mark.req("STL-1")


@pytest.fixture(params=[10**6, 1], ids=["written", "named"])
def pipeline(place: Place, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Pipeline:
    """A pipeline that has run once. Rows that are repeated are written again, or one line stands for them."""
    monkeypatch.setattr(spliced_manifest, "REPEATED_MIN", request.param)
    for name in ("a", "b", "c", "odd", "z\udcff"):
        place.source(name, name[:3].replace("z\udcff", "last"))
    made = Pipeline(place)
    assert made.run().succeeded == 5
    return made


def test_nothing_is_checked_and_every_item_has_the_row_that_it_would_have(
    pipeline: Pipeline, monkeypatch: pytest.MonkeyPatch
) -> None:
    pipeline.forget()
    checked = pipeline.run()
    assert len(pipeline.read) == checked.skipped == 5
    monkeypatch.setattr("inorder.sinks.manifest._COPY_BYTES", 100)  # less than a row
    for _ in range(2):
        unchanged = pipeline.run()
        assert (pipeline.read, pipeline.called) == ([], [])
        assert (unchanged.skipped, unchanged.scheduled, unchanged.stop_kind) == (5, 5, None)
    rows = pipeline.list_runs()
    assert rows[1] == rows[2] == rows[3]
    assert len(rows[0]) == 5


def test_rows_are_made_from_those_of_items_that_succeeded(pipeline: Pipeline) -> None:
    pipeline.run()
    assert pipeline.read == []
    pipeline.forget()
    pipeline.run()
    assert len(pipeline.read) == 5
    made, repeated, checked = pipeline.list_runs()
    assert b'"warnings":["this one is odd"]' in b"".join(made)
    assert repeated == checked


def change_source(pipeline: Pipeline) -> None:
    pipeline.place.source("b", "another text")


def remove_source(pipeline: Pipeline) -> None:
    (pipeline.place.sources / "b").unlink()


def change_version(pipeline: Pipeline) -> None:
    pipeline.version = "2"


def change_something_else(pipeline: Pipeline) -> None:
    pipeline.is_same = False


def remove_results(pipeline: Pipeline) -> None:
    os.unlink(store_path(pipeline.data, "second"))


def forget_the_first_stage(pipeline: Pipeline) -> None:
    """What is left of a run of the first stage that was interrupted: a store that its receipt does not describe."""
    with closing(sqlite3.connect(store_path(pipeline.data, "first"))) as connection, connection:
        connection.execute("UPDATE inorder_position SET checksum = checksum + 1")


def alter_manifest(pipeline: Pipeline) -> None:
    path = Path(pipeline.data, "manifests", "second.jsonl")
    path.write_bytes(path.read_bytes() + b'{"stage":"second","doc_id":"x","status":"skip"}\n')


def damage_receipt(pipeline: Pipeline) -> None:
    Path(DataLayout(pipeline.data, "second").receipt).write_bytes(b'{"format":1')


def alter_receipt(pipeline: Pipeline) -> None:
    """A power loss can leave old bytes in the middle of a receipt, which is not synced."""
    path = Path(DataLayout(pipeline.data, "second").receipt)
    text = path.read_bytes()
    path.write_bytes(text.replace(b'"is_clean":true', b'"is_clean": true'))
    assert path.read_bytes() != text


@pytest.mark.parametrize(
    ("change", "called", "results"),
    [
        (change_source, ["b"], {"b": b"ANOTHER TEXT" * 2}),
        (remove_source, [], {}),
        (change_version, ["a", "b", "c", "odd", "z\udcff"], {}),
        (change_something_else, [], {}),
        (remove_results, ["a", "b", "c", "odd", "z\udcff"], {}),
        (forget_the_first_stage, [], {}),
        (alter_manifest, [], {}),
        (damage_receipt, [], {}),
        (alter_receipt, [], {}),
    ],
)
def test_every_item_is_checked_if_anything_has_changed(
    pipeline: Pipeline, change: Callable[[Pipeline], None], called: list[str], results: dict[str, bytes]
) -> None:
    pipeline.run()
    wanted = pipeline.list_results() | results
    change(pipeline)
    if change is forget_the_first_stage:
        pipeline.run_second()
    else:
        pipeline.run()
    assert pipeline.read
    assert sorted(pipeline.called) == called
    if change is remove_source:
        del wanted["b"]
    assert pipeline.list_results() == wanted
    pipeline.run()
    assert pipeline.called == []


def test_a_change_that_was_undone_is_a_change(pipeline: Pipeline) -> None:
    """The second stage has not seen the first change; the results that it was made of were written again."""
    pipeline.place.source("b", "another text")
    pipeline.run_first()
    pipeline.place.source("b", "b")
    pipeline.run()
    assert len(pipeline.read) == 5
    assert pipeline.called == []


def test_what_was_removed_and_came_back_is_found(pipeline: Pipeline) -> None:
    (pipeline.place.sources / "b").unlink()
    pipeline.run_first()
    pipeline.place.source("b", "b")
    pipeline.run_first()
    pipeline.run()
    assert len(pipeline.read) == 5


def test_an_item_that_fails_is_done_again_by_every_run(pipeline: Pipeline) -> None:
    pipeline.place.source("b", "bad")
    for _ in range(3):
        assert pipeline.run().failed == 1
        assert pipeline.called == ["b"]


def test_results_of_another_moment_are_not_those_of_the_receipt(pipeline: Pipeline, tmp_path: Path) -> None:
    path = store_path(pipeline.data, "second")
    shutil.copy(path, tmp_path / "copy")
    pipeline.place.source("b", "another text")
    pipeline.run()
    shutil.copy(tmp_path / "copy", path)
    pipeline.run()
    assert pipeline.called == ["b"]
    assert pipeline.list_results()["b"] == b"ANOTHER TEXT" * 2


@pytest.mark.parametrize(
    "options",
    [{"force": True}, {"resume": False}, {"fingerprinting": False}, {"attempts_log": True}],
    ids=lambda options: next(iter(options)),
)
def test_an_option_that_is_about_each_item_is_heeded(pipeline: Pipeline, options: dict[str, Any]) -> None:
    pipeline.run(**options)
    assert len(pipeline.read) == 5


def test_a_hook_is_called_for_every_item(pipeline: Pipeline) -> None:
    seen: list[str] = []
    pipeline.run(inorder.StageHooks(after_item=lambda item, result, ctx: seen.append(item.item_id)))
    assert sorted(seen) == ["a", "b", "c", "odd", "z\udcff"]


@pytest.mark.parametrize("written", [0, 1, 3])
def test_a_run_that_dies_in_the_middle_leaves_one_row_per_item(
    pipeline: Pipeline, monkeypatch: pytest.MonkeyPatch, written: int
) -> None:
    """The rows are written one by one, and the process dies after some of them, or before the commit."""
    monkeypatch.setattr("inorder.sinks.manifest._COPY_BYTES", 100)
    append_rows = ManifestSink.append_rows

    def die(sink: ManifestSink, blocks: Iterable[bytes], end: int) -> Any:
        def yield_some() -> Iterator[bytes]:
            yield from islice(blocks, written)
            raise KeyboardInterrupt

        return append_rows(sink, yield_some(), end)

    with monkeypatch.context() as patched:
        patched.setattr(ManifestSink, "append_rows", die)
        with pytest.raises(KeyboardInterrupt):
            pipeline.run()
    outcome = pipeline.run_second()
    assert outcome.skipped == 5
    runs = pipeline.list_runs()
    assert [len(run) for run in runs] == [5, 5]
    assert pipeline.called == []
    pipeline.run()
    pipeline.run()
    assert pipeline.read == []
    assert [len(run) for run in pipeline.list_runs()] == [5, 5, 5, 5]


def test_a_run_that_dies_after_its_commit_is_not_repeated(pipeline: Pipeline, monkeypatch: pytest.MonkeyPatch) -> None:
    pipeline.run_first()
    with monkeypatch.context() as patched:
        patched.setattr("inorder.runtime.commit.CommitLane.finish", _interrupt)
        with pytest.raises(KeyboardInterrupt):
            pipeline.run_second()
    outcome = pipeline.run_second()
    assert (outcome.resumed_at, outcome.skipped) == (5, 5)
    assert [len(run) for run in pipeline.list_runs()] == [5, 5]


def test_the_store_is_not_touched(pipeline: Pipeline) -> None:
    before = os.stat(store_path(pipeline.data, "second"))
    assert pipeline.run_second().skipped == 5
    after = os.stat(store_path(pipeline.data, "second"))
    assert (after.st_ino, after.st_mtime_ns, after.st_ctime_ns) == (
        before.st_ino,
        before.st_mtime_ns,
        before.st_ctime_ns,
    )


def _interrupt(*_: Any, **__: Any) -> None:
    raise KeyboardInterrupt
