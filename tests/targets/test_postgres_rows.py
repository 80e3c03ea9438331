"""Rows for PostgreSQL, in the binary format of COPY, read back."""

import json
import struct

import numpy as np
import psycopg
import pytest

from inorder.targets.base import ExportedChunk, ExportedDocument
from inorder.targets.postgres.connection import _get_last_line
from inorder.targets.postgres.encoding import (
    CHUNK_COLUMNS,
    DOCUMENT_COLUMNS,
    HEAD_UNIT,
    HEADER,
    TERM_COLUMNS,
    TRAILER,
    decode_rows,
    encode_rows,
)

ID = "b6e5f0a2-0000-4000-8000-000000000001"
Row = dict[str, bytes | None]


def read_rows(data: bytes, columns: tuple[str, ...]) -> list[Row]:
    """The values of each row, as PostgreSQL reads them."""
    rows, at = [], 0
    while at < len(data):
        [count] = struct.unpack_from(">h", data, at)
        at += 2
        assert count == len(columns)
        row: Row = {}
        for name in columns:
            [size] = struct.unpack_from(">i", data, at)
            at += 4
            row[name] = None if size < 0 else data[at : at + size]
            at += max(0, size)
        rows.append(row)
    return rows


def read_array(value: bytes | None) -> list[bytes]:
    """The elements of an array of one dimension."""
    assert value is not None
    dimensions, has_null, _ = struct.unpack_from(">iii", value)
    assert has_null == 0
    if not dimensions:
        assert len(value) == 12
        return []
    count, first = struct.unpack_from(">ii", value, 12)
    assert (dimensions, first) == (1, 1)
    found, at = [], 20
    for _ in range(count):
        [size] = struct.unpack_from(">i", value, at)
        found.append(value[at + 4 : at + 4 + size])
        at += 4 + size
    assert at == len(value)
    return found


def read_integers(value: bytes | None) -> list[int]:
    return [int.from_bytes(each, "big", signed=True) for each in read_array(value)]


def make_document(*vectors: list[float]) -> ExportedDocument:
    packed = [np.array(each, "<f4").tobytes() for each in vectors]
    return ExportedDocument(
        "docs/a\0\udcff.md",
        "5f2a",
        "document",
        "en",
        3,
        [
            ExportedChunk(0, ID, "section", "", "Lamp", "Lamp", 0, 19, [1, 2], "lamp oil lamp zebra", packed[0]),
            ExportedChunk(1, ID, "section", "f", "", "", 19, 24, [], "wick\0", packed[1]),
        ],
    )


def test_a_file_of_copy_begins_and_ends_as_the_format_says() -> None:
    assert b"PGCOPY\n\xff\r\n\0" + bytes(8) == HEADER
    assert TRAILER == b"\xff\xff"


def test_the_row_of_a_document_has_its_sums() -> None:
    found = decode_rows(encode_rows(make_document([], [])))
    [row] = read_rows(found.document, DOCUMENT_COLUMNS)
    assert row["doc_id"] == "docs/a\ufffd\ufffd.md".encode()
    numbers = {
        name: int.from_bytes(row[name] or b"", "big") for name in ("lines", "chunks", "body_terms", "head_terms")
    }
    assert numbers == {"lines": 3, "chunks": 2, "body_terms": 5, "head_terms": 2}


def test_the_rows_of_chunks_have_text_pages_metadata_and_vectors() -> None:
    found = decode_rows(encode_rows(make_document([1.0, -2.5], [])))
    assert found.has_vectors
    first, second = read_rows(found.chunks, (*CHUNK_COLUMNS, "embedding"))
    assert first["chunk_id"] == bytes.fromhex(ID.replace("-", ""))
    assert (read_integers(first["pages"]), read_integers(second["pages"])) == ([1, 2], [])
    assert (first["text"], second["text"]) == (b"lamp oil lamp zebra", "wick\ufffd".encode())
    assert [int.from_bytes(second[name] or b"", "big") for name in ("number", "start_at", "end_at")] == [1, 19, 24]
    metadata = first["metadata"] or b""
    assert metadata[:1] == b"\1"
    assert json.loads(metadata[1:])["pages"] == [1, 2]
    assert first["embedding"] == struct.pack(">HHff", 2, 0, 1.0, -2.5)
    assert second["embedding"] is None


def test_the_terms_of_a_chunk_are_sorted_and_counted_in_text_and_headings() -> None:
    found = decode_rows(encode_rows(make_document([], [])))
    assert not found.has_vectors
    first, second = read_rows(found.terms, TERM_COLUMNS)
    terms = [each.decode() for each in read_array(first["terms"])]
    assert terms == sorted(terms)
    counts = dict(zip(terms, read_integers(first["counts"]), strict=True))
    assert (counts["lamp"], counts["oil"]) == (2 + HEAD_UNIT, 1)
    assert [int.from_bytes(first[name] or b"", "big") for name in ("body_length", "head_length")] == [4, 1]
    assert len(read_array(second["terms"])) == 2


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("connection failed: no route to host\n\tIs the server running on that host?\n", "no route to host"),
        ("several:\n- connection failed: one\n\n  - two  \n", "two"),
        ("", "OperationalError"),
    ],
)
def test_of_an_error_without_a_message_of_the_server_the_last_line_says_why(text: str, problem: str) -> None:
    assert _get_last_line(psycopg.OperationalError(text)) == problem
