"""What goes where: results to stdout, everything else to stderr, colours only on a terminal."""

import sys
from collections.abc import Sequence
from typing import Any

import msgspec

_ENCODER = msgspec.json.Encoder(order="deterministic")


def complain(message: str) -> None:
    """One line about what went wrong."""
    line = " ".join(message.split("\n")).encode("utf-8", "backslashreplace").decode()
    prefix = "\x1b[31minorder:\x1b[0m" if sys.stderr.isatty() else "inorder:"
    print(f"{prefix} {line}", file=sys.stderr)


def show_json(value: Any) -> None:
    """One JSON object on stdout."""
    sys.stdout.buffer.write(_ENCODER.encode(value) + b"\n")
    sys.stdout.flush()


def show(*lines: str) -> None:
    """Lines on stdout."""
    for line in lines:
        print(line)


def table(rows: Sequence[tuple[str, ...]]) -> list[str]:
    """Rows as lines, columns aligned, numbers or not."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))] if rows else []
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
