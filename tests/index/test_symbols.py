"""Definitions by name and by qualified name."""

import sqlite3
from collections.abc import Iterator

import pytest

from inorder.index.rows import CODE, ChunkRow, FileRows, SymbolRow
from inorder.index.schema import INDEXES, TABLES
from inorder.index.symbols import find_definitions
from inorder.index.writer import RowWriter

NAMES = [
    ("trim", "trim"),
    ("trim", "Lamp.trim"),
    ("Trim", "Lamp.Wick.Trim"),
    ("v1.2 of. it", "Lamp.v1.2 of. it"),
    ("wick", "Lamp"),
]


@pytest.fixture
def connection() -> Iterator[sqlite3.Connection]:
    found = sqlite3.connect(":memory:")
    found.create_function("location", 3, lambda kind, item_id, path: path)
    found.executescript(TABLES + INDEXES)
    symbols = [SymbolRow(name, qualified, "function", 1, 1, "") for name, qualified in NAMES]
    chunk = ChunkRow("id", "function", "", "", 1, 1, "", "text")
    rows = FileRows(
        item_id="a.py",
        kind=CODE,
        path="a.py",
        language="python",
        lines=1,
        note="",
        sha256="",
        cfg_hash="",
        chunks=[chunk],
        symbols=symbols,
    )
    RowWriter(found).replace_file(found, rows)
    yield found
    found.close()


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("TRIM", ["trim", "Lamp.trim", "Lamp.Wick.Trim"]),
        ("lamp.TRIM", ["Lamp.trim"]),
        ("lamp.wick.trim", ["Lamp.Wick.Trim"]),
        ("V1.2 of. it", ["Lamp.v1.2 of. it"]),
        ("lamp.v1.2 of. it", ["Lamp.v1.2 of. it"]),
        ("wick.trim", ["Lamp.Wick.Trim"]),
        ("2 of. it", ["Lamp.v1.2 of. it"]),
        ("." * 40_000, []),
    ],
)
def test_a_definition_is_found_by_its_name_and_qualified_name(
    connection: sqlite3.Connection, name: str, expected: list[str]
) -> None:
    found = find_definitions(connection, name, 10, is_exact=True)
    assert [place.name for place in found] == expected


@pytest.mark.parametrize("name", ["trim", "Lamp.Wick.Trim"])
def test_a_definition_is_looked_up_and_not_searched_for(connection: sqlite3.Connection, name: str) -> None:
    statements: list[str] = []
    connection.set_trace_callback(statements.append)
    assert find_definitions(connection, name, 10, is_exact=True)
    connection.set_trace_callback(None)
    plan = [row[-1] for row in connection.execute(f"EXPLAIN QUERY PLAN {statements[0]}")]
    assert any("USING INDEX symbols_by_name" in step for step in plan)
    assert not any(step.startswith("SCAN symbols") for step in plan)
