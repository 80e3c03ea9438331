"""Write and read vector files: one table per document and family."""

import io
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa

from inorder.documents.parquet import ParquetFacts, make_schema, read_table, write_table

from .providers.base import Matrix, SparseVector

SCHEMA_VERSION = 1


def _make_footer(family: str, cfg_hash: str, **more: object) -> dict[str, str]:
    fields = {"schema": f"inorder.{family}", "schema_version": SCHEMA_VERSION, "cfg_hash": cfg_hash, **more}
    return {name: str(value) for name, value in fields.items()}


def write_dense(
    path: Path | io.BytesIO, ids: Sequence[str], vectors: Matrix, provider: str, spec: str, cfg_hash: str
) -> ParquetFacts:
    """One vector per chunk. `spec` is how to open the provider again, to embed queries."""
    width = vectors.shape[1]
    column = pa.FixedSizeListArray.from_arrays(pa.array(vectors.ravel(), pa.float32()), width)
    layout = make_schema(
        [("chunk_id", pa.string()), ("vector", pa.list_(pa.float32(), width))],
        _make_footer("dense", cfg_hash, provider=provider, spec=spec, dimensions=width, normalised="l2"),
    )
    return write_table(path, pa.table([pa.array(ids, pa.string()), column], schema=layout))


def write_sparse(
    path: Path | io.BytesIO,
    ids: Sequence[str],
    vectors: Sequence[SparseVector],
    provider: str,
    vocabulary: int,
    cfg_hash: str,
) -> ParquetFacts:
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
    return write_table(path, pa.table(columns, schema=layout))


def read_dense(path: str | Path) -> tuple[list[str], Matrix]:
    """The chunk ids and the vectors."""
    table = read_table(path)
    width = table.schema.field("vector").type.list_size
    flat = table["vector"].combine_chunks().flatten().to_numpy(zero_copy_only=False)
    matrix: Matrix = np.asarray(flat, dtype=np.float32).reshape(-1, width)
    return table["chunk_id"].to_pylist(), matrix


def read_sparse(path: str | Path) -> tuple[list[int], list[float]]:
    """For each chunk, the number of its terms and the length of its vector."""
    table = read_table(path, "weights")
    weights = table["weights"].combine_chunks()
    counts = np.asarray(weights.value_lengths())
    squares = np.asarray(weights.flatten(), dtype=np.float64) ** 2
    ends = np.cumsum(counts)
    sums = np.concatenate([[0.0], np.cumsum(squares)])
    return counts.tolist(), np.sqrt(sums[ends] - sums[ends - counts]).tolist()
