"""A stage that finds out which of its items may have changed: only these are checked."""

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from inorder.host import filesystem
from inorder.stage.contracts import Barrier, WorkItem
from inorder.stage.data_layout import DataLayout
from inorder.stage.store.sink import StoreSink
from inorder.stage.unchanged import spliced_manifest
from inorder.stage.unchanged.changed_items import _read_blocks
from inorder.stage.unchanged.receipt import read_receipt, write_receipt
from tests.stage.jobs import Place
from tests.stage.unchanged.pipeline import Pipeline

pytestmark = pytest.mark.req("STL-1")
NAMES = ["b", "d", "f", "h", "j", "l", "n", "p"]
VOLATILE = ("duration_s", "attempts", "status", "reason")


@pytest.fixture(params=[10**6, 1], ids=["written", "named"])
def pipeline(place: Place, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Pipeline:
    """A pipeline that has run twice. Rows that are repeated are written again, or one line stands for them."""
    monkeypatch.setattr(spliced_manifest, "REPEATED_MIN", request.param)
    for name in NAMES:
        place.source(name, f"text of {name}")
    made = Pipeline(place)
    made.finds_edits = True
    assert made.run().succeeded == len(NAMES)
    assert made.run().skipped == len(NAMES)
    return made


def read_latest(pipeline: Pipeline) -> list[dict[str, Any]]:
    """The rows of the latest run, without what depends on whether an item was up to date."""
    rows = [msgspec.json.decode(line) for line in pipeline.list_runs()[-1]]
    kept = [row for row in rows if row["reason"] != "it is no longer in the plan, and its outputs were removed"]
    return [{name: value for name, value in row.items() if name not in VOLATILE} for row in kept]


def check_latest(pipeline: Pipeline) -> None:
    """The rows of the latest run are those of a run that checks every item."""
    found = read_latest(pipeline)
    pipeline.forget()
    outcome = pipeline.run()
    assert outcome.skipped == len(pipeline.read) == len(found)
    assert read_latest(pipeline) == found


@pytest.mark.parametrize(
    ("written", "removed"),
    [
        pytest.param(["f"], [], id="one"),
        pytest.param(["b"], [], id="the first"),
        pytest.param(["p"], [], id="the last"),
        pytest.param(["a"], [], id="added before all"),
        pytest.param(["g"], [], id="added between"),
        pytest.param(["q", "r"], [], id="added after all"),
        pytest.param([], ["b"], id="removed first"),
        pytest.param([], ["h", "p"], id="removed"),
        pytest.param(["e"], ["d"], id="renamed"),
        pytest.param(["a", "h", "z"], ["j"], id="all of it"),
    ],
)
def test_only_what_may_have_changed_is_read(pipeline: Pipeline, written: list[str], removed: list[str]) -> None:
    for name in written:
        pipeline.place.source(name, f"another text of {name}")
    for name in removed:
        (pipeline.place.sources / name).unlink()
    names = sorted({*NAMES, *written} - {*removed})
    outcome = pipeline.run()
    assert pipeline.read == sorted(pipeline.called) == sorted(written)
    assert (outcome.succeeded, outcome.skipped) == (len(written), len(names) - len(written) + len(removed))
    assert outcome.scheduled == len(names) + len(removed)
    assert [row["doc_id"] for row in read_latest(pipeline)] == names
    assert [row["seq"] for row in read_latest(pipeline)] == list(range(len(names)))
    assert list(pipeline.list_results()) == names
    again = pipeline.run()
    assert (pipeline.read, again.skipped, again.scheduled) == ([], len(names), len(names))
    check_latest(pipeline)


def test_rows_that_are_cut_by_blocks_are_repeated(pipeline: Pipeline, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("inorder.sinks.manifest._COPY_BYTES", 100)
    for name in ("a", "h"):
        pipeline.place.source(name, "another text")
    pipeline.run()
    assert pipeline.read == ["a", "h"]
    check_latest(pipeline)


def test_an_item_that_fails_is_named_and_every_item_is_checked_by_the_next_run(pipeline: Pipeline) -> None:
    pipeline.place.source("f", "bad")
    outcome = pipeline.run()
    assert (pipeline.read, outcome.failed, outcome.skipped) == (["f"], 1, len(NAMES) - 1)
    assert pipeline.run().failed == 1
    assert len(pipeline.read) == len(NAMES)


def test_changes_of_two_runs_of_the_first_stage_are_not_known(pipeline: Pipeline) -> None:
    for name in ("d", "h"):
        pipeline.place.source(name, "another text")
        pipeline.run_first()
    outcome = pipeline.run_second()
    assert len(pipeline.read) == len(NAMES)
    assert (outcome.succeeded, outcome.skipped) == (2, len(NAMES) - 2)


def test_a_run_of_the_first_stage_without_changes_does_not_hide_those_before_it(pipeline: Pipeline) -> None:
    pipeline.place.source("d", "another text")
    (pipeline.place.sources / "h").unlink()
    pipeline.run_first()
    pipeline.run_first()
    pipeline.run_second()
    assert pipeline.read == ["d"]
    assert sorted(pipeline.list_results()) == sorted({*NAMES} - {"h"})


@pytest.mark.parametrize(
    "change",
    [
        lambda pipeline: setattr(pipeline, "version", "2"),
        lambda pipeline: Path(DataLayout(pipeline.data, "second").receipt).unlink(),
        lambda pipeline: Path(DataLayout(pipeline.data, "first").receipt).unlink(),
    ],
    ids=["version", "no receipt", "no receipt of the first stage"],
)
def test_every_item_is_read_if_it_is_not_known_what_has_changed(
    pipeline: Pipeline, change: Callable[[Pipeline], None]
) -> None:
    pipeline.place.source("d", "another text")
    pipeline.run_first()
    change(pipeline)
    pipeline.run_second()
    assert len(pipeline.read) == len(NAMES)


def test_results_of_other_items_are_found(pipeline: Pipeline) -> None:
    """The store has a result that is not of the last run: whether it is to be removed must be asked."""
    receipt = read_receipt(pipeline.data, "second")
    assert receipt is not None
    fewer = msgspec.structs.replace(receipt, count=receipt.count - 1)
    write_receipt(pipeline.data, "second", fewer)
    pipeline.place.source("d", "another text")
    pipeline.run()
    assert len(pipeline.read) == len(NAMES)


def run_and_die(pipeline: Pipeline, number: int, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Run the second stage in a process that is killed before it does a durable operation with this number. Returns
    whether it came to its end."""
    process = os.fork()
    if process:
        return os.waitpid(process, 0)[1] == 0
    count = 0

    def die_before(operation: Callable[..., Any]) -> Callable[..., Any]:
        def counted(*arguments: Any, **named: Any) -> Any:
            nonlocal count
            count += 1
            if count == number:
                os.kill(os.getpid(), signal.SIGKILL)
            return operation(*arguments, **named)

        return counted

    for name in ("write", "fsync", "fdatasync", "replace", "rename", "unlink", "ftruncate"):
        monkeypatch.setattr(filesystem.os, name, die_before(getattr(os, name)))
    for name in ("apply", "sync", "roll_back"):
        monkeypatch.setattr(StoreSink, name, die_before(getattr(StoreSink, name)))
    try:
        pipeline.run_second()
        os._exit(0)
    finally:
        os._exit(1)


@pytest.mark.process
def test_a_run_that_dies_at_any_durable_operation_is_completed_by_the_next(
    pipeline: Pipeline, monkeypatch: pytest.MonkeyPatch
) -> None:
    is_complete, number = False, 0
    while not is_complete:
        number += 1
        name = NAMES[number % len(NAMES)]
        pipeline.place.source(name, f"text {number}")
        gone = pipeline.place.source(f"x{number}", "soon gone")
        pipeline.run()
        gone.unlink()
        pipeline.place.source(name, f"another text {number}")
        pipeline.run_first()
        is_complete = run_and_die(pipeline, number, monkeypatch)
        pipeline.run_second()
        results = pipeline.list_results()
        assert results[name] == f"ANOTHER TEXT {number}".encode() * 2, number
        assert list(results) == NAMES, number
        rows = read_latest(pipeline)
        assert [row["doc_id"] for row in rows] == NAMES, number
        assert [row["seq"] for row in rows] == list(range(len(NAMES))), number
    assert number > 10


def test_items_are_looked_up_in_blocks_that_end_at_a_barrier() -> None:
    made: list[int] = []

    def make() -> Iterator[tuple[int, WorkItem] | Barrier]:
        for number in range(40):
            if number == 30:
                yield Barrier()
            made.append(number)
            yield number, WorkItem(item_id=str(number))

    found = [(len(made), 0 if isinstance(block, Barrier) else len(block)) for block in _read_blocks(make())]
    assert found == [(8, 8), (24, 16), (30, 6), (30, 0), (40, 10)], "few at first, and none after a barrier before it"
    assert [*_read_blocks([Barrier(), Barrier()])] == [Barrier(), Barrier()]
