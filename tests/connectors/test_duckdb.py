"""The target `duckdb://`, with DuckDB."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import inorder
from inorder.sinks.base import Position
from inorder.targets.base import TargetChanges, TargetLayout
from inorder.targets.tables import encode_clean
from inorder.testing import SINK_RULES
from tests.connectors.target_harness import LAYOUT, RealTargetHarness, open_target, replace_and_remove, write
from tests.targets.harnesses import make_document

duckdb: Any = pytest.importorskip("duckdb", reason="make test-connectors installs it")
pytestmark = [pytest.mark.process, pytest.mark.slow]


class DuckDBHarness(RealTargetHarness):
    @property
    def address(self) -> str:
        return f"duckdb://{self.folder}/file.duckdb"

    def read_rows(self) -> list[Any]:
        return read_rows(self.folder / "file.duckdb")

    def damage(self) -> None:
        with duckdb.connect(str(self.folder / "file.duckdb")) as connection:
            connection.execute(
                "DELETE FROM inorder.position; DELETE FROM inorder.documents; DELETE FROM inorder.chunks"
            )


def read_rows(path: Path) -> list[Any]:
    with duckdb.connect(str(path)) as connection:
        query = """SELECT doc_id, number, chunk_id::VARCHAR, text, headings, pages, vector, hash
            FROM inorder.chunks JOIN inorder.documents USING (doc_id) ORDER BY doc_id, number"""
        rows: list[Any] = connection.execute(query).fetchall()
    return rows


@pytest.mark.parametrize("rule", SINK_RULES, ids=lambda rule: rule.__name__)
def test_it_keeps_the_rule(rule: Callable[[Any], None], tmp_path_factory: pytest.TempPathFactory) -> None:
    rule(lambda: DuckDBHarness(tmp_path_factory.mktemp("duckdb")))


@pytest.fixture
def address(tmp_path: Path) -> str:
    return f"duckdb://{tmp_path}/file.duckdb"


def test_documents_are_replaced_and_removed(address: str, tmp_path: Path) -> None:
    target = open_target(address)
    replace_and_remove(target)
    target.complete()
    target.close()
    rows = read_rows(tmp_path / "file.duckdb")
    assert [row[3] for row in rows] == ["result 1 part 0", "result 1 part 1", "result 2 part 0"]
    assert rows[0][5:7] == ([1], (1.0, 2.0, 3.0, 4.0))


def test_texts_of_all_kinds_and_missing_vectors_are_kept(address: str, tmp_path: Path) -> None:
    document = make_document(1, dimensions=4)
    document.chunks[0].text, document.chunks[1].vector = "a\0b \ud800 c 'quoted' \U0001f600", b""
    target = open_target(address)
    target.write(TargetChanges([encode_clean(document)], [document.doc_id], ()), Position(1))
    target.close()
    rows = read_rows(tmp_path / "file.duckdb")
    assert rows[0][3] == "a\0b \ufffd c 'quoted' \U0001f600"
    assert rows[1][6] is None


def test_another_process_that_has_the_file_open_is_named(address: str, tmp_path: Path) -> None:
    path = str(tmp_path / "file.duckdb")
    program = "import duckdb, sys; file = duckdb.connect(sys.argv[1]); print(flush=True); sys.stdin.read()"
    with subprocess.Popen(
        [sys.executable, "-c", program, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as holder:
        assert holder.stdout is not None
        holder.stdout.readline()
        with pytest.raises(inorder.BusyError, match=rf"is in use by .*{holder.pid}"):
            open_target(address)
        assert holder.stdin is not None
        holder.stdin.close()


@pytest.mark.parametrize(
    ("statement", "layout", "options", "message"),
    [
        (
            "",
            TargetLayout(dimensions=8, provider="hash:8"),
            {},
            "4 dimensions, and those of hash:8 have 8",
        ),
        ("UPDATE inorder.meta SET value = '9' WHERE name = 'version'", LAYOUT, {}, "has version 9, and this version"),
        ("CREATE SCHEMA taken; CREATE TABLE taken.t (a INT)", LAYOUT, {"collection": "taken"}, "holds something else"),
        ("", LAYOUT, {"collection": "no name"}, "--collection must be a name"),
        ("", LAYOUT, {"hnsw": True}, "hnsw is not available for DuckDB"),
    ],
)
def test_a_file_that_does_not_fit_is_one_line_and_stays_as_it_is(
    address: str, tmp_path: Path, statement: str, layout: TargetLayout, options: dict[str, Any], message: str
) -> None:
    target = open_target(address)
    write(target, 1)
    target.close()
    with duckdb.connect(str(tmp_path / "file.duckdb")) as connection:
        connection.execute(statement)
    before = read_rows(tmp_path / "file.duckdb")
    with pytest.raises(inorder.OperatorError, match=message) as caught:
        open_target(address, layout, **options)
    assert "\n" not in str(caught.value)
    assert read_rows(tmp_path / "file.duckdb") == before


@pytest.mark.parametrize(
    ("name", "message"), [("text.txt", "not a valid DuckDB"), ("missing/file.duckdb", "cannot be opened")]
)
def test_what_is_not_a_file_of_duckdb_is_refused(tmp_path: Path, name: str, message: str) -> None:
    (tmp_path / "text.txt").write_text("some words " * 2000)
    with pytest.raises(inorder.OperatorError, match=message):
        open_target(f"duckdb://{tmp_path}/{name}")
