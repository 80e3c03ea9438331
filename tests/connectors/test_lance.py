"""The target `lance://`, with pylance; LanceDB reads the tables, too."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

import inorder
from inorder.sinks.base import Position
from inorder.targets import lance as lance_target
from inorder.targets.base import TargetLayout
from inorder.testing import SINK_RULES
from tests.connectors.sink_process import SinkProcess, wait_for_end
from tests.connectors.target_harness import LAYOUT, RealTargetHarness, open_target, replace_and_remove, write

lance: Any = pytest.importorskip("lance", reason="make test-connectors installs it")
pytestmark = [pytest.mark.process, pytest.mark.slow]


class LanceHarness(RealTargetHarness):
    is_exclusive = True

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self._pid = os.getpid()
        self._is_in_process = False
        """Whether this is the copy in the process of the sink."""

    @property
    def address(self) -> str:
        return f"lance://{self.folder}"

    def open(self) -> Any:
        if os.getpid() != self._pid:
            return SinkProcess(self, self.folder / "pid")
        if not self._is_in_process:
            wait_for_end(self.folder / "pid")
        return super().open()

    def __getstate__(self) -> dict[str, Any]:
        return {"folder": self.folder}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _pid=os.getpid(), _is_in_process=True)

    def read_rows(self) -> list[Any]:
        return read_rows(self.folder)

    def damage(self) -> None:
        table = lance.dataset(str(self.folder / "inorder_documents.lance"))
        table.delete("true")
        table.delete_config_keys(["inorder.state"])


def read_rows(folder: Path) -> list[Any]:
    """The chunks of the documents that are listed."""
    if not (folder / "inorder_documents.lance").exists():
        return []
    documents = lance.dataset(str(folder / "inorder_documents.lance")).to_table().to_pylist()
    hashes = {row["doc_id"]: row["hash"] for row in documents}
    assert len(hashes) == len(documents)
    chunks = lance.dataset(str(folder / "inorder.lance")).to_table().to_pylist()
    return sorted([*row.values(), hashes[row["doc_id"]]] for row in chunks)


@pytest.mark.parametrize("rule", SINK_RULES, ids=lambda rule: rule.__name__)
def test_it_keeps_the_rule(rule: Callable[[Any], None], tmp_path_factory: pytest.TempPathFactory) -> None:
    rule(lambda: LanceHarness(tmp_path_factory.mktemp("lance")))


def test_documents_are_replaced_and_removed_and_lancedb_reads_them(tmp_path: Path) -> None:
    import lancedb

    target = open_target(f"lance://{tmp_path}")
    replace_and_remove(target)
    target.complete()
    target.close()
    assert [row[10] for row in read_rows(tmp_path)] == ["result 1 part 0", "result 1 part 1", "result 2 part 0"]
    table = lancedb.connect(str(tmp_path)).open_table("inorder")
    [found] = table.search([2.0, 3.0, 4.0, 5.0]).limit(1).to_list()
    assert found["text"] == "result 2 part 0"


@pytest.mark.parametrize("killed_at", range(1, 4))
def test_a_write_that_was_interrupted_is_undone_by_the_next_export(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, killed_at: int
) -> None:
    target = open_target(f"lance://{tmp_path}")
    write(target, 1, 2, 3, end=3)
    before = read_rows(tmp_path)
    commits = 0

    def interrupt(method: Any) -> Any:
        def run(*arguments: Any) -> Any:
            nonlocal commits
            commits += 1
            if commits == killed_at:
                raise KeyboardInterrupt
            return method(*arguments)

        return run

    monkeypatch.setattr(target, "_replace", interrupt(target._replace))
    monkeypatch.setattr(target, "_store", interrupt(target._store))
    with pytest.raises(KeyboardInterrupt):
        write(target, 2, 4, removed=(1,), end=6)
    target.close()
    again = open_target(f"lance://{tmp_path}")
    assert (read_rows(tmp_path), again.read_position()) == (before, Position(3))
    write(again, 2, 4, removed=(1,), end=6)
    again.close()
    assert sorted({row[0][17] for row in read_rows(tmp_path)}) == ["2", "3", "4"]


@pytest.mark.parametrize("names", [["inorder.lance/data"], ["inorder_documents.lance/_versions", "inorder.lance"]])
def test_tables_whose_creation_was_interrupted_are_created(tmp_path: Path, names: list[str]) -> None:
    for name in names:
        (tmp_path / name).mkdir(parents=True)
    target = open_target(f"lance://{tmp_path}")
    write(target, 1)
    target.close()
    assert len(read_rows(tmp_path)) == 2


def test_an_index_that_a_user_has_built_stays(tmp_path: Path) -> None:
    target = open_target(f"lance://{tmp_path}")
    write(target, *range(300))
    target.close()
    lance.dataset(str(tmp_path / "inorder.lance")).create_scalar_index("kind", "BITMAP")
    target = open_target(f"lance://{tmp_path}")
    write(target, 300, end=2)
    target.close()
    assert len(lance.dataset(str(tmp_path / "inorder.lance")).describe_indices()) == 1
    assert len({row[0] for row in read_rows(tmp_path)}) == 301


def test_disk_and_versions_stay_bounded_after_many_updates(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lance_target, "KEPT_S", 0.0)
    monkeypatch.setattr(lance_target, "_MAINTAIN_EVERY", 20)
    sizes = []
    for _ in range(3):
        target = open_target(f"lance://{tmp_path}")
        for number in range(40):
            write(target, number % 10, end=number)
        target.complete()
        target.close()
        sizes.append(sum(1 for _ in tmp_path.rglob("*")))
        assert len(lance.dataset(str(tmp_path / "inorder.lance")).versions()) < 25
    assert max(sizes) < 2 * sizes[0]
    assert len(read_rows(tmp_path)) == 15


def test_an_hnsw_index_is_built_and_extended(tmp_path: Path) -> None:
    for number in range(2):
        target = open_target(f"lance://{tmp_path}", hnsw=True)
        write(target, *range(300 * number, 300 * number + 300), end=number)
        target.complete()
        target.close()
    [index] = lance.dataset(str(tmp_path / "inorder.lance")).describe_indices()
    assert "HNSW" in index.index_type.upper()
    rows = lance.dataset(str(tmp_path / "inorder.lance")).to_table(
        nearest={"column": "vector", "q": [599.0] * 4, "k": 5, "metric": "dot"}
    )
    assert min(rows["doc_id"].to_pylist()) > "documents/00000299.md"


@pytest.mark.parametrize(
    ("state", "layout", "options", "message"),
    [
        ({}, TargetLayout(dimensions=8, provider="hash:8"), {}, "4 dimensions, and those of hash:8 have 8"),
        ({"version": 9}, LAYOUT, {}, "has version 9, and this version of inorder writes 1"),
        ({}, LAYOUT, {"collection": "a/b"}, "--collection must be a name"),
    ],
)
def test_tables_that_do_not_fit_are_one_line_and_stay_as_they_are(
    tmp_path: Path, state: dict[str, Any], layout: TargetLayout, options: dict[str, Any], message: str
) -> None:
    target = open_target(f"lance://{tmp_path}")
    write(target, 1)
    target.close()
    table = lance.dataset(str(tmp_path / "inorder_documents.lance"))
    stored = msgspec.json.decode(table.config()["inorder.state"])
    table.update_config({"inorder.state": msgspec.json.encode(stored | state).decode()})
    before = read_rows(tmp_path)
    with pytest.raises(inorder.OperatorError, match=message) as caught:
        open_target(f"lance://{tmp_path}", layout, **options)
    assert "\n" not in str(caught.value)
    assert read_rows(tmp_path) == before


def test_a_table_of_somebody_else_is_refused(tmp_path: Path) -> None:
    import pyarrow as pa

    lance.write_dataset(pa.table({"a": [1]}), str(tmp_path / "inorder.lance"))
    with pytest.raises(inorder.OperatorError, match=r"inorder\.lance holds something else than an export"):
        open_target(f"lance://{tmp_path}")
    assert lance.dataset(str(tmp_path / "inorder.lance")).count_rows() == 1


def test_a_folder_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(inorder.InorderError, match="cannot be opened"):
        open_target(f"lance://{tmp_path}/file/deep")
