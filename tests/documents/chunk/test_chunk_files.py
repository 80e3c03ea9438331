"""Chunks in files: what is written is read, and the same chunks are the same bytes."""

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inorder.documents.chunk.chunks import Chunk, build_chunks
from inorder.documents.chunk.storage import read_chunks, read_texts, write_chunks
from inorder.documents.chunk.tokens import count_words
from inorder.documents.parquet import read_footer
from tests.documents.chunk.laws import pieces_from

pytestmark = pytest.mark.req("DOC-2")

FORMATS = ["parquet", "jsonl"]
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


def written(folder: Path, format_: str, chunks: list[Chunk], name: str = "tale.md") -> Path:
    path = folder / f"{name}.{format_}"
    write_chunks(path, format_, chunks, "f00d")
    return path


@pytest.mark.parametrize("format_", FORMATS)
@settings(max_examples=40)
@given(chunks=rows)
def test_chunks_are_read_as_they_were_written(
    tmp_path_factory: pytest.TempPathFactory, format_: str, chunks: list[Chunk]
) -> None:
    path = written(tmp_path_factory.getbasetemp(), format_, chunks)
    assert read_chunks(path) == chunks
    assert read_texts(path) == ([chunk.chunk_id for chunk in chunks], [chunk.text for chunk in chunks])


@pytest.mark.parametrize("format_", FORMATS)
@pytest.mark.parametrize("texts", [[], ["so"], [ODD], ["x" * 3_000_000, "one two three four five"]])
def test_no_chunks_odd_ones_and_long_ones_are_read_back(tmp_path: Path, format_: str, texts: list[str]) -> None:
    chunks = tale(*texts)
    assert bool(chunks) is bool(texts)
    assert read_chunks(str(written(tmp_path, format_, chunks))) == chunks


@pytest.mark.parametrize("format_", FORMATS)
def test_the_same_chunks_are_the_same_bytes(tmp_path: Path, format_: str) -> None:
    chunks = tale(ODD, "so it is " * 3000)
    first, second = (written(tmp_path, format_, chunks, name) for name in ("one", "two"))
    assert first.read_bytes() == second.read_bytes()


@pytest.mark.parametrize("texts", [[], ["so"]])
def test_a_table_says_what_it_is_and_has_its_columns_even_without_rows(tmp_path: Path, texts: list[str]) -> None:
    path = written(tmp_path, "parquet", tale(*texts))
    footer = read_footer(path)
    assert [footer[name] for name in ("schema", "schema_version", "cfg_hash")] == ["inorder.chunks", "1", "f00d"]
    table = pq.read_table(path)
    assert table.num_rows == len(texts)
    assert table.column_names == list(Chunk.__struct_fields__)


@pytest.mark.parametrize("texts", [[], ["so"]])
def test_lines_begin_with_what_they_are_and_each_of_the_others_is_a_chunk(tmp_path: Path, texts: list[str]) -> None:
    head, *lines = written(tmp_path, "jsonl", tale(*texts)).read_text(encoding="utf-8").split("\n")[:-1]
    assert json.loads(head) == {"schema": "inorder.chunks", "schema_version": 1, "cfg_hash": "f00d"}
    assert [list(json.loads(line)) for line in lines] == [list(Chunk.__struct_fields__)] * len(texts)
