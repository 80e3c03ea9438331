"""What to export, where to, and what an export has done."""

import os

import msgspec

from inorder.errors import require
from inorder.files.addresses import parse_address

from .manifest import FORMATS

EXTRACTED = "extract:"
"""The beginning of what is exported of an extraction."""
WHATS = ("documents", "chunks", "vectors", "tables", "all")
SHARD_BYTES = 128 * 2**20
_LEAST_BYTES = 1024


def choose_format(what: str, to: str) -> str:
    """The format if none is given: files for tables in a folder, else Parquet."""
    return "files" if what == "tables" and parse_address(to) is None else "parquet"


class ExportOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What to export, and where to."""

    what: str = "all"
    to: str
    format: str = "parquet"
    shard_bytes: int = SHARD_BYTES
    """Shards have half to twice this size."""

    def __post_init__(self) -> None:
        is_extracted = self.what.startswith(EXTRACTED) and self.what != EXTRACTED
        words = ", ".join((*WHATS, f"{EXTRACTED}NAME"))
        require(is_extracted or self.what in WHATS, f"what to export must be one of {words}; got {self.what!r}")
        require(
            not is_extracted or self.format != "files", "--format files has no form for fields; choose parquet or jsonl"
        )
        require(self.format in FORMATS, f"--format must be one of {', '.join(FORMATS)}; got {self.format!r}")
        require(self.shard_bytes >= _LEAST_BYTES, f"--shard-bytes must be at least {_LEAST_BYTES}")
        require(bool(os.fspath(self.to)), "--to must name a folder")


class TableExport(msgspec.Struct, kw_only=True):
    """What an export has done with one table."""

    documents: int = 0
    read: int = 0
    """Documents that were read, because their shard is new or has changed."""
    rows: int = 0
    bytes: int = 0
    written: int = 0
    """Files that were written."""
    kept: int = 0
    """Files that were there, with the same content."""
    outdated: int = 0
    """Documents without rows, because they have changed since fields were extracted from them."""


class ExportOutcome(msgspec.Struct, kw_only=True):
    """What an export has done.

    >>> import inorder
    >>> def is_current(outcome: inorder.dataset.ExportOutcome) -> bool:
    ...     return all(table.written == 0 for table in outcome.tables.values())
    """

    to: str
    format: str
    tables: dict[str, TableExport]
    removed: int = 0
    """Files that no longer belong to the export."""
