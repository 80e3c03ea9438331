"""`inorder export` and `Dataset.export`: canonical, incremental, atomic."""

import hashlib
import json
from itertools import pairwise
from pathlib import Path
from typing import Any
from uuid import uuid4

import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
import yaml

import inorder
from inorder.dataset import tables
from inorder.dataset.export import writing
from inorder.dataset.export.export import export_data
from inorder.dataset.export.options import ExportOptions
from inorder.host.lock import Lock
from inorder.testing import Disk, DiskFaults, power_losses
from tests.dataset.chunk_store import ChunkStore, make_store, name_of, text_of
from tests.dataset.corpus import IDS, make_corpus
from tests.library.libraries import write
from tests.pipeline.folders import FolderRuns
from tests.support.in_process import run_in_process

pytestmark = pytest.mark.req("DAT-2")
SMALL = 2048


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> FolderRuns:
    return make_corpus(tmp_path_factory.mktemp("corpus"))


@pytest.fixture
def store(tmp_path: Path) -> ChunkStore:
    """Sixty small documents, in many shards of `SMALL` bytes."""
    return make_store(tmp_path)


def read_tree(folder: Path) -> dict[str, bytes]:
    """Every file of an export but those in its hidden folder."""
    paths = [path for path in folder.rglob("*") if path.is_file() and ".inorder" not in path.parts]
    return {str(path.relative_to(folder)): path.read_bytes() for path in paths}


def read_manifest(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "_inorder.json").read_bytes())
    return found


@pytest.mark.slow
def test_all_tables_are_read_by_other_tools_and_have_the_rows_of_the_dataset(runs: FolderRuns, tmp_path: Path) -> None:
    data = inorder.open(runs.data)
    outcome = data.export(tmp_path / "out")
    assert list(outcome.tables) == ["documents", "chunks", "vectors/dense", "vectors/lexical"]
    chunks = ds.dataset(tmp_path / "out/chunks").to_table()
    assert chunks.to_pylist() == [
        {field: getattr(row, field) for field in chunks.column_names}
        | {"links": [link._asdict() for link in row.links], "code": [block._asdict() for block in row.code]}
        for row in data.chunks()
    ]
    documents = pq.read_table(tmp_path / "out/documents/part-00000.parquet")
    assert documents["doc_id"].to_pylist() == IDS
    assert documents["markdown"].to_pylist() == [document.markdown for document in data.documents()]
    dense = ds.dataset(tmp_path / "out/vectors/dense").to_table()
    assert dense["vector"].to_pylist() == [row.vector.tolist() for row in data.vectors("dense")]
    manifest = read_manifest(tmp_path / "out")
    for name, table in manifest["tables"].items():
        for shard in table["shards"]:
            content = (tmp_path / "out" / shard["path"]).read_bytes()
            assert (len(content), hashlib.sha256(content).hexdigest()) == (shard["bytes"], shard["sha256"])
        assert table["rows"] == outcome.tables[name].rows
    assert manifest["tables"]["vectors/dense"]["metadata"]["dimensions"] == "16"


@pytest.mark.slow
def test_rows_are_few_before_they_are_columns_and_shards_do_not_depend_on_it(
    runs: FolderRuns, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows as Python's objects take ten times the memory of Arrow's columns."""
    inorder.open(runs.data).export(tmp_path / "whole")
    finished: list[int] = []
    make_batch = tables.make_batch

    def count(table: Any, documents: Any, schema: Any) -> Any:
        finished.append(len(documents))
        return make_batch(table, documents, schema)

    monkeypatch.setattr(tables, "make_batch", count)
    monkeypatch.setattr(tables, "_PART_BYTES", 1)
    inorder.open(runs.data).export(tmp_path / "parts")
    assert read_tree(tmp_path / "parts") == read_tree(tmp_path / "whole")
    assert len(finished) >= 4 * len(IDS)
    assert set(finished) == {1}


def test_the_card_is_yaml_that_names_a_config_per_table(runs: FolderRuns, tmp_path: Path) -> None:
    inorder.open(runs.data).export(tmp_path / "out")
    _, head, body = (tmp_path / "out/README.md").read_text().split("---\n", 2)
    assert yaml.safe_load(head)["configs"] == [
        {"config_name": "documents", "data_files": "documents/*.parquet"},
        {"config_name": "chunks", "data_files": "chunks/*.parquet", "default": True},
        {"config_name": "vectors-dense", "data_files": "vectors/dense/*.parquet"},
        {"config_name": "vectors-lexical", "data_files": "vectors/lexical/*.parquet"},
    ]
    assert "| `chunks` | 3 |" in body


def test_json_lines_have_the_same_rows(runs: FolderRuns, tmp_path: Path) -> None:
    data = inorder.open(runs.data)
    data.export(tmp_path / "out", "chunks", "jsonl")
    lines = (tmp_path / "out/chunks/part-00000.jsonl").read_text().splitlines()
    assert [json.loads(line)["chunk_id"] for line in lines] == [chunk.chunk_id for chunk in data.chunks()]
    with pytest.raises(inorder.OperatorError, match="holds an export in the format jsonl"):
        data.export(tmp_path / "out", "chunks", "parquet")


@pytest.mark.slow
def test_the_same_documents_give_the_same_bytes_whatever_the_history(store: ChunkStore, tmp_path: Path) -> None:
    data, out = inorder.open(store.data), tmp_path / "out"
    data.export(out, "all", shard_bytes=SMALL)
    expected = read_tree(out)
    assert len(expected) >= 8
    store.put(docs_000="another beginning " * 30, docs_030_new="new")
    store.remove("docs_059")
    data.export(out, "all", shard_bytes=SMALL)
    changed = read_tree(out)
    data.export(tmp_path / "fresh", "all", shard_bytes=SMALL)
    assert changed == read_tree(tmp_path / "fresh")
    assert changed != expected
    store.put(docs_000=text_of(0), docs_059=text_of(59))
    store.remove("docs_030_new")
    data.export(out, "all", shard_bytes=SMALL)
    assert read_tree(out) == expected


def test_only_changed_shards_are_written(store: ChunkStore, tmp_path: Path) -> None:
    data, out = inorder.open(store.data), tmp_path / "out"
    first = data.export(out, "chunks", shard_bytes=SMALL).tables["chunks"]
    assert first.written >= 6
    assert first.kept == 0
    inodes = {path.stat().st_ino for path in (out / "chunks").iterdir()}
    again = data.export(out, "chunks", shard_bytes=SMALL).tables["chunks"]
    assert (again.written, again.kept) == (0, first.written)
    store.put(docs_029="The lamp 29 is out. " * 6)
    third = data.export(out, "chunks", shard_bytes=SMALL).tables["chunks"]
    assert (third.written, third.kept) == (1, first.written - 1)
    assert len(inodes & {path.stat().st_ino for path in (out / "chunks").iterdir()}) == first.written - 1


@pytest.mark.slow
def test_shards_that_get_another_number_are_moved_and_not_written(store: ChunkStore, tmp_path: Path) -> None:
    data, out = inorder.open(store.data), tmp_path / "out"
    before = data.export(out, "chunks", shard_bytes=SMALL // 2).tables["chunks"]
    store.put(**{f"docs_000_{number}": f"The lamp {number} is new. " * 10 for number in range(12)})
    after = data.export(out, "chunks", shard_bytes=SMALL // 2).tables["chunks"]
    assert after.written + after.kept > before.written
    assert after.kept >= before.written - 2
    assert pq.read_table(out / "chunks")["chunk_id"].to_pylist() == [row.chunk_id for row in data.chunks()]


def test_shards_of_documents_that_are_gone_are_removed(store: ChunkStore, tmp_path: Path) -> None:
    data, out = inorder.open(store.data), tmp_path / "out"
    before = data.export(out, "chunks", shard_bytes=SMALL).tables["chunks"]
    (out / "chunks/notes.txt").write_text("not a shard")
    store.remove(*map(name_of, range(10, 60)))
    outcome = data.export(out, "chunks", shard_bytes=SMALL)
    after = outcome.tables["chunks"]
    assert outcome.removed == before.written - after.written - after.kept > 0
    assert {path.name for path in (out / "chunks").iterdir()} == {
        "notes.txt",
        *(shard["path"].rpartition("/")[2] for shard in read_manifest(out)["tables"]["chunks"]["shards"]),
    }


def test_a_shard_that_was_altered_is_written_again(store: ChunkStore, tmp_path: Path) -> None:
    data, out = inorder.open(store.data), tmp_path / "out"
    data.export(out, "chunks", shard_bytes=SMALL)
    expected = read_tree(out)
    path = out / "chunks/part-00001.parquet"
    path.write_bytes(path.read_bytes()[:-1] + b"?")
    assert data.export(out, "chunks", shard_bytes=SMALL).tables["chunks"].written == 1
    assert read_tree(out) == expected


def test_tables_that_were_not_asked_for_stay_and_an_edited_card_too(runs: FolderRuns, tmp_path: Path) -> None:
    data, out = inorder.open(runs.data), tmp_path / "out"
    data.export(out, "documents")
    data.export(out, "chunks")
    assert list(read_manifest(out)["tables"]) == ["chunks", "documents"]
    (out / "README.md").write_text("my words")
    data.export(out, "chunks", shard_bytes=SMALL)
    assert list(read_manifest(out)["tables"]) == ["chunks", "documents"]
    assert (out / "README.md").read_text() == "my words"


def test_shards_hold_whole_documents_in_order_within_the_limits(store: ChunkStore, tmp_path: Path) -> None:
    inorder.open(store.data).export(tmp_path / "out", "chunks", shard_bytes=SMALL)
    ids = [pq.read_table(path)["doc_id"].to_pylist() for path in sorted((tmp_path / "out/chunks").iterdir())]
    flat = [doc_id for shard in ids for doc_id in shard]
    assert flat == sorted(flat)
    assert all(last[-1] < first[0] for last, first in pairwise(ids))
    assert all(len(set(shard)) > 1 for shard in ids[:-1])


def export_to(disk: Disk, store: ChunkStore) -> None:
    export_data(
        str(store.data), ExportOptions(what="chunks", to="/no/such/out", shard_bytes=8 * SMALL), filesystem=disk
    )


def check_complete(disk: Disk) -> bool:
    """Whether the export has a manifest. Then every file that it names must be there, with its hash."""
    if disk.stat("/no/such/out/_inorder.json") is None:
        return False
    manifest = json.loads(disk.read("/no/such/out/_inorder.json"))
    for shard in manifest["tables"]["chunks"]["shards"]:
        assert hashlib.sha256(disk.read(f"/no/such/out/{shard['path']}")).hexdigest() == shard["sha256"]
    names = {shard["path"].rpartition("/")[2] for shard in manifest["tables"]["chunks"]["shards"]}
    assert names == set(disk.list("/no/such/out/chunks"))
    return True


@pytest.mark.slow
def test_after_a_power_loss_at_any_operation_an_export_is_complete_or_has_no_manifest(store: ChunkStore) -> None:
    before = Disk()
    export_to(before, store)
    assert check_complete(before)
    store.remove(*map(name_of, range(20, 32)))
    store.put(docs_000_a="A new lamp. " * 200)
    clean = Disk()
    export_to(clean, store)
    expected = clean.read("/no/such/out/_inorder.json")
    incomplete = 0
    for moment, disk in power_losses(lambda disk: export_to(disk, store), before, limit=2):
        incomplete += not check_complete(disk)
        export_to(disk, store)
        assert check_complete(disk), moment
        assert disk.read("/no/such/out/_inorder.json") == expected, moment
    assert incomplete > 5


def test_an_interrupted_export_is_resumed_with_what_it_has_written(
    store: ChunkStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data, out = inorder.open(store.data), tmp_path / "out"
    write, calls = writing.write_shard, []

    def fail_at_the_fourth(*arguments: Any) -> Any:
        calls.append(arguments)
        if len(calls) == 4:
            raise KeyboardInterrupt
        return write(*arguments)

    monkeypatch.setattr("inorder.dataset.export.export.write_shard", fail_at_the_fourth)
    with pytest.raises(KeyboardInterrupt):
        data.export(out, "chunks", shard_bytes=SMALL)
    assert read_tree(out) == {}
    outcome = data.export(out, "chunks", shard_bytes=SMALL).tables["chunks"]
    assert (outcome.kept, outcome.documents) == (3, 60)
    assert sorted(path.name for path in (out / ".inorder").rglob("*")) == ["lock", "staging"]


def test_a_full_disk_is_one_error_and_leaves_no_part_of_a_file(store: ChunkStore) -> None:
    disk = Disk(faults=DiskFaults(capacity_bytes=6000))
    with pytest.raises(
        inorder.InfrastructureError, match=r"the export to /no/such/out failed: No space left on device"
    ):
        export_to(disk, store)
    assert disk.stat("/no/such/out/_inorder.json") is None
    assert disk.stat("/no/such/out/chunks") is None
    assert all(len(disk.read(f"/no/such/out/.inorder/staging/{name}")) > 0 for name in staged(disk))


def staged(disk: Disk) -> list[str]:
    return disk.list("/no/such/out/.inorder/staging")


@pytest.mark.slow
def test_a_document_that_a_run_changes_meanwhile_is_exported_as_it_is_then(
    store: ChunkStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data, out = inorder.open(store.data), tmp_path / "out"
    write = writing.write_shard
    runs_left = [1]

    def change_first(*arguments: Any) -> Any:
        if runs_left:
            runs_left.pop()
            store.put(docs_001="changed")
            store.remove("docs_000")
        return write(*arguments)

    monkeypatch.setattr("inorder.dataset.export.export.write_shard", change_first)
    data.export(out, "chunks", shard_bytes=SMALL)
    data.export(tmp_path / "afterwards", "chunks", shard_bytes=SMALL)
    assert read_tree(out) == read_tree(tmp_path / "afterwards")
    assert pq.read_table(out / "chunks")["text"].to_pylist() == [row.text for row in data.chunks()]


@pytest.mark.slow
def test_data_that_never_stops_changing_is_an_error_that_says_so(
    store: ChunkStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("inorder.dataset.export.export.ShardKey.finish", lambda key: uuid4().hex)
    with pytest.raises(inorder.InfrastructureError, match="changes while it is exported; export it again when no run"):
        inorder.open(store.data).export(tmp_path / "out", "chunks")
    assert read_tree(tmp_path / "out") == {}


def run(runs: FolderRuns, *arguments: str) -> tuple[int, str, str]:
    return run_in_process(["export", *arguments, "--data", str(runs.data)], runs.folder, {})


def test_the_command_does_the_same_and_reports_it(runs: FolderRuns, tmp_path: Path) -> None:
    code, out, err = run(runs, "all", "--to", str(tmp_path / "a"))
    assert (code, err) == (0, "")
    assert "chunks           3 documents" in out
    code, out, _ = run(runs, "all", "--to", str(tmp_path / "a"), "--json")
    assert {name: (each["written"], each["kept"]) for name, each in json.loads(out)["tables"].items()} == {
        "documents": (0, 1),
        "chunks": (0, 1),
        "vectors/dense": (0, 1),
        "vectors/lexical": (0, 1),
    }
    inorder.open(runs.data).export(tmp_path / "b")
    assert read_tree(tmp_path / "a") == read_tree(tmp_path / "b")


@pytest.mark.req("CLI-3")
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["pages", "--to", "out"],
            "what to export must be one of documents, chunks, vectors, tables, all, extract:NAME; got 'pages'",
        ),
        (["all", "--to", "out", "--format", "csv"], "--format must be one of parquet, jsonl, files; got 'csv'"),
        (["all", "--to", "out", "--shard-bytes", "x"], "--shard-bytes must be a size such as 512M or 4G; got 'x'"),
        (["all", "--to", "out", "--shard-bytes", "1"], "--shard-bytes must be at least 1024"),
        (["all", "--to", "docs"], "is not empty and holds no export; choose another folder with --to"),
        (["all", "--to", "docs/note.md"], "--to must be a folder"),
        (["all", "--to", "data/out"], "--to must not be a folder of DATA"),
        (["all"], "--to"),
    ],
)
def test_a_mistake_is_one_line_with_exit_code_2(runs: FolderRuns, arguments: list[str], message: str) -> None:
    code, out, err = run(runs, *arguments)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert message in err


def test_what_is_not_there_is_named_with_its_command(tmp_path: Path) -> None:
    with pytest.raises(inorder.OperatorError, match="make one with `inorder run SRC`"):
        inorder.open(tmp_path).export(tmp_path.parent / "out")
    write(tmp_path)
    for what, command in (("vectors", "embed"), ("chunks", "chunk"), ("all", "run SRC")):
        with pytest.raises(inorder.OperatorError, match=f"run `inorder {command}` first"):
            inorder.open(tmp_path).export(tmp_path.parent / "out", what)


@pytest.mark.req("CLI-3")
def test_a_second_export_to_the_same_folder_is_refused_with_exit_code_5(store: ChunkStore, tmp_path: Path) -> None:
    out = tmp_path / "out"
    inorder.open(store.data).export(out, "chunks")
    lock = Lock(str(out / ".inorder/lock"), "test")
    try:
        code, _, err = run_in_process(["export", "chunks", "--data", str(store.data), "--to", str(out)], tmp_path, {})
    finally:
        lock.release()
    assert code == 5
    assert f"the export {out} is in use by process" in err
