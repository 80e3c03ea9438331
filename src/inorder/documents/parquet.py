"""Tables in files: Parquet, the same bytes for the same rows, with a footer that says what they are."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

_ROWS_A_GROUP = 4096


def schema(fields: Sequence[tuple[str, Any]], footer: Mapping[str, str]) -> pa.Schema:
    """Columns and what the footer says of them."""
    columns = [pa.field(name, kind, nullable=False) for name, kind in fields]
    return pa.schema(columns, metadata={f"inorder.{name}": value for name, value in footer.items()})


def write_table(path: Path, table: pa.Table) -> None:
    """Write all of it. Nothing in the file depends on when or where. Tables of one document are small: dictionaries
    would cost more time than they save space."""
    pq.write_table(table, path, compression="zstd", use_dictionary=False, row_group_size=_ROWS_A_GROUP, version="2.6")


def read_table(path: str | Path, *columns: str) -> pa.Table:
    """These columns, or all. A third of what the reader of whole datasets takes for a small file."""
    with pq.ParquetFile(path) as file:
        return file.read(columns=list(columns) or None, use_threads=False)


def footer_of(path: str | Path) -> dict[str, str]:
    """What the footer says."""
    found = pq.read_schema(path).metadata or {}
    return {name.decode().removeprefix("inorder."): value.decode() for name, value in found.items()}
