"""What goes where: results to stdout, everything else to stderr, colours only on a terminal.

Code that is not ours, a stage and whatever it imports, may print. Before any of it runs, a command takes stdout for
itself (`claim_stdout`): from then on what others print goes to stderr, in this process and in those it starts, and
results still arrive alone.
"""

import contextlib
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import Any, BinaryIO

import msgspec

_ENCODER = msgspec.json.Encoder(order="deterministic")
_claimed: list[BinaryIO] = []


def claim_stdout() -> None:
    """From now on stdout is for results alone."""
    if not _claimed:
        sys.stdout.flush()
        _claimed.append(os.fdopen(os.dup(1), "wb"))
        os.dup2(2, 1)


def hang_up() -> None:
    """Nobody reads the results any more: let what is still buffered go nowhere."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (*_claimed, sys.stdout):
        with contextlib.suppress(OSError, ValueError):
            os.dup2(nowhere, stream.fileno())


def _results() -> BinaryIO:
    return _claimed[0] if _claimed else sys.stdout.buffer


def complain(message: str) -> None:
    """One line about what went wrong."""
    prefix = "\x1b[31minorder:\x1b[0m" if sys.stderr.isatty() else "inorder:"
    tell(f"{prefix} {in_one_line(message)}")


def tell(*lines: str) -> None:
    """Lines for whoever watches, on stderr."""
    for line in lines:
        print(line.encode("utf-8", "backslashreplace").decode(), file=sys.stderr)
    sys.stderr.flush()


def in_one_line(message: str) -> str:
    """The same without line breaks."""
    return " ".join(message.split("\n"))


def encode_json(value: Any) -> bytes:
    """The same value gives the same bytes."""
    return _ENCODER.encode(value)


def show_json(value: Any) -> None:
    """One JSON object on stdout."""
    show_bytes(encode_json(value) + b"\n")


def show(*lines: str) -> None:
    """Lines on stdout."""
    show_bytes("".join(f"{line}\n" for line in lines).encode("utf-8", "backslashreplace"))


def show_bytes(data: bytes) -> None:
    """Bytes on stdout."""
    stream = _results()
    stream.write(data)
    stream.flush()


def stream_json(name: str, values: Iterable[bytes], rest: Callable[[], dict[str, Any]]) -> None:
    """One JSON object on stdout that holds a list of any length, piece by piece: its values are JSON already. `rest` is
    what else it holds, asked for when the list is over."""
    stream = _results()
    stream.write(b"{%b:[" % encode_json(name))
    for number, value in enumerate(values):
        stream.write(b"," + value if number else value)
    stream.write(b"]")
    for key, value in rest().items():
        stream.write(b",%b:%b" % (encode_json(key), encode_json(value)))
    stream.write(b"}\n")
    stream.flush()


def table(rows: Sequence[tuple[str, ...]]) -> list[str]:
    """Rows as lines, columns aligned, numbers or not."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))] if rows else []
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]


def counted(count: int, noun: str) -> str:
    """A number of things, in words."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
