"""The target `qdrant://`, with the local mode of Qdrant's client."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import inorder
from inorder.sinks.base import Position
from inorder.targets.base import TargetLayout
from inorder.testing import SINK_RULES
from tests.connectors.target_harness import LAYOUT, RealTargetHarness, open_target, replace_and_remove, write
from tests.support.command_line import clean_environment
from tests.support.in_process import run_in_process

qdrant: Any = pytest.importorskip("qdrant_client", reason="make test-connectors installs it")
pytestmark = [pytest.mark.process, pytest.mark.slow]


class QdrantHarness(RealTargetHarness):
    """Its local mode lets no reader in while it is open, so the rows are read through the sink that is open."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self._sink: Any = None

    @property
    def address(self) -> str:
        return f"qdrant://{self.folder}"

    def open(self) -> Any:
        self._sink = super().open()
        return self._sink

    def read_rows(self) -> list[Any]:
        client = None if self._sink is None else self._sink._target._client
        return read_rows(self.folder) if client is None else list_rows(client)

    def damage(self) -> None:
        client = qdrant.QdrantClient(path=str(self.folder))
        client.delete_collection("inorder_documents")
        client.delete_collection("inorder")
        client.close()


def read_rows(folder: Path) -> list[Any]:
    client = qdrant.QdrantClient(path=str(folder))
    try:
        return list_rows(client)
    finally:
        client.close()


def list_rows(client: Any) -> list[Any]:
    """The chunks of the documents that are listed with a hash."""
    documents, _ = client.scroll("inorder_documents", limit=10_000)
    hashes = {each.payload["doc_id"]: each.payload["hash"] for each in documents if "doc_id" in each.payload}
    assert all(hashes.values())
    chunks, _ = client.scroll("inorder", limit=10_000, with_vectors=True)
    return sorted([*each.payload.values(), each.vector, hashes[each.payload["doc_id"]]] for each in chunks)


RULES = [rule for rule in SINK_RULES if rule.__name__ != "check_a_run_is_one_write"]
"""That rule counts transactions, which Qdrant does not have, and its 3,000 entries take minutes in the local mode."""


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_it_keeps_the_rule(rule: Callable[[Any], None], tmp_path_factory: pytest.TempPathFactory) -> None:
    rule(lambda: QdrantHarness(tmp_path_factory.mktemp("qdrant")))


def test_documents_are_replaced_and_removed_and_found_by_their_vectors(tmp_path: Path) -> None:
    target = open_target(f"qdrant://{tmp_path}")
    replace_and_remove(target)
    target.close()
    again = open_target(f"qdrant://{tmp_path}")
    assert again.read_position() == Position(4)
    again.close()
    assert [row[11] for row in read_rows(tmp_path)] == ["result 1 part 0", "result 1 part 1", "result 2 part 0"]
    client = qdrant.QdrantClient(path=str(tmp_path))
    [found] = client.query_points("inorder", query=[2.0, 3.0, 4.0, 5.0], limit=1).points
    client.close()
    assert found.payload["text"] == "result 2 part 0"


@pytest.mark.parametrize("step", range(1, 6))
def test_a_write_that_was_interrupted_is_written_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: int
) -> None:
    """Document 2 gets another number of chunks, 1 is removed, 4 is new. Afterwards they are listed without a hash."""
    target = open_target(f"qdrant://{tmp_path}")
    write(target, 1, 2, 3, end=3)
    write(target, 2, 4, removed=(1,), end=6)
    target.close()
    expected = read_rows(tmp_path)
    other = tmp_path / "other"
    disturbed: Any = open_target(f"qdrant://{other}")
    write(disturbed, 1, 2, 3, end=3)
    left = step

    def interrupt(method: Any) -> Any:
        def run(*arguments: Any, **options: Any) -> Any:
            nonlocal left
            left -= 1
            if left == 0:
                raise KeyboardInterrupt
            return method(*arguments, **options)

        return run

    client: Any = disturbed._client
    for name in ("upsert", "delete"):
        monkeypatch.setattr(client, name, interrupt(getattr(client, name)))
    with pytest.raises(KeyboardInterrupt):
        write(disturbed, 2, 4, removed=(1,), end=6)
    disturbed.close()
    monkeypatch.undo()
    again = open_target(f"qdrant://{other}")
    assert again.read_position() == Position(3)
    listed = {each.doc_id[17]: each.hash for each in again.list_documents("", 9)}
    assert listed["3"] == "hash of 3"
    write(again, 2, 4, removed=(1,), end=6)
    again.close()
    assert read_rows(other) == expected


def test_another_export_to_the_collection_is_noticed(tmp_path: Path) -> None:
    target: Any = open_target(f"qdrant://{tmp_path}")
    write(target, 1)
    with pytest.raises(inorder.BusyError, match="is in use by another process"):
        open_target(f"qdrant://{tmp_path}")
    target._state = target._state | {"token": "another"}
    with pytest.raises(inorder.BusyError, match="another export writes to inorder"):
        write(target, 2)
    target.close()
    assert [row[0] for row in read_rows(tmp_path)] == ["documents/00000001.md"] * 2


@pytest.mark.parametrize(
    ("state", "layout", "options", "message"),
    [
        ({}, TargetLayout(dimensions=8, provider="hash:8"), {}, "4 dimensions, and those of hash:8 have 8"),
        ({"version": 9}, LAYOUT, {}, "has version 9, and this version of inorder writes 1"),
        ({}, LAYOUT, {"collection": "a b"}, "a collection must be a name"),
        ({}, LAYOUT, {"hnsw": True}, "hnsw needs a Qdrant server"),
        ({}, LAYOUT, {"collection": "taken"}, "taken holds something else than an export"),
    ],
)
def test_collections_that_do_not_fit_are_one_line_and_stay_as_they_are(
    tmp_path: Path, state: dict[str, Any], layout: TargetLayout, options: dict[str, Any], message: str
) -> None:
    target: Any = open_target(f"qdrant://{tmp_path}")
    write(target, 1)
    target._state = target._state | state
    target._store(Position(1))
    client, point = target._client, qdrant.models.PointStruct(id=1, vector={}, payload={})
    client.create_collection("taken", vectors_config={})
    client.upsert("taken", [point])
    target.close()
    before = read_rows(tmp_path)
    with pytest.raises(inorder.OperatorError, match=message) as caught:
        open_target(f"qdrant://{tmp_path}", layout, **options)
    assert "\n" not in str(caught.value)
    assert read_rows(tmp_path) == before


def test_a_server_that_cannot_be_reached_is_one_line() -> None:
    with pytest.raises(inorder.InfrastructureError, match=r"qdrant://127\.0\.0\.1:1/name cannot be opened: .*refused"):
        open_target("qdrant://127.0.0.1:1/name")


def test_a_run_to_a_server_that_cannot_be_reached_ends_before_it_begins(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "a.md").write_text("# Lamps")
    arguments = ["run", "docs", "--data", "data", "--quiet", "--to", "qdrant://127.0.0.1:1/name"]
    code, _, err = run_in_process(arguments, tmp_path, clean_environment())
    assert (code, err.count("\n")) == (1, 1)
    assert "qdrant://127.0.0.1:1/name cannot be opened" in err
    assert not (tmp_path / "data").exists()
