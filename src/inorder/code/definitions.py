"""Nested definitions: the qualified name, the documentation, the lines and the signature of each."""

import re
from bisect import bisect_right
from collections.abc import Sequence

from .captures import Captures, Definition
from .matches import Span
from .model import Symbol
from .source import Source

NAME_CHARACTERS_MAX = 200
"""Limit for a name: a heading of a document can be a whole paragraph."""
DEPTH_MAX = 16
"""Limit for the nesting of a qualified name. What is nested deeper is named as if it were at this depth."""
SIGNATURE_CHARACTERS_MAX = 400
DOC_CHARACTERS_MAX = 4000
_SIGNATURE_LINES_MAX = 5
"""Limit for a definition without a body. The signature of a longer one is its first line."""
_QUOTES = "\"'`"
_CLASS_KINDS = frozenset(
    ("class", "interface", "struct", "trait", "enum", "impl", "object", "record", "union", "extension")
)
_COMMENT_MARK = re.compile(r"^[ \t]*(?:/\*+!?|//+!?|#+!?|\*+(?!/)|--+|<!--|;+|%+)[ \t]?", re.MULTILINE)
_COMMENT_END = re.compile(r"[ \t]*(?:\*+/|-->)[ \t]*$", re.MULTILINE)
_DOC_START = re.compile(r"[a-zA-Z]{0,2}(\"\"\"|'''|\"|')")


def nest(captures: Captures, source: Source) -> None:
    """Set the parent, the qualified name, the lines and the documentation of each definition."""
    leading = _LeadingLines(captures, source)
    docs = iter([*captures.docs, (len(source.data) + 1, 0)])
    doc = next(docs)
    stack: list[Definition] = []
    for definition in captures.definitions:
        while doc[0] < definition.start:
            _assign_doc(stack, doc, source)
            doc = next(docs)
        while stack and (stack[-1].end <= definition.start or _are_one_statement(stack[-1], definition)):
            stack.pop()
        _set_names_and_lines(definition, stack[-1] if stack else None, source)
        if definition.has_chunk:
            leading.assign(definition)
            stack.append(definition)
    while doc[1]:
        _assign_doc(stack, doc, source)
        doc = next(docs)


def _are_one_statement(one: Definition, other: Definition) -> bool:
    """Whether both are names of one statement. Then neither encloses the other."""
    return one.start == other.start and one.end == other.end


def _assign_doc(stack: list[Definition], doc: Span, source: Source) -> None:
    while stack and stack[-1].end <= doc[0]:
        stack.pop()
    if stack:
        stack[-1].doc = _extract_string_text(source.text(*doc))


def _set_names_and_lines(definition: Definition, parent: Definition | None, source: Source) -> None:
    name = definition.name
    if not name.isidentifier():
        *outer, name = name.lstrip(":" if definition.kind == "field" else "").split("::")  # a Ruby symbol, `:name`
        parts = [*(_clean_name(part.partition("<")[0]) for part in outer), _clean_name(name)]
        definition.name, name = parts[-1], ".".join(parts)
    if definition.owner:
        name = f"{_clean_name(definition.owner)}.{name}"
    if parent is not None:
        if definition.kind == "function" and parent.kind in _CLASS_KINDS:
            definition.kind = "method"
        if parent.depth >= DEPTH_MAX and parent.parent is not None:
            parent = parent.parent
        definition.depth = parent.depth + 1
    definition.parent = parent
    definition.qualified_name = f"{parent.qualified_name}.{name}" if parent else name
    start, end, starts, count = definition.start, definition.end, source.starts, source.line_count
    definition.line = line = bisect_right(starts, start, 0, count)
    definition.last_line = bisect_right(starts, end - 1, line, count) if end > start else line


def _clean_name(name: str) -> str:
    return " ".join(name.split())[:NAME_CHARACTERS_MAX].strip(_QUOTES)


class _LeadingLines:
    """Finds the comments and decorators directly above a definition."""

    def __init__(self, captures: Captures, source: Source) -> None:
        self._source = source
        self._spans = sorted(
            [(*span, True) for span in captures.comments] + [(*span, False) for span in captures.attached]
        )
        self._next = 0
        """The first span that does not begin before the latest definition."""

    def assign(self, definition: Definition) -> None:
        """Set the leading line of the definition, and its documentation if there are comments above it. To be called
        with definitions in the order of the file."""
        source, spans = self._source, self._spans
        line = definition.line
        comments = []
        while self._next < len(spans) and spans[self._next][0] < definition.start:
            self._next += 1
        at = self._next - 1
        while at >= 0:
            start, end, is_comment = spans[at]
            if line < 2 or end <= source.starts[line - 2] or source.data[end : source.starts[line - 1]].strip():
                break
            first = source.line_of(start)
            if first >= line or source.data[source.starts[first - 1] : start].strip():
                break
            if is_comment:
                comments.append(source.text(start, end))
            line = first
            at -= 1
        definition.leading_line = line
        if comments:
            definition.doc = _extract_comment_text("\n".join(reversed(comments)))


def _extract_comment_text(comment: str) -> str:
    """The text of a comment, without its markers."""
    return _COMMENT_MARK.sub("", _COMMENT_END.sub("", comment.replace("\r", "")))[:DOC_CHARACTERS_MAX].strip()


def _extract_string_text(string: str) -> str:
    """The text of a documentation string, without quotes and indentation."""
    match = _DOC_START.match(string)
    text = string[match.end() :].removesuffix("\n").removesuffix(match.group(1)) if match else string
    return "\n".join([line.strip() for line in text[:DOC_CHARACTERS_MAX].splitlines()]).strip()


def add_signatures(captures: Captures, source: Source) -> None:
    """Set the signature of each definition: all that precedes its body, in one line, without comments."""
    comments = captures.comments
    at = 0
    for definition in captures.definitions:
        while at < len(comments) and comments[at][0] < definition.start:
            at += 1
        definition.signature = _build_signature(definition, comments, at, source)


def _build_signature(definition: Definition, comments: Sequence[Span], at: int, source: Source) -> str:
    """The signature of a definition. `at` is the position of the first comment after its start."""
    start, end = definition.start, definition.body
    if end <= start:
        is_short = definition.last_line - definition.line < _SIGNATURE_LINES_MAX
        end = definition.end if is_short else min(definition.end, source.starts[definition.line])
    end = min(end, start + 4 * SIGNATURE_CHARACTERS_MAX)
    head = ""
    while at < len(comments) and comments[at][0] < end:
        head += source.text(start, comments[at][0])
        start = comments[at][1]
        at += 1
    head += source.text(start, end)
    return " ".join(head.split())[:SIGNATURE_CHARACTERS_MAX].rstrip(" {:;,")


def build_symbols(definitions: Sequence[Definition]) -> tuple[Symbol, ...]:
    """A symbol for each definition, in the same order."""
    return tuple(
        [
            Symbol(
                each.name,
                each.qualified_name,
                each.kind,
                each.line,
                each.last_line,
                each.start,
                each.end,
                each.signature,
            )
            for each in definitions
        ]
    )
