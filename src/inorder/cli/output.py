"""Results go to stdout, everything else to stderr. Colours are used on a terminal only.

Code that is not ours (a stage and whatever it imports) may print. Before any of it runs, a command calls
`claim_stdout`: from then on such output goes to stderr, in this process and in those it starts, and stdout carries
results alone.
"""

import contextlib
import os
import re
import sys
import textwrap
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, BinaryIO, TextIO

import msgspec

from inorder.host.credentials import redact
from inorder.host.spelling import encode_spelled, spell

DEBUG = "INORDER_DEBUG"
"""The variable that makes a command print tracebacks."""
_ENCODER = msgspec.json.Encoder(order="deterministic")
_claimed: list[BinaryIO] = []
_WIDTH_MIN = 40
_LABEL = re.compile(r"[a-z ]{1,12}: ")
"""What some lines begin with: `not read: `."""


def claim_stdout() -> None:
    """Reserve stdout for results. Idempotent."""
    if not _claimed:
        sys.stdout.flush()
        _claimed.append(os.fdopen(os.dup(1), "wb"))
        os.dup2(2, 1)


@contextlib.contextmanager
def _result_stream() -> Iterator[BinaryIO]:
    """The stream for results. If its reader has closed the pipe, the program ends without a message, and what is still
    buffered is dropped."""
    stream = _claimed[0] if _claimed else sys.stdout.buffer
    try:
        yield stream
        stream.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
        sys.exit(1)


def error(message: str) -> None:
    """Print one line that says what went wrong, on stderr, without credentials of addresses in it."""
    prefix = "\x1b[31minorder:\x1b[0m" if sys.stderr.isatty() else "inorder:"
    info(f"{prefix} {redact(to_one_line(message))}")


def info(*lines: str) -> None:
    """Print lines on stderr."""
    for line in lines:
        print(encode_text(line).decode(), file=sys.stderr)
    sys.stderr.flush()


def print_out(*lines: str) -> None:
    """Print lines on stdout."""
    stream_lines(map(encode_text, lines))


def print_json(value: Any) -> None:
    """Print one JSON object on stdout."""
    stream_lines([encode_json(value)])


def stream_lines(lines: Iterable[bytes]) -> None:
    """Print any number of lines on stdout, as they come."""
    with _result_stream() as stream:
        for line in lines:
            stream.write(line + b"\n")


def stream_json(name: str, values: Iterable[bytes], rest: Callable[[], dict[str, Any]]) -> None:
    """Print one JSON object that holds a list of any length, piece by piece.

    `values` are encoded already. `rest` gives the other fields; it is called at the end of the list.
    """
    with _result_stream() as stream:
        stream.write(b"{%b:[" % encode_json(name))
        for number, value in enumerate(values):
            stream.write(b"," + value if number else value)
        stream.write(b"]")
        for key, value in rest().items():
            stream.write(b",%b:%b" % (encode_json(key), encode_json(value)))
        stream.write(b"}\n")


def encode_json(value: Any) -> bytes:
    """Encode as JSON. Equal values give equal bytes. Paths that are not UTF-8 are spelled as `spell` does."""
    return encode_spelled(_ENCODER, value)


def encode_text(text: str) -> bytes:
    """Encode for stdout. Paths that are not UTF-8 are spelled as `spell` does."""
    try:
        return text.encode()
    except UnicodeEncodeError:
        return spell(text).encode()


def fit_lines(lines: Iterable[str], stream: TextIO | None = None) -> list[str]:
    """Break lines between words that are too long for the terminal that they are printed on, stderr if no stream is
    given. Nothing is broken where there is no terminal."""
    stream = sys.stderr if stream is None else stream
    if not stream.isatty():
        return list(lines)
    width = max(_WIDTH_MIN, os.get_terminal_size(stream.fileno()).columns)
    return [piece for line in lines for piece in _break_line(line, width)]


def _break_line(line: str, width: int) -> list[str]:
    """The pieces of a line. The later ones are indented as what follows a label is."""
    if len(line) <= width:
        return [line]
    text = line.lstrip()
    label = _LABEL.match(text)
    indent = len(line) - len(text)
    later = " " * (indent if indent else label.end() if label is not None else 2)
    return textwrap.wrap(
        text,
        width,
        initial_indent=" " * indent,
        subsequent_indent=later,
        break_long_words=False,
        break_on_hyphens=False,
    )


def to_printable(text: str) -> str:
    """Escape what is not printable in the name of a file: a line break would end the line, and a terminal would obey
    other control characters."""
    if text.isprintable():
        return text
    return "".join(each if each.isprintable() else each.encode("unicode_escape").decode() for each in text)


def to_one_line(message: str) -> str:
    """Replace line breaks by spaces."""
    return " ".join(line.strip() for line in message.splitlines())


def indent_lines(text: str) -> list[str]:
    """The lines of a text, indented; none if it is empty."""
    return [f"    {line}" for line in text.splitlines()]


def format_table(rows: Sequence[tuple[str, ...]]) -> list[str]:
    """Lines with aligned columns."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))] if rows else []
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]


def pluralize(count: int, noun: str) -> str:
    """`1 item`, `2 items`."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
