"""`inorder export tables`, `Dataset.tables` and `DatasetDocument.tables`: the tables in documents."""

import csv
import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import inorder
from inorder.dataset.content_tables import list_content_tables
from inorder.documents.model import Cell, Document, Table
from tests.dataset.test_export import read_tree
from tests.pipeline.folders import FolderRuns
from tests.support.in_process import run_in_process

pytestmark = pytest.mark.req("DAT-2")
TIDES = "# Tides\n\n| port | metres |\n| --- | --- |\n| Brest | 6.1 |\n| Dover | 5,9 |\n"
ROTA = (
    "<h1>Rota</h1><table><tr><th rowspan=2>day</th><th colspan=2>who</th></tr><tr><th>first</th><th>last</th></tr>"
    "<tr><td colspan=2>Mon</td><td>Lee</td></tr></table><h2>Night</h2><table><tr><td>1</td><td>2</td></tr></table>"
)


@pytest.fixture
def runs(tmp_path: Path) -> FolderRuns:
    made = FolderRuns(tmp_path, dense="hash:8")
    made.write("docs/tides.md", TIDES)
    made.write("docs/rota.html", ROTA)
    made.write("docs/plain.txt", "Nothing in columns.\n")
    made.run()
    return made


def export(runs: FolderRuns, *arguments: str) -> dict[str, dict[str, int]]:
    """Export tables to `out`. Returns what the command says of them."""
    code, out, err = run_in_process(
        ["export", "tables", "--to", "out", "--data", str(runs.data), "--json", *arguments], runs.folder, {}
    )
    assert (code, err) == (0, "")
    found: dict[str, dict[str, int]] = json.loads(out)["tables"]
    return found


def test_each_table_is_a_csv_file_and_a_parquet_file_with_its_own_columns(runs: FolderRuns) -> None:
    assert export(runs)["tables"]["rows"] == 3
    out = runs.folder / "out/tables/docs"
    assert {path.name for path in out.iterdir()} == {
        f"{name}.{kind}" for name in ("tides.md.1", "rota.html.1", "rota.html.2") for kind in ("csv", "parquet")
    }
    assert list(csv.reader((out / "tides.md.1.csv").open())) == [
        ["port", "metres"],
        ["Brest", "6.1"],
        ["Dover", "5,9"],
    ]
    table = pq.read_table(out / "rota.html.1.parquet")
    assert table.to_pylist() == [{"day": "Mon", "who / first": "", "who / last": "Lee"}]
    assert table.schema.metadata[b"inorder.doc_id"] == b"docs/rota.html"


def test_tables_are_rows_of_a_shard_and_of_the_dataset(runs: FolderRuns) -> None:
    export(runs, "--format", "parquet")
    rows = pq.read_table(runs.folder / "out/tables/part-00000.parquet").to_pylist()
    assert rows == [table._asdict() for table in inorder.open(runs.data).tables()]
    assert [(row["doc_id"], row["number"], row["section_path"], row["columns"]) for row in rows] == [
        ("docs/rota.html", 1, ["Rota"], ["day", "who / first", "who / last"]),
        ("docs/rota.html", 2, ["Rota", "Night"], ["column 1", "column 2"]),
        ("docs/tides.md", 1, ["Tides"], ["port", "metres"]),
    ]


def test_files_of_tables_that_are_gone_are_removed_and_the_others_kept(runs: FolderRuns) -> None:
    export(runs)
    assert export(runs)["tables"]["written"] == 0
    other = runs.folder / "out/tables/docs/mine.txt"
    other.write_text("not a table")
    runs.write("docs/rota.html", ROTA.partition("<h2>")[0])
    runs.write("docs/tides.md", "# Tides\n\nNo table any more.\n")
    runs.run()
    assert export(runs)["tables"] | {"bytes": 0} == {
        "documents": 3,
        "read": 3,
        "rows": 1,
        "bytes": 0,
        "written": 0,
        "kept": 2,
        "outdated": 0,
    }
    kept = read_tree(runs.folder / "out")
    assert {name for name in kept if name.startswith("tables/")} == {
        "tables/docs/mine.txt",
        "tables/docs/rota.html.1.csv",
        "tables/docs/rota.html.1.parquet",
    }
    other.unlink()
    inorder.open(runs.data).export(runs.folder / "fresh", "tables")
    assert read_tree(runs.folder / "fresh") == read_tree(runs.folder / "out")


def test_all_leaves_tables_out_and_lets_them_stay(runs: FolderRuns) -> None:
    data = inorder.open(runs.data)
    data.export(runs.folder / "out", "tables", "parquet")
    assert "tables" not in data.export(runs.folder / "out").tables
    assert "tables" in json.loads((runs.folder / "out/_inorder.json").read_bytes())["tables"]


def test_columns_with_one_name_get_numbers_and_wide_headers_are_not_repeated_in_full() -> None:
    cells = [Cell("x" * 500, 0, 0, columns=2, is_header=True), Cell("a", 1, 0, is_header=True)]
    cells += [Cell("a", 1, 1, is_header=True), Cell("a", 1, 2, is_header=True), Cell("a", 1, 3, is_header=True)]
    document = Document(
        name="t", mimetype="", blocks=[Table(rows=2, columns=4, cells=cells), Table(rows=0, columns=0, cells=[])]
    )
    [table] = list_content_tables("t", document)
    assert table.columns == [f"{'x' * 500} / a", f"{'x' * 100} / a", "a", "a (2)"]
    assert table.rows == []
