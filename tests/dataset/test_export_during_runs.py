"""An export while a run changes DATA: all tables are those of one moment."""

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import fsspec
import pyarrow.parquet as pq
import pytest

import inorder
from inorder.dataset.export.export import export_data
from inorder.dataset.export.options import ExportOptions, TableExport
from tests.dataset.corpus import IDS, make_corpus
from tests.pipeline.folders import FolderRuns

pytestmark = [pytest.mark.req("DAT-2"), pytest.mark.slow]


@pytest.fixture(params=["file", "memory"])
def to(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    fsspec.filesystem("memory").store.clear()
    return f"{request.param}://{tmp_path}/out"


def read_shards(to: str) -> dict[str, list[bytes]]:
    """The shards of each table that the manifest names."""
    protocol, _, root = to.partition("://")
    files: Any = fsspec.filesystem(protocol)
    manifest = json.loads(files.cat_file(f"{root}/_inorder.json"))
    return {
        name: [files.cat_file(f"{root}/{shard['path']}") for shard in table["shards"]]
        for name, table in manifest["tables"].items()
    }


def export(runs: FolderRuns, to: str, run: Callable[[], object] = lambda: None) -> None:
    """Export all tables; `run` is called between the first table and the second one."""

    def on_progress(name: str, table: TableExport) -> None:
        if name == "documents" and table.documents:
            run()

    export_data(str(runs.data), ExportOptions(to=to), on_progress)


def test_tables_that_a_run_changes_meanwhile_are_exported_again(to: str, tmp_path: Path) -> None:
    runs = make_corpus(tmp_path)
    editions = iter(["The first.", "The second."])

    def change() -> None:
        text = next(editions, None)
        if text is not None:
            runs.write("docs/plain.txt", text)
            runs.run()

    export(runs, to, change)
    export(runs, f"{to}-afterwards")
    assert read_shards(to) == read_shards(f"{to}-afterwards")


def test_tables_to_which_a_run_adds_meanwhile_have_the_same_documents(to: str, tmp_path: Path) -> None:
    """Every attempt meets a run that adds a document: nothing that was listed is removed."""
    runs = make_corpus(tmp_path)
    names = iter(f"docs/new {number}.md" for number in range(99))

    def add() -> None:
        name = next(names)
        runs.write(name, f"The text of {name}.")
        runs.run()

    export(runs, to, add)
    found = [
        {doc_id for shard in shards for doc_id in pq.read_table(io.BytesIO(shard))["doc_id"].to_pylist()}
        for shards in read_shards(to).values()
    ]
    assert len(found) == 4
    assert all(ids == found[0] for ids in found)
    assert found[0] >= set(IDS)


def test_if_runs_never_pause_the_export_before_stays(to: str, tmp_path: Path) -> None:
    runs = make_corpus(tmp_path)
    export(runs, to)
    before = read_shards(to)
    texts = iter(f"Edition {number}." for number in range(99))

    def change() -> None:
        runs.write("docs/plain.txt", next(texts))
        runs.run()

    with pytest.raises(inorder.InfrastructureError, match="changes while it is exported; export it again when no run"):
        export(runs, to, change)
    assert read_shards(to) == before
