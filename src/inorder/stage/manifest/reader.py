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

from inorder.stage.freshness import GONE, SATISFIED

from .rows import CONFIG_ID

_PIECE_BYTES = 2**16
_MARK = b'"doc_id":"%b"' % CONFIG_ID.encode()


class Failed(msgspec.Struct, frozen=True):
    """What a row says of a failure."""

    category: str
    message: str
    retryable: bool = False


class Row(msgspec.Struct, frozen=True, kw_only=True):
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
    error: Failed | None = None
    warnings: list[str] = []

    @property
    def is_config(self) -> bool:
        """Whether a run begins with it."""
        return self.status == "config" and self.doc_id == CONFIG_ID

    @property
    def is_satisfied(self) -> bool:
        """Whether the item was skipped because it was done: an earlier success still holds."""
        return self.status == "skip" and self.reason in SATISFIED

    @property
    def is_gone(self) -> bool:
        """Whether the item is not in the plan any more, and its outputs were removed."""
        return self.status == "skip" and self.reason == GONE


class Config(msgspec.Struct, frozen=True, kw_only=True):
    """The row that a run begins with."""

    stage: str
    run_id: str = ""
    started_at: str = ""
    host: str = ""
    pid: int = 0
    version: str = ""
    options: dict[str, Any] = {}
    origin: dict[str, Any] = {}


class Line(NamedTuple):
    """One line of a manifest."""

    offset: int
    raw: bytes
    """Without its end."""
    row: Row | None
    """None: it makes no sense."""


_ROW = msgspec.json.Decoder(Row)
_CONFIG = msgspec.json.Decoder(Config)


def lines(path: str, start: int = 0) -> Iterator[Line]:
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
            yield Line(offset, raw[:-1], decoded(raw))
            offset += len(raw)


def rows(path: str, start: int = 0) -> Iterator[tuple[Line, Row]]:
    """Every line that makes sense."""
    for line in lines(path, start):
        if line.row is not None:
            yield line, line.row


def decoded(raw: bytes) -> Row | None:
    """A line as a row."""
    try:
        return _ROW.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None


def config_of(line: Line) -> Config | None:
    """A `__config__` row, whole."""
    try:
        return _CONFIG.decode(line.raw)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None


def line_at(path: str, offset: int) -> Line:
    """The line that begins there."""
    with open(path, "rb") as file:
        return line_in(file, offset)


def line_in(file: BinaryIO, offset: int) -> Line:
    """The same, for many lines of one manifest."""
    file.seek(offset)
    raw = file.readline()
    return Line(offset, raw.rstrip(b"\n"), decoded(raw))


def last_run(path: str) -> tuple[int, Config] | None:
    """Where the latest run begins, and its `__config__` row; None: there is none. The manifest is read from its end."""
    for offset in _marked(path):
        line = line_at(path, offset)
        if line.row is not None and line.row.is_config and (config := config_of(line)) is not None:
            return offset, config
    return None


def _marked(path: str) -> Iterator[int]:
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
            yield from _in_piece(data, first, start)
            rest, end = data[:first], start


def _in_piece(data: bytes, first: int, start: int) -> Iterator[int]:
    """The same, among the whole lines of a piece of the file."""
    found = data.rfind(_MARK, first)
    while found >= 0:
        begin = data.rfind(b"\n", 0, found) + 1
        yield start + begin
        found = data.rfind(_MARK, first, begin)
