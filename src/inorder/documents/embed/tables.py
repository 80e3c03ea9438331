"""The vectors of a document in one family as a Parquet file."""

import io
from collections.abc import Sequence

import pyarrow as pa

from inorder.documents.parquet import make_schema, write_table

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
