"""What goes where: results to stdout, everything else to stderr, colours only on a terminal.

Code that is not ours, a stage and whatever it imports, may print. Before any of it runs, a command takes stdout for
itself (`claim_stdout`): from then on what others print goes to stderr, in this process and in those it starts, and
results still arrive alone.
"""

import contextlib
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
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


@contextlib.contextmanager
def _while_read() -> Iterator[BinaryIO]:
    """Where results go. If whoever read them has gone, there is nobody to tell: the program ends, and what is still
    buffered goes nowhere."""
    stream = _claimed[0] if _claimed else sys.stdout.buffer
    try:
        yield stream
        stream.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
        sys.exit(1)


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
    stream_lines([encode_json(value)])


def show(*lines: str) -> None:
    """Lines on stdout."""
    stream_lines(map(as_bytes, lines))


def as_bytes(text: str) -> bytes:
    """Text for stdout, whatever is in it."""
    return text.encode("utf-8", "backslashreplace")


def stream_lines(lines: Iterable[bytes]) -> None:
    """Any number of lines on stdout, as they come."""
    with _while_read() as stream:
        for line in lines:
            stream.write(line + b"\n")


def stream_json(name: str, values: Iterable[bytes], rest: Callable[[], dict[str, Any]]) -> None:
    """One JSON object on stdout that holds a list of any length, piece by piece: its values are JSON already. `rest` is
    what else it holds, asked for when the list is over."""
    with _while_read() as stream:
        stream.write(b"{%b:[" % encode_json(name))
        for number, value in enumerate(values):
            stream.write(b"," + value if number else value)
        stream.write(b"]")
        for key, value in rest().items():
            stream.write(b",%b:%b" % (encode_json(key), encode_json(value)))
        stream.write(b"}\n")


def table(rows: Sequence[tuple[str, ...]]) -> list[str]:
    """Rows as lines, columns aligned, numbers or not."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))] if rows else []
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]


def counted(count: int, noun: str) -> str:
    """A number of things, in words."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
