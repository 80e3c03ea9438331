"""A stage with a store that resumes after its journal or its store was lost, or is of another moment."""

import os
import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest

import inorder
from inorder.sinks.base import Entry, Position
from inorder.sinks.manifest import ManifestSink
from tests.stage.jobs import Place
from tests.stage.store.jobs import StoreWorker, read_store, run_stored

pytestmark = pytest.mark.req("JRN-3")


@pytest.fixture
def wanted(place: Place) -> dict[str, bytes]:
    """What the store of an uninterrupted run has, of which only the items a to c are done."""
    for name in "abcdef":
        place.source(name, f"text of {name}")
    place.source("d", "full")
    with pytest.raises(inorder.InfrastructureError, match="no space left"):
        run_stored(place, place.data, StoreWorker(), barriers="dg")
    assert contents(place.data) == {name: f"TEXT OF {name.upper()}".encode() for name in "abc"}
    place.source("d", "text of d")
    return {name: f"TEXT OF {name.upper()}".encode() for name in "abcdef"}


def contents(data: Path) -> dict[str, bytes]:
    return {name: row[-1] for name, row in read_store(data).items()}


def finish(place: Place) -> tuple[list[str], inorder.StageOutcome]:
    worker = StoreWorker()
    outcome = run_stored(place, place.data, worker, barriers="dg")
    return sorted(worker.called), outcome


def test_with_both_the_run_resumes(place: Place, wanted: dict[str, bytes]) -> None:
    called, outcome = finish(place)
    assert (outcome.resumed_at, outcome.succeeded) == (3, 6)
    assert called[0] == "d"
    assert len(called) + outcome.adopted == 3
    assert contents(place.data) == wanted


def test_without_the_journal_a_new_run_skips_what_is_stored(place: Place, wanted: dict[str, bytes]) -> None:
    (place.data / "journal" / "shout.journal").unlink()
    called, outcome = finish(place)
    assert (called, outcome.resumed_at, outcome.skipped) == ([*"def"], None, 3)
    assert contents(place.data) == wanted


def test_without_the_store_everything_is_done_again(place: Place, wanted: dict[str, bytes]) -> None:
    shutil.rmtree(place.data / "store")
    shutil.rmtree(place.data / ".staging")  # has results that would be adopted
    called, outcome = finish(place)
    assert (called, outcome.resumed_at) == ([*"abcdef"], None)
    assert contents(place.data) == wanted


def test_with_an_older_copy_of_the_store_what_it_lacks_is_done_again(place: Place, wanted: dict[str, bytes]) -> None:
    finish(place)
    os.rename(place.data / "store", place.folder / "older")
    shutil.copytree(place.folder / "older", place.data / "store")
    place.source("a", "other text")
    place.source("g", "full")
    with pytest.raises(inorder.InfrastructureError, match="no space left"):
        run_stored(place, place.data, StoreWorker(), barriers="dg")
    place.source("g", "text of g")
    shutil.rmtree(place.data / "store")
    shutil.copytree(place.folder / "older", place.data / "store")
    shutil.rmtree(place.data / ".staging")
    called, _ = finish(place)
    assert called == ["a", "g"]
    assert contents(place.data) == wanted | {"a": b"OTHER TEXT", "g": b"TEXT OF G"}


def test_with_a_newer_store_than_the_journal_the_run_starts_over(place: Place, wanted: dict[str, bytes]) -> None:
    journal = place.data / "journal" / "shout.journal"
    older = journal.read_bytes()
    place.source("0", "first")
    finish(place)
    (place.sources / "0").unlink()
    place.source("f", "other text")
    journal.write_bytes(older)
    called, outcome = finish(place)
    assert (called, outcome.resumed_at) == (["f"], None)
    assert contents(place.data) == wanted | {"f": b"OTHER TEXT"}
    assert any("the run starts over" in warning for warning in outcome.warnings)


def test_a_run_with_another_plan_in_between_keeps_the_results(place: Place, wanted: dict[str, bytes]) -> None:
    hidden = place.folder / "hidden"
    os.rename(place.sources / "a", hidden)
    place.source("d", "full")
    with pytest.raises(inorder.InfrastructureError, match="no space left"):
        run_stored(place, place.data, StoreWorker(), barriers="dg")
    os.rename(hidden, place.sources / "a")
    place.source("d", "text of d")
    called, outcome = finish(place)
    assert (called, outcome.resumed_at, outcome.skipped) == ([*"def"], None, 3)
    assert contents(place.data) == wanted


def test_results_and_removals_that_the_journal_does_not_know_get_their_rows(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The run ends after the store has committed and before the manifest has its rows."""
    for name in "abc":
        place.source(name, f"text of {name}")
    run_stored(place, place.data, StoreWorker())
    (place.sources / "b").unlink()
    place.source("c", "other text")

    apply = ManifestSink.apply

    def fail(sink: ManifestSink, entries: Sequence[Entry]) -> Position:
        if all(entry.item.item.item_id != "b" for entry in entries):
            return apply(sink, entries)
        raise inorder.InfrastructureError("the machine was switched off")

    with monkeypatch.context() as patch:
        patch.setattr(ManifestSink, "apply", fail)
        with pytest.raises(inorder.InfrastructureError, match="switched off"):
            run_stored(place, place.data, StoreWorker())
    assert contents(place.data).keys() == {"a", "c"}
    _, outcome = finish(place)
    assert (outcome.succeeded, outcome.skipped) == (1, 2)
    assert place.statuses() == {"a": "skip", "c": "success", "b": "skip"}
    assert contents(place.data) == {"a": b"TEXT OF A", "c": b"OTHER TEXT"}
