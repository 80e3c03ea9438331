"""Definitions by name and by qualified name."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from inorder.index.rows import CODE, ChunkRow, FileRows, SymbolRow
from inorder.index.symbols import find_definitions
from inorder.library.connection import connect_library
from inorder.library.rows import pack_rows
from tests.library.libraries import write
from tests.library.making import make_code

NAMES = [
    ("trim", "trim"),
    ("trim", "Lamp.trim"),
    ("Trim", "Lamp.Wick.Trim"),
    ("v1.2 of. it", "Lamp.v1.2 of. it"),
    ("wick", "Lamp"),
]


@pytest.fixture
def connection(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    result = make_code("a.py", "text", "trim")
    assert result.rows is not None
    result.rows = pack_rows(
        FileRows(
            item_id="a.py",
            kind=CODE,
            language="python",
            lines=1,
            note="",
            chunks=[ChunkRow("0" * 32, "function", "", "", 1, 1, "", "text")],
            symbols=[SymbolRow(name, qualified, "function", 1, 1, "") for name, qualified in NAMES],
        )
    )
    write(tmp_path, result)
    with closing(connect_library(str(tmp_path))) as found:
        yield found


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
