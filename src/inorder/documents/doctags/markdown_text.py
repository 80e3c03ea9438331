"""Text with links and emphasis as Markdown.

Marks are nested properly: one that would cross another is split. A mark is left out where CommonMark would not read it
as one, for example a bold part of a word that ends with a full stop.
"""

import re
from collections.abc import Sequence

from inorder.documents.model import Link, Span

from .docling_json import place_links

_SPECIAL = re.compile(r"[\\`*\[\]]|(?<![^\W_])_|_(?![^\W_])|<(?=[A-Za-z/!?])|~|&(?=#?\w+;)|\$")
_SIGNS = {"bold": "**", "italic": "*"}
_TICKS = re.compile(r"`+")
_ORDER = ("link", "bold", "italic", "code", "formula", "footnote")
"""Of marks that begin at the same place and are equally long: the outermost first."""


def escape(text: str) -> str:
    """Escape what Markdown would read as syntax within a line of text."""
    return _SPECIAL.sub(r"\\\g<0>", " ".join(text.split()))


def write_text(text: str, links: Sequence[Link] = (), spans: Sequence[Span] = ()) -> str:
    """A text with its links and its marked parts."""
    if not links and not spans:
        return escape(text)
    marks = [("link", begin, end, target) for begin, end, target in place_links(text, links, spans)]
    marks += [(kind, begin, min(end, len(text)), "") for kind, begin, end in spans]
    return _write_part(text, 0, len(text), sorted(marks, key=_outermost_first))


_Mark = tuple[str, int, int, str]
"""Kind, begin and end in the text, and the target of a link."""


def _outermost_first(mark: _Mark) -> tuple[int, int, int]:
    kind, begin, end, _ = mark
    return begin, -end, _ORDER.index(kind)


def _write_part(text: str, begin: int, end: int, marks: list[_Mark]) -> str:
    """A part of the text with the marks that begin in it, the outermost first."""
    written: list[str] = []
    reached = begin
    while marks:
        kind, first, last, target = marks.pop(0)
        first, last = max(first, reached), min(last, end)
        if first >= last:
            continue
        inner = [mark for mark in marks if mark[1] < last]
        marks = [mark for mark in marks if mark[2] > last]
        written += (_escape_part(text, reached, first), _write_mark(text, kind, first, last, target, inner))
        reached = last
    written.append(_escape_part(text, reached, end))
    return "".join(written)


def _escape_part(text: str, begin: int, end: int) -> str:
    """Escape a part of a text, whose spaces at its ends are kept."""
    part = text[begin:end]
    escaped = _SPECIAL.sub(r"\\\g<0>", part)
    return " ".join(escaped.split("\n")) if "\n" in escaped else escaped


def _write_mark(text: str, kind: str, begin: int, end: int, target: str, inner: list[_Mark]) -> str:
    part = text[begin:end]
    match kind:
        case "code":
            fence = "`" * (max(map(len, _TICKS.findall(part)), default=0) + 1)
            pad = " " if part.startswith("`") or part.endswith("`") else ""
            return f"{fence}{pad}{part}{pad}{fence}"
        case "formula":
            return f"${part}$"
        case "footnote":
            return f"[^{part.strip('[]')}]"
    content = _write_part(text, begin, end, inner)
    if kind == "link":
        return f"[{content}]({_escape_target(target)})"
    return f"{_SIGNS[kind]}{content}{_SIGNS[kind]}" if _is_delimited(text, begin, end) else content


def _is_delimited(text: str, begin: int, end: int) -> bool:
    """Whether signs at these places are read as the begin and the end of an emphasis."""
    before, after = text[begin - 1 : begin], text[end : end + 1]
    first, last = text[begin], text[end - 1]
    if first.isspace() or last.isspace():
        return False
    opens = first.isalnum() or not before or not before.isalnum()
    closes = last.isalnum() or not after or not after.isalnum()
    return opens and closes


def _escape_target(target: str) -> str:
    return f"<{target}>" if re.search(r"[\s()]", target) else target
