"""Reads a manifest of any length, while a run may be writing it.

A manifest is a sequence of runs. Each starts with its `__config__` row, followed by one row per item in the order of
the plan. A run that was interrupted and resumed is one run. A last line without a newline is being written, or was torn
off by a crash: it is not a row. The rows of earlier runs may be packed; offsets are those of the text of all rows.

Only the fields that every stage has are decoded; fields that a stage adds are in the raw line.
"""

from collections.abc import Iterator
from typing import Any, BinaryIO, NamedTuple

import msgspec

from inorder.sinks.packed_lines import open_lines
from inorder.stage.freshness import REMOVED_FROM_PLAN, SATISFIED_REASONS

from .rows import CONFIG_ID, CORPUS_ID, COUNTS_ID

_MARK = b'"doc_id":"%b"' % CONFIG_ID.encode()


class RowError(msgspec.Struct, frozen=True):
    """The failure in a row."""

    category: str
    message: str
    retryable: bool = False
    stage: str = ""
    item_id: str = ""
    step: str = ""


class ManifestRow(msgspec.Struct, frozen=True, kw_only=True):
    """The fields that the rows of every stage have."""

    stage: str
    doc_id: str
    status: str
    seq: int = -1
    attempts: int = 0
    duration_s: float = 0.0
    input_path: str = ""
    output_paths: list[str] = []
    cfg_hash: str = ""
    input_sha256: str = ""
    reason: str = ""
    error: RowError | None = None
    traceback: str = ""
    warnings: list[str] = []

    @property
    def is_config(self) -> bool:
        """Whether this is a `__config__` row, the first of a run."""
        return self.status == "config" and self.doc_id == CONFIG_ID

    @property
    def is_item(self) -> bool:
        """Whether this is the row of an item: neither the first nor the last row of a run."""
        return not self.is_config and self.doc_id not in (COUNTS_ID, CORPUS_ID)

    @property
    def is_satisfied(self) -> bool:
        """Whether the item was skipped because it was up to date."""
        return self.status == "skip" and self.reason in SATISFIED_REASONS

    @property
    def is_removed(self) -> bool:
        """Whether the item was no longer in the plan, and its outputs were removed."""
        return self.status == "skip" and self.reason == REMOVED_FROM_PLAN


class ConfigRow(msgspec.Struct, frozen=True, kw_only=True, rename={"pass_": "pass"}):
    """The first row of a run."""

    stage: str
    run_id: str = ""
    started_at: str = ""
    host: str = ""
    pid: int = 0
    argv: list[str] = []
    version: str = ""
    options: dict[str, Any] = {}
    origin: dict[str, Any] = {}
    pass_: str = ""
    """The pass of a run of the pipeline; empty: it is a run of a stage."""


class ManifestLine(NamedTuple):
    """One line of a manifest."""

    offset: int
    """Of the line."""
    raw: bytes
    """The row, without its newline."""
    row: ManifestRow | None
    """None: the line cannot be decoded."""
    end: int
    """The offset of the next line."""


_ROW = msgspec.json.Decoder(ManifestRow)
_CONFIG = msgspec.json.Decoder(ConfigRow)


def read_lines(path: str, start: int = 0) -> Iterator[ManifestLine]:
    """Yield every whole line from this offset on; none if the manifest does not exist."""
    try:
        file = open_lines(path)
    except FileNotFoundError:
        return
    with file:
        file.seek(start)
        offset = start
        for raw in file:
            if not raw.endswith(b"\n"):
                return
            end = offset + len(raw)
            yield ManifestLine(offset, raw[:-1], decode_row(raw), end)
            offset = end


def read_rows(path: str, start: int = 0) -> Iterator[tuple[ManifestLine, ManifestRow]]:
    """Yield every line that can be decoded, with its row."""
    for line in read_lines(path, start):
        if line.row is not None:
            yield line, line.row


def decode_row(raw: bytes) -> ManifestRow | None:
    """Decode a line; None: it cannot be decoded."""
    try:
        return _ROW.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None


def decode_config(line: ManifestLine) -> ConfigRow | None:
    """Decode a line with a `__config__` row; None: it cannot be decoded."""
    try:
        return _CONFIG.decode(line.raw)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None


def read_line(file: BinaryIO, offset: int) -> ManifestLine:
    """Read the line at an offset of an open manifest."""
    file.seek(offset)
    raw = file.readline()
    return ManifestLine(offset, raw.rstrip(b"\n"), decode_row(raw), offset + len(raw))


def find_last_run(path: str) -> tuple[int, ConfigRow] | None:
    """Return the offset and the `__config__` row of the last run; None: there is no run."""
    return next(reversed(find_runs(path)), None)


def find_runs(path: str) -> list[tuple[int, ConfigRow]]:
    """Return the offset and the `__config__` row of every run, the first run first."""
    lines = (ManifestLine(offset, raw, decode_row(raw), offset + len(raw)) for offset, raw in _find_config_lines(path))
    return [
        (line.offset, config)
        for line in lines
        if line.row is not None and line.row.is_config and (config := decode_config(line)) is not None
    ]


def _find_config_lines(path: str) -> Iterator[tuple[int, bytes]]:
    """Yield the offset and the text of each whole line that may be a `__config__` row."""
    try:
        file = open_lines(path)
    except FileNotFoundError:
        return
    with file:
        offset = 0
        for raw in file:
            if _MARK in raw and raw.endswith(b"\n"):
                yield offset, raw
            offset += len(raw)
