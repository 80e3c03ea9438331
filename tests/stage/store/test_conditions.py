"""A stage with a store under bad conditions: a full disk, a second run, a place that cannot be used, odd paths."""

import os
from collections.abc import Sequence
from pathlib import Path

import pytest

import inorder
from inorder.sinks.base import Entry, Position
from inorder.stage.store.sink import StoreSink
from tests.stage.jobs import Place
from tests.stage.store.jobs import StoreWorker, read_store, run_stored

pytestmark = pytest.mark.req("DAT-1")


def test_a_disk_that_is_full_during_a_commit_stops_the_run_and_the_next_one_resumes(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in "abc":
        place.source(name, f"text of {name}")
    place.source("d", "".join(map(chr, range(33, 20000))))
    apply = StoreSink.apply

    def fill(sink: StoreSink, entries: Sequence[Entry]) -> Position:
        if any(entry.item.item.item_id == "d" for entry in entries):
            sink._connection.execute("PRAGMA max_page_count=1")  # no page more than there are
        return apply(sink, entries)

    with monkeypatch.context() as patch:
        patch.setattr(StoreSink, "apply", fill)
        with pytest.raises(inorder.InfrastructureError, match=r"shout\.sqlite: seqs 3 to 3 .*disk is full"):
            run_stored(place, place.data, StoreWorker(), barriers="d")
    assert read_store(place.data).keys() == {*"abc"}
    worker = StoreWorker()
    outcome = run_stored(place, place.data, worker, barriers="d")
    assert (outcome.resumed_at, outcome.succeeded) == (3, 4)
    assert {*worker.called} <= {"d"}
    assert read_store(place.data).keys() == {*"abcd"}


def test_a_second_run_at_once_is_told_which_process_has_the_stage(place: Place) -> None:
    place.source("a", "text")
    messages: list[str] = []

    def run_again(item: inorder.WorkItem, result: object, ctx: object) -> None:
        with pytest.raises(inorder.BusyError) as caught:
            run_stored(place, place.data, StoreWorker())
        messages.append(str(caught.value))

    outcome = run_stored(place, place.data, StoreWorker(), hooks=inorder.StageHooks(after_item=run_again))
    assert outcome.succeeded == 1
    [message] = messages
    assert f"in use by process {os.getpid()}" in message


@pytest.mark.parametrize("name", ["store", "store/shout.sqlite", "store/shout.sqlite.store.lock"])
def test_a_place_that_cannot_be_used_is_named(place: Place, name: str) -> None:
    place.source("a", "text")
    path = place.data / name
    if name == "store":
        place.data.mkdir()
        path.write_text("no folder")
    else:
        path.mkdir(parents=True)
    with pytest.raises(inorder.InorderError, match="store"):
        run_stored(place, place.data, StoreWorker())


@pytest.mark.parametrize("name", ["50%41", "what?mode=ro", "a#b", " spaces ", "\udcff", "file:x"])
def test_data_may_have_any_path(place: Place, name: str) -> None:
    place.source("a", "text")
    data = Path(f"{place.folder}/{name}")
    assert run_stored(place, data, StoreWorker()).succeeded == 1
    assert run_stored(place, data, StoreWorker()).skipped == 1
    assert os.path.exists(f"{place.folder}/{name}/store/shout.sqlite")
    assert read_store(data)["a"][-1] == b"TEXT"
