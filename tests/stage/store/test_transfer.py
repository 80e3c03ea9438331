"""Results in stores that travel to a worker on another machine and back, as bytes. No cluster is needed."""

import pickle
import shutil
from pathlib import Path
from typing import Any

import msgspec
import pytest

import inorder
from inorder.stage.context import StageContext
from inorder.stage.data_layout import DataLayout
from inorder.stage.file_transfer import RemoteWork, SentItem, StageFileTransfer
from inorder.stage.store.database import close_readers, open_store
from inorder.stage.store.inputs import StoredInput
from inorder.stage.worker import StageResult, StageTask, StageWork
from tests.stage.jobs import STAGE, Place
from tests.stage.store.jobs import StoreWorker, run_stored

pytestmark = pytest.mark.req("DAT-1")
both = pytest.mark.parametrize("sees_files", [True, False], ids=["seen", "sent"])


def whisper(item: inorder.WorkItem, ctx: StageContext) -> dict[str, Any]:
    """Write the input and what else is read, in small letters."""
    [read] = item.reads
    assert isinstance(read, StoredInput)
    ctx.write_output("soft", ctx.read_input("text").lower() + (read.content or b"(not sent)"))
    return {"letters": 3}


class Journey:
    """One item of a stage that reads results of another one."""

    def __init__(self, place: Place, send_bytes_max: int = 2**20) -> None:
        place.source("a", "text of a")
        place.source("b", "text of b")
        run_stored(place, place.data, StoreWorker())
        self.data = str(place.data)
        layout = DataLayout(self.data, "whisper")
        layout.create_folders()
        self.transfer = StageFileTransfer(layout.data, layout.staging, send_bytes_max, is_stored=True)
        self.work = StageWork(whisper, "whisper", place.options(), layout.staging, is_stored=True)

    def make_task(self, number: int = 255) -> StageTask:
        store = open_store(self.data, STAGE)
        assert store is not None
        found = store.get("a")
        assert found is not None
        stored = StoredInput(self.data, STAGE, "a", "loud/a.txt", found.size, found.sha256)
        read = StoredInput(self.data, STAGE, "b", "loud/b.txt")
        name = "x" * number
        return StageTask(
            inorder.WorkItem(item_id="a", inputs={"text": stored}, outputs={"soft": f"soft/{name}"}, reads=[read])
        )

    def go(self, *, sees_files: bool, folder: Path) -> Any:
        """Send it to a node and back. What the node does not see is not there meanwhile."""
        packed = self.transfer.pack_item(self.make_task(), sees_files=sees_files)
        assert packed is not None
        sent: SentItem = pickle.loads(pickle.dumps(packed[0]))
        close_readers()
        shutil.move(f"{self.data}/store", folder / "away")
        try:
            value = RemoteWork(self.work)(sent)
        finally:
            shutil.move(folder / "away", f"{self.data}/store")
        return self.transfer.unpack_value(pickle.loads(pickle.dumps(value)))


@both
def test_a_stored_result_travels_as_bytes_and_gives_the_same_result_as_here(
    place: Place, tmp_path: Path, sees_files: bool
) -> None:
    journey = Journey(place)
    result: StageResult = journey.go(sees_files=sees_files, folder=tmp_path)
    task = journey.make_task()
    reads = [each for each in task.item.reads if isinstance(each, StoredInput)]
    found = [msgspec.structs.replace(each, content=b"TEXT OF B") for each in reads]
    here = journey.work(StageTask(msgspec.structs.replace(task.item, reads=found)))
    assert result == here
    assert result.input_sha256 != ""


@both
def test_a_result_that_changed_since_the_plan_was_read_is_not_sent(place: Place, sees_files: bool) -> None:
    journey = Journey(place)
    task = journey.make_task()
    place.source("a", "other text")
    run_stored(place, place.data, StoreWorker())
    with pytest.raises(inorder.StageError, match=r"a\.txt changed while it was read"):
        journey.transfer.pack_item(task, sees_files=sees_files)


def test_results_that_are_too_large_to_send_are_read_in_place_or_on_the_driver(place: Place) -> None:
    journey = Journey(place, send_bytes_max=12)
    assert journey.transfer.pack_item(journey.make_task(), sees_files=False) is None
    packed = journey.transfer.pack_item(journey.make_task(), sees_files=True)
    assert packed is not None
    assert packed[1] == 0
    [source] = packed[0].task.item.inputs.values()
    assert source.content is None


def test_a_read_that_does_not_exist_yet_is_left_to_the_worker(place: Place) -> None:
    journey = Journey(place)
    task = journey.make_task()
    missing = StoredInput(journey.data, STAGE, "later", "loud/later")
    task = StageTask(msgspec.structs.replace(task.item, reads=[missing]))
    packed = journey.transfer.pack_item(task, sees_files=False)
    assert packed is not None
    assert packed[0].task.item.reads == [missing]
