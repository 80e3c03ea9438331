"""Results are compressed in the worker processes that make them, once their store has a dictionary."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

import inorder
from inorder.errors import InvariantViolation
from inorder.host.filesystem import SystemFilesystem
from inorder.runtime.result_log import ResultRecord
from inorder.sinks.base import Entry
from inorder.stage.context import StageContext
from inorder.stage.staged_results import StageResultCodec
from inorder.stage.store import compression, rows
from inorder.stage.store.codec import DICTIONARIES, RAW, SAMPLES, SMALL_BYTES
from inorder.stage.store.compression import LOOK_S, CompressingWork
from inorder.stage.store.database import StoreReader, store_path
from inorder.stage.store.sink import StoreSink
from inorder.stage.worker import StageResult, StageTask, StageWork, StoredContent
from tests.stage.jobs import STAGE, Place
from tests.stage.store.test_rows import make_entry, make_text

pytestmark = pytest.mark.req("DAT-1")


def shout(item: inorder.WorkItem, ctx: StageContext) -> None:
    """Write what was read, in capitals."""
    ctx.write_output("loud", Path(item.inputs["text"]).read_bytes().upper())


def train(data: Path, start: int = 0) -> None:
    """Write as many results to the store as a dictionary needs."""
    sink = StoreSink(str(data), STAGE, removes_failed=True)
    sink.roll_back(sink.origin(), ())
    sink.apply([msgspec.structs.replace(make_entry(start + seq), seq=seq) for seq in range(SAMPLES)])
    sink.close()


def make_work(place: Place) -> CompressingWork:
    work = StageWork(shout, STAGE, place.options(), str(place.folder), is_stored=True)
    return CompressingWork(work, work)


@pytest.mark.process
def test_nothing_is_left_to_compress_when_results_are_stored(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    train(place.data)
    compressed: list[Any] = []
    monkeypatch.setattr(rows, "compress", lambda *arguments: compressed.append(arguments))
    items = [place.item(f"{number}") for number in range(3)]
    for number in range(3):
        place.source(f"{number}", make_text(number))
    plan = inorder.StagePlan(STAGE, items, is_stored=True)
    assert inorder.run_stage(plan, shout, place.options(policy="cpu", workers=1)).succeeded == 3
    assert compressed == []
    reader = StoreReader(store_path(str(place.data), STAGE))
    found = {item.item_id: reader.read(item.item_id) for item in reader.iterate() if item.item_id in "012"}
    reader.close()
    assert {name: pair[1].decode() for name, pair in found.items() if pair is not None} == {
        f"{number}": make_text(number).upper() for number in range(3)
    }


def test_a_dictionary_is_looked_for_from_time_to_time(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    times = [0.0]
    looked: list[str] = []
    open_store = compression.open_store

    def open_and_count(data: str, stage: str) -> StoreReader | None:
        looked.append(stage)
        return open_store(data, stage)

    monkeypatch.setattr(compression, "monotonic", lambda: times[0])
    monkeypatch.setattr(compression, "open_store", open_and_count)
    place.source("a", make_text(1))
    work, task = make_work(place), StageTask(place.item("a"))
    assert [work(task).stored.codec for _ in range(9)] == [RAW] * 9
    assert looked == [STAGE]
    train(place.data)
    assert work(task).stored.codec == RAW
    times[0] += LOOK_S
    assert [work(task).stored.codec for _ in range(9)] == [DICTIONARIES] * 9
    assert looked == [STAGE] * 2


def test_what_gets_no_smaller_is_not_compressed_again(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    train(place.data)
    place.source("a", "xyz")
    result = make_work(place)(StageTask(place.item("a")))
    assert (result.stored.codec, result.stored.content) == (RAW, b"XYZ")
    monkeypatch.setattr(rows, "compress", None)
    apply_one(place.data, result)


def test_long_content_needs_no_dictionary(place: Place) -> None:
    train(place.data)
    place.source("a", make_text(1) * (SMALL_BYTES // 100))
    assert make_work(place)(StageTask(place.item("a"))).stored.codec == 1


def apply_one(data: Path, result: StageResult) -> None:
    sink = StoreSink(str(data), STAGE, removes_failed=True)
    try:
        sink.roll_back(sink.origin(), ())
        entry: Entry = make_entry(0)
        sink.apply([msgspec.structs.replace(entry, payload=entry.payload._replace(stored=result.stored))])
    finally:
        sink.close()


def decode(place: Place, stored: StoredContent) -> Any:
    """What a run that resumes adopts of a result in the log."""
    item = place.item("a")
    codec = StageResultCodec(SystemFilesystem(), str(place.data), f"{place.data}/.staging/{STAGE}", fingerprinting=True)
    encoded = codec.encode(StageTask(item), StageResult({}, [], [], "", [], [], stored=stored))
    assert encoded is not None
    without_inputs = StageTask(msgspec.structs.replace(item, inputs={}))
    payload = msgspec.Raw(msgspec.msgpack.encode(encoded.payload))
    record = ResultRecord(0, 1, 0, b"", 3, 1.0, 0.0, encoded.files, payload)
    return codec.decode(without_inputs, record)


def test_a_result_is_adopted_only_if_the_store_has_its_dictionary(place: Place) -> None:
    """After a power loss the log may have results that the store has lost the dictionary of."""
    train(place.data)
    place.source("a", make_text(1))
    result = make_work(place)(StageTask(place.item("a")))
    assert decode(place, result.stored) is not None
    other = result.stored._replace(dictionary=result.stored.dictionary + 1)
    assert decode(place, other) is None
    with pytest.raises(InvariantViolation, match="a dictionary that the store does not have"):
        apply_one(place.data, result._replace(stored=other))
    Path(store_path(str(place.data), STAGE)).unlink()
    assert decode(place, result.stored) is None
    assert decode(place, StoredContent(3, "", RAW, b"xyz")) is not None
