"""Texts of documents in the index: compressed, with a dictionary once there are enough of them, and read everywhere."""

import sqlite3
from collections.abc import Iterator

import pytest

from inorder.errors import IntegrityError
from inorder.index.rows import CODE, DOCUMENT, ChunkRow, FileRows
from inorder.index.schema import INDEXES, TABLES
from inorder.index.writer import RowWriter, read_file
from inorder.stage.store.codec import SAMPLES, SMALL_BYTES
from inorder.stage.store.texts import TextReader

pytestmark = pytest.mark.req("IDX-1")


def make_text(number: int) -> str:
    return f"Lamp {number} of the street was lit at dusk, and lamp {number * 7919 % 1000} was not. " * 3


def make_rows(number: int, kind: str = DOCUMENT, text: str = "") -> FileRows:
    text = text or make_text(number)
    chunk = ChunkRow(f"id {number}", "section", "", "street", 0, len(text), "", text)
    return FileRows(
        item_id=f"docs/{number}",
        kind=kind,
        path=f"docs/{number}",
        language="en",
        lines=0,
        note="",
        sha256="s",
        cfg_hash="c",
        chunks=[chunk],
    )


@pytest.fixture
def connection() -> Iterator[sqlite3.Connection]:
    made = sqlite3.connect(":memory:", isolation_level=None)
    made.executescript(TABLES + INDEXES)
    yield made
    made.close()


def write(connection: sqlite3.Connection, *files: FileRows) -> None:
    writer = RowWriter(connection)
    for rows in files:
        writer.replace_file(connection, rows)


def read_sizes(connection: sqlite3.Connection) -> list[tuple[str, int]]:
    return connection.execute("SELECT typeof(text), length(text) FROM chunks ORDER BY id").fetchall()


def test_texts_get_smaller_once_there_are_enough_for_a_dictionary(connection: sqlite3.Connection) -> None:
    write(connection, *map(make_rows, range(SAMPLES + 5)))
    sizes = read_sizes(connection)
    assert {kind for kind, _ in sizes} == {"blob"}
    assert max(size for _, size in sizes[SAMPLES:]) < min(size for _, size in sizes[: SAMPLES - 1]) / 2
    write(connection, make_rows(SAMPLES + 5), make_rows(0))
    assert read_sizes(connection)[-1][1] == pytest.approx(sizes[-1][1], abs=5)
    assert connection.execute("SELECT count(*) FROM dictionaries").fetchone() == (1,)
    for number in (0, 1, SAMPLES - 1, SAMPLES + 5):
        assert read_file(connection, f"docs/{number}")[0].chunks == make_rows(number).chunks


@pytest.mark.parametrize("text", ["short", "x" * 9, make_text(1) * (SMALL_BYTES // 100), "ä" * 300])
def test_texts_of_every_kind_are_read_as_they_were_written(connection: sqlite3.Connection, text: str) -> None:
    write(connection, *map(make_rows, range(SAMPLES)), make_rows(SAMPLES, text=text))
    assert read_file(connection, f"docs/{SAMPLES}")[0].chunks[0].text == text


def test_source_code_stays_as_it_is(connection: sqlite3.Connection) -> None:
    write(connection, *(make_rows(number, CODE) for number in range(SAMPLES + 1)))
    assert {kind for kind, _ in read_sizes(connection)} == {"text"}
    assert connection.execute("SELECT count(*) FROM dictionaries").fetchone() == (0,)


@pytest.mark.parametrize(
    ("stored", "message"),
    [(b"\x02abc", "the index has no dictionary 2; remove it"), (b"\x01abc", "cannot be decompressed")],
)
def test_a_damaged_text_is_an_error(connection: sqlite3.Connection, stored: bytes, message: str) -> None:
    with pytest.raises(IntegrityError, match=message):
        TextReader(connection).read(stored)
