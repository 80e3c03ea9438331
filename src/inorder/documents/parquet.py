"""Parquet files: the same bytes for the same rows, with metadata in the footer that says what they are."""

import io
from collections.abc import Mapping, Sequence
from math import ceil
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

ROW_GROUP_BYTES = 32 * 2**20
"""Size of a row group in memory: large enough to scan fast, small enough to read one by itself."""
ROW_GROUP_BYTES_MAX = 64 * 2**20
"""A table up to this size is one row group."""


def make_schema(fields: Sequence[tuple[str, Any]], footer: Mapping[str, str]) -> pa.Schema:
    """A schema with these columns, none of them nullable, and this metadata for the footer."""
    columns = [pa.field(name, kind, nullable=False) for name, kind in fields]
    return pa.schema(columns, metadata={f"inorder.{name}": value for name, value in footer.items()})


def write_table(file: io.BytesIO, table: pa.Table) -> None:
    """Write a table. The bytes depend on nothing but its rows and schema. Dictionaries are off: tables of one document
    are small, and dictionaries would cost more time than they save space."""
    rows = compute_row_group_rows(table.num_rows, table.nbytes)
    pq.write_table(table, file, compression="zstd", use_dictionary=False, row_group_size=rows, version="2.6")


def compute_row_group_rows(rows: int, table_bytes: int) -> int:
    """The number of rows per row group: groups of equal size, between 16 and 64 MB in memory, unless a single row is
    larger."""
    if table_bytes <= ROW_GROUP_BYTES_MAX:
        return max(1, rows)
    return max(1, ceil(rows / round(table_bytes / ROW_GROUP_BYTES)))
