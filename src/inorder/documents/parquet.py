"""Parquet files: the same bytes for the same rows, with metadata in the footer that says what they are."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

_ROW_GROUP_SIZE = 4096


def make_schema(fields: Sequence[tuple[str, Any]], footer: Mapping[str, str]) -> pa.Schema:
    """A schema with these columns, none of them nullable, and this metadata for the footer."""
    columns = [pa.field(name, kind, nullable=False) for name, kind in fields]
    return pa.schema(columns, metadata={f"inorder.{name}": value for name, value in footer.items()})


def write_table(path: Path, table: pa.Table) -> None:
    """Write a table. The bytes depend on nothing but its rows and schema. Dictionaries are off: tables of one document
    are small, and dictionaries would cost more time than they save space."""
    pq.write_table(table, path, compression="zstd", use_dictionary=False, row_group_size=_ROW_GROUP_SIZE, version="2.6")


def read_table(path: str | Path, *columns: str) -> pa.Table:
    """Read the given columns, or all. For a small file this takes a third of the time of `pyarrow.parquet.read_table`,
    which handles whole datasets."""
    with pq.ParquetFile(path) as file:
        return file.read(columns=list(columns) or None, use_threads=False)


def read_footer(path: str | Path) -> dict[str, str]:
    """The metadata that `make_schema` put into the footer."""
    metadata = pq.read_schema(path).metadata or {}
    return {name.decode().removeprefix("inorder."): value.decode() for name, value in metadata.items()}
