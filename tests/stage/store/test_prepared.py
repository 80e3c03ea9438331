"""Prepared results: found only for the same item with the same configuration and inputs."""

from pathlib import Path

import pytest

from inorder.stage.contracts import WorkItem
from inorder.stage.store import prepared
from inorder.stage.store.inputs import StoredInput
from inorder.stage.store.prepared import PreparedResults, combine_inputs
from inorder.stage.worker import PreparedItem

pytestmark = pytest.mark.req("DAT-3")

IDS = ["a", "b", "b/1", "b/\udcff", "c", "d", "ä", "a/\udcfe"]


def make_item(item_id: str, cfg_hash: str = "c", sha256: str = "1" * 64) -> WorkItem:
    source = StoredInput("/data", "chunk", item_id, f"chunk/{item_id}", 1, sha256)
    return WorkItem(item_id=item_id, inputs={"chunks": source}, outputs={"v": f"v/{item_id}"}, cfg_hash=cfg_hash)


def prepare(item: WorkItem, stage: str = "embed") -> PreparedItem:
    return PreparedItem(stage, item.item_id, item.cfg_hash, combine_inputs(item), b"encoded")


@pytest.fixture(params=[prepared._MEMORY_BYTES, 2000, -1], ids=["memory", "both", "database"])
def results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> PreparedResults:
    monkeypatch.setattr(prepared, "_MEMORY_BYTES", request.param)
    (tmp_path / ".staging").mkdir()
    return PreparedResults(tmp_path)


def test_results_are_found_in_any_order_and_for_ids_of_every_kind(results: PreparedResults) -> None:
    results.add([prepare(make_item(item_id)) for item_id in IDS if item_id != "c"])
    for order in (IDS, IDS[::-1], sorted(IDS) * 2):
        missing = [item_id for item_id in order if not results.has("embed", make_item(item_id))]
        assert set(missing) == {"c"}
    assert not results.has("index", make_item("a"))
    assert not results.has("embed", make_item("a", cfg_hash="other"))
    assert not results.has("embed", make_item("a", sha256="2" * 64))
    results.close()


def test_a_result_that_is_added_after_a_lookup_is_found(results: PreparedResults) -> None:
    assert not results.has("embed", make_item("a"))
    results.add([prepare(make_item("b"))])
    assert not results.has("embed", make_item("a"))
    results.add([prepare(make_item("a"))])
    assert results.has("embed", make_item("a"))
    results.close()


def test_many_results_are_kept_in_the_database_with_those_that_were_in_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(prepared, "_MEMORY_BYTES", 2000)
    monkeypatch.setattr(prepared, "decode_result", lambda encoded: encoded)
    (tmp_path / ".staging").mkdir()
    results, path = PreparedResults(tmp_path), tmp_path / ".staging" / "prepared.sqlite"
    found = []
    for item_id in IDS:
        results.add([prepare(make_item(item_id))])
        found.append(path.exists())
    assert found == [False] * 2 + [True] * 6, "each takes somewhat more than a kilobyte"
    assert all(results.take("embed", make_item(item_id)) == (b"encoded", 1014) for item_id in IDS)
    assert results.take("index", make_item("a")) is None
    results.close()
    assert not path.exists()
    assert not results.has("embed", make_item("a"))


def test_what_an_interrupted_run_left_is_removed_by_a_run_that_prepares_nothing(
    results: PreparedResults, tmp_path: Path
) -> None:
    left = tmp_path / ".staging" / "prepared.sqlite"
    left.write_bytes(b"left by a run that was killed")
    results.close()
    assert not left.exists()
