"""Write vectors as Parquet files: one table per document and family. `inorder export --format files` does so."""

import io
from array import array
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from inorder.documents.parquet import make_schema, read_table, write_table

from .corpus_statistics import PackedStatistics, decode_statistics, pack_statistics, unpack_integers
from .providers.base import Matrix, SparseVector

SCHEMA_VERSION = 1


def _make_footer(family: str, cfg_hash: str, **more: object) -> dict[str, str]:
    fields = {"schema": f"inorder.{family}", "schema_version": SCHEMA_VERSION, "cfg_hash": cfg_hash, **more}
    return {name: str(value) for name, value in fields.items()}


def write_dense(file: io.BytesIO, ids: Sequence[str], vectors: Matrix, provider: str, spec: str, cfg_hash: str) -> None:
    """One vector per chunk. `spec` is how to open the provider again, to embed queries."""
    width = vectors.shape[1]
    column = pa.FixedSizeListArray.from_arrays(pa.array(vectors.ravel(), pa.float32()), width)
    layout = make_schema(
        [("chunk_id", pa.string()), ("vector", pa.list_(pa.float32(), width))],
        _make_footer("dense", cfg_hash, provider=provider, spec=spec, dimensions=width, normalised="l2"),
    )
    write_table(file, pa.table([pa.array(ids, pa.string()), column], schema=layout))


def write_sparse(
    file: io.BytesIO,
    ids: Sequence[str],
    vectors: Sequence[SparseVector],
    provider: str,
    vocabulary: int,
    cfg_hash: str,
) -> None:
    """The terms with a weight above 0 of each chunk, and their weights."""
    layout = make_schema(
        [("chunk_id", pa.string()), ("indices", pa.list_(pa.int32())), ("weights", pa.list_(pa.float32()))],
        _make_footer("sparse", cfg_hash, provider=provider, vocabulary=vocabulary),
    )
    columns = {
        "chunk_id": ids,
        "indices": [indices for indices, _ in vectors],
        "weights": [weights for _, weights in vectors],
    }
    write_table(file, pa.table(columns, schema=layout))


def write_lexical(file: io.BytesIO, ids: Sequence[str], counts: Sequence[Mapping[str, int]], cfg_hash: str) -> None:
    """The terms of each chunk, and the frequency of each."""
    layout = make_schema(
        [
            ("chunk_id", pa.string()),
            ("length", pa.int32()),
            ("terms", pa.list_(pa.string())),
            ("counts", pa.list_(pa.int32())),
        ],
        _make_footer("lexical", cfg_hash),
    )
    columns: dict[str, Any] = {
        "chunk_id": ids,
        "length": [sum(each.values()) for each in counts],
        "terms": [list(each) for each in counts],
        "counts": [list(each.values()) for each in counts],
    }
    write_table(file, pa.table(columns, schema=layout))


def pack_counted(chunks: int, terms: pa.Table) -> PackedStatistics:
    """The statistics of a corpus of this number of chunks. The table has, for each term, the number of chunks that
    contain it, and its total frequency."""
    text = _end_terms(terms["term"].combine_chunks()) if len(terms) else b""
    columns = (array("q", view_integers(terms[name].combine_chunks()).tobytes()) for name in ("chunks", "count"))
    return pack_statistics(chunks, text, *columns)


def _end_terms(terms: pa.Array) -> bytes:
    """The terms, each followed by a line feed. `pyarrow.compute` imports Pandas to join them with a text."""
    _, places, text = terms.buffers()
    ends = np.frombuffer(places, "<i4", len(terms) + 1, terms.offset * 4)
    return np.insert(np.frombuffer(text, np.uint8)[ends[0] : ends[-1]], ends[1:] - ends[0], ord("\n")).tobytes()


def make_statistics_table(statistics: PackedStatistics) -> pa.Table:
    """The statistics of a corpus as a table."""
    layout = make_schema(
        [("term", pa.string()), ("chunks", pa.int64()), ("count", pa.int64())],
        _make_footer("statistics", "", chunks=statistics.chunks, length=statistics.length),
    )
    text = np.frombuffer(statistics.text, np.uint8)
    ends = np.flatnonzero(text == ord("\n"))
    count = len(ends)
    offsets = np.concatenate([[0], ends - np.arange(count)]).astype("<i4")
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(statistics.text.replace(b"\n", b""))]
    columns = [pa.Array.from_buffers(pa.string(), count, buffers)]
    for packed in (statistics.chunk_counts, statistics.frequencies):
        values = np.frombuffer(unpack_integers(packed, count), np.int64)
        columns.append(pa.Array.from_buffers(pa.int64(), count, [None, pa.py_buffer(values)]))
    return pa.Table.from_arrays(columns, schema=layout)


def make_statistics_file(content: bytes) -> bytes:
    """The statistics of a corpus as a Parquet file, from what the store has: the same, or such a file of an older
    version."""
    statistics = decode_statistics(content)
    if statistics is None:
        return content
    buffer = io.BytesIO()
    write_table(buffer, make_statistics_table(statistics))
    return buffer.getvalue()


def read_statistics_file(content: bytes) -> PackedStatistics:
    """The inverse of `make_statistics_file`."""
    table = read_table(io.BytesIO(content))
    return pack_counted(int(table.schema.metadata[b"inorder.chunks"]), table)


def view_integers(column: pa.Array) -> "npt.NDArray[np.int64]":
    """The values of a column without nulls. `Array.to_numpy` imports Pandas, too."""
    if not len(column):
        return np.zeros(0, np.int64)
    return np.frombuffer(column.buffers()[1], "<i8", len(column), column.offset * 8)
