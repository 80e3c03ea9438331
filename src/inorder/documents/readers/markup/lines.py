"""Lines of a markup file: decoding, indentation, and the limits that its readers share."""

from inorder.documents.readers.document import require_size
from inorder.files.encoding import decode

BYTES_MAX = 16 * 2**20
DEPTH_MAX = 30
"""Levels of lists and quotes. Deeper text is read as paragraphs."""
_TAB = 8


def read_lines(data: bytes, format_name: str) -> tuple[list[str], list[str]]:
    """The lines of a file without white space at their ends, and the warnings of its encoding."""
    require_size(data, BYTES_MAX, format_name)
    decoded = decode(data)
    lines = [line.expandtabs(_TAB).rstrip() for line in decoded.text.splitlines()]
    return lines, [decoded.warning] if decoded.warning else []


def count_indent(line: str) -> int:
    """The number of spaces at the beginning of a line."""
    return len(line) - len(line.lstrip())


def take_indented(lines: list[str], at: int) -> tuple[list[str], int]:
    """The indented lines from a position on, without their common indentation, and the position after them."""
    end = at
    while end < len(lines) and (not lines[end] or count_indent(lines[end])):
        end += 1
    block = lines[at:end]
    while block and not block[-1]:
        block.pop()
    indent = min((count_indent(line) for line in block if line), default=0)
    return [line[indent:] for line in block], end
