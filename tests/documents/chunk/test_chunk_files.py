"""Chunks in the library and in Parquet files: what is written is read, and the same chunks are the same bytes."""

import io

import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inorder.dataset.export.files import write_rows
from inorder.dataset.results import LoadedResult
from inorder.dataset.tables import ChunkTable
from inorder.documents.chunk.chunks import Chunk, build_chunks
from inorder.documents.chunk.tokens import count_words
from inorder.library.values import pack_chunk_rows, unpack_chunk_ids, unpack_chunk_rows
from tests.documents.chunk.laws import pieces_from

pytestmark = pytest.mark.req("DOC-2")

ODD = 'line\u2028break\x00\x1f"\\\r\n\t\U0001f600\ufffd\u202e\ufeff'
strings = st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=20)
rows = st.lists(
    st.builds(
        Chunk,
        chunk_id=strings,
        doc_id=strings,
        number=st.integers(0, 2**31 - 1),
        text=strings,
        tokens=st.integers(0, 2**31 - 1),
        start=st.integers(0, 2**63 - 1),
        end=st.integers(0, 2**63 - 1),
        section_path=st.lists(strings, max_size=3),
        pages=st.lists(st.integers(0, 2**31 - 1), max_size=3),
        refs=st.lists(strings, max_size=3),
    ),
    max_size=4,
)


def tale(*texts: str) -> list[Chunk]:
    return build_chunks("docs/tale.md", pieces_from(*texts), count_words, 1, 4)


def write(chunks: list[Chunk]) -> io.BytesIO:
    return io.BytesIO(write_rows(ChunkTable(), LoadedResult("docs/tale.md", "", "", "f00d", chunks), chunks))


def read(file: io.BytesIO) -> list[Chunk]:
    return [Chunk(**row) for row in pq.read_table(file).to_pylist()]


@pytest.mark.slow
@settings(max_examples=40)
@given(chunks=rows)
def test_chunks_are_read_as_they_were_written(chunks: list[Chunk]) -> None:
    assert read(write(chunks)) == chunks


@pytest.mark.parametrize("texts", [[], ["so"], [ODD], ["x" * 3_000_000, "one two three four five"]])
def test_no_chunks_odd_ones_and_long_ones_are_read_back(texts: list[str]) -> None:
    chunks = tale(*texts)
    assert bool(chunks) is bool(texts)
    rows, stored = pack_chunk_rows(chunks)
    assert read(write(chunks)) == unpack_chunk_rows("docs/tale.md", rows, stored) == chunks
    assert stored == [chunk.text for chunk in chunks]
    assert unpack_chunk_ids(rows) == [chunk.chunk_id for chunk in chunks]


@pytest.mark.slow
def test_the_same_chunks_are_the_same_bytes() -> None:
    chunks = tale(ODD, "so it is " * 3000)
    assert write(chunks).getvalue() == write(chunks).getvalue()


@pytest.mark.parametrize("texts", [[], ["so"]])
def test_a_table_says_what_it_is_and_has_its_columns_even_without_rows(texts: list[str]) -> None:
    table = pq.read_table(write(tale(*texts)))
    names = ("schema", "schema_version", "cfg_hash")
    footer = [table.schema.metadata[f"inorder.{name}".encode()] for name in names]
    assert footer == [b"inorder.chunks", b"2", b"f00d"]
    assert table.num_rows == len(texts)
    assert table.column_names == list(Chunk.__struct_fields__)
