"""Reading a manifest, of any length, while somebody may be writing it.

A manifest is a row of runs. Each begins with its `__config__` row, and has one row an item after it, in the order of
the plan. A run that was interrupted and taken up again is one run. A last line without an end is being written, or was
torn off: it is no row.

Rows are decoded as far as every stage has them; what a stage adds is carried along in the line itself.
"""

import os
from collections.abc import Iterator
from typing import Any, BinaryIO, NamedTuple

import msgspec

from inorder.stage.freshness import REMOVED_FROM_PLAN, SATISFIED_REASONS

from .rows import CONFIG_ID

_PIECE_BYTES = 2**16
_MARK = b'"doc_id":"%b"' % CONFIG_ID.encode()


class RowError(msgspec.Struct, frozen=True):
    """What a row says of a failure."""

    category: str
    message: str
    retryable: bool = False


class ManifestRow(msgspec.Struct, frozen=True, kw_only=True):
    """What is the same in every row of an item."""

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
    warnings: list[str] = []

    @property
    def is_config(self) -> bool:
        """Whether a run begins with it."""
        return self.status == "config" and self.doc_id == CONFIG_ID

    @property
    def is_satisfied(self) -> bool:
        """Whether the item was skipped because it was done: an earlier success still holds."""
        return self.status == "skip" and self.reason in SATISFIED_REASONS

    @property
    def is_removed(self) -> bool:
        """Whether the item is not in the plan any more, and its outputs were removed."""
        return self.status == "skip" and self.reason == REMOVED_FROM_PLAN


class ConfigRow(msgspec.Struct, frozen=True, kw_only=True):
    """The row that a run begins with."""

    stage: str
    run_id: str = ""
    started_at: str = ""
    host: str = ""
    pid: int = 0
    version: str = ""
    options: dict[str, Any] = {}
    origin: dict[str, Any] = {}


class ManifestLine(NamedTuple):
    """One line of a manifest."""

    offset: int
    raw: bytes
    """Without its end."""
    row: ManifestRow | None
    """None: it makes no sense."""


_ROW = msgspec.json.Decoder(ManifestRow)
_CONFIG = msgspec.json.Decoder(ConfigRow)


def read_lines(path: str, start: int = 0) -> Iterator[ManifestLine]:
    """Every whole line from there on. A manifest that is not there has none."""
    try:
        file = open(path, "rb")  # noqa: SIM115
    except FileNotFoundError:
        return
    with file:
        file.seek(start)
        offset = start
        for raw in file:
            if not raw.endswith(b"\n"):
                return
            yield ManifestLine(offset, raw[:-1], decode_row(raw))
            offset += len(raw)


def read_rows(path: str, start: int = 0) -> Iterator[tuple[ManifestLine, ManifestRow]]:
    """Every line that makes sense."""
    for line in read_lines(path, start):
        if line.row is not None:
            yield line, line.row


def decode_row(raw: bytes) -> ManifestRow | None:
    """A line as a row."""
    try:
        return _ROW.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None


def decode_config(line: ManifestLine) -> ConfigRow | None:
    """A `__config__` row, whole."""
    try:
        return _CONFIG.decode(line.raw)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None


def read_line_at(path: str, offset: int) -> ManifestLine:
    """The line that begins there."""
    with open(path, "rb") as file:
        return read_line(file, offset)


def read_line(file: BinaryIO, offset: int) -> ManifestLine:
    """The same, for many lines of one manifest."""
    file.seek(offset)
    raw = file.readline()
    return ManifestLine(offset, raw.rstrip(b"\n"), decode_row(raw))


def find_last_run(path: str) -> tuple[int, ConfigRow] | None:
    """Where the latest run begins, and its `__config__` row; None: there is none. The manifest is read from its end."""
    return next(_find_runs(path), None)


def read_configs(path: str) -> Iterator[ConfigRow]:
    """The `__config__` row of every run, the latest run first."""
    return (config for _, config in _find_runs(path))


def _find_runs(path: str) -> Iterator[tuple[int, ConfigRow]]:
    for offset in _find_config_lines(path):
        line = read_line_at(path, offset)
        if line.row is not None and line.row.is_config and (config := decode_config(line)) is not None:
            yield offset, config


def _find_config_lines(path: str) -> Iterator[int]:
    """Where lines begin that may be `__config__` rows, the last one first."""
    try:
        file = open(path, "rb")  # noqa: SIM115
    except FileNotFoundError:
        return
    with file:
        end = file.seek(0, os.SEEK_END)
        rest = b""
        while end > 0:
            start = max(0, end - _PIECE_BYTES)
            file.seek(start)
            data = file.read(end - start) + rest
            first = data.find(b"\n") + 1 if start > 0 else 0
            if start > 0 and first == 0:
                rest, end = data, start  # a line longer than a piece
                continue
            yield from _find_in_piece(data, first, start)
            rest, end = data[:first], start


def _find_in_piece(data: bytes, first: int, start: int) -> Iterator[int]:
    """The same, among the whole lines of a piece of the file."""
    found = data.rfind(_MARK, first)
    while found >= 0:
        begin = data.rfind(b"\n", 0, found) + 1
        yield start + begin
        found = data.rfind(_MARK, first, begin)
