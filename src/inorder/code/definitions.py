"""The definitions of a file: the name, the lines and the signature of each."""

from collections.abc import Sequence

import msgspec

from .grammars import Grammar
from .matches import Match, Nodes, Role, SortedMatches, Span
from .model import Symbol
from .source import Source
from .texts import SIGNATURE_CHARACTERS_MAX, clean_name, join_signature, split_name

_CLASS_KINDS = frozenset(
    ("class", "interface", "struct", "trait", "enum", "impl", "object", "record", "union", "extension")
)
"""A function within one of these is a method."""
_DEPTH_MAX = 16
"""Limit for the nesting of a qualified name. What is nested deeper is named as if it were at this depth."""
_SIGNATURE_LINES_MAX = 5
"""Limit for a definition without a body. The signature of a longer one is its first line."""


class Definition(msgspec.Struct, eq=False, gc=False):
    """Something with a name."""

    kind: str
    has_chunk: bool
    start: int
    end: int
    name: str
    owner: str
    """What it belongs to, if that is not the enclosing definition; else empty."""
    body: int
    """Where its signature ends; -1 if unknown."""
    parent: "Definition | None" = None
    depth: int = 0
    qualified_name: str = ""
    line: int = 0
    last_line: int = 0
    leading_line: int = 0
    """The first line of the comments and decorators directly above it, or its own; 0 without a chunk."""
    signature: str = ""


def find_definitions(captures: SortedMatches, grammar: Grammar, source: Source) -> list[Definition]:
    """The definitions of a file in its order, the outer before the inner. Of several patterns that match one name, the
    first in the query counts."""
    found = _choose(captures.definitions, grammar.roles, source)
    _nest(found, _LeadingLines([*captures.comments, *captures.attached], source), source)
    _add_signatures(found, captures.comments, source)
    return found


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
                each.signature,
            )
            for each in definitions
        ]
    )


def _choose(matches: list[Match], roles: dict[int, Role], source: Source) -> list[Definition]:
    """A definition for each name."""
    by_name: dict[int, tuple[int, Definition]] = {}
    for pattern, nodes in matches:
        if (names := nodes.get("name")) is not None:
            start = names[0].start_byte
            known = by_name.get(start)
            if known is None or pattern < known[0]:
                by_name[start] = pattern, _build(roles[pattern], nodes, source.text(start, names[0].end_byte), source)
    return sorted((each for _, each in by_name.values()), key=lambda each: (each.start, -each.end))


def _build(role: Role, nodes: Nodes, name: str, source: Source) -> Definition:
    capture, kind, has_chunk = role
    node = nodes[capture][0]
    owner, bodies = nodes.get("owner"), nodes.get("body")
    body = bodies[0] if bodies else node.child_by_field_name("body")
    body_start, body_end = (-1, 0) if body is None else (body.start_byte, body.end_byte)
    owner_name = source.text(owner[0].start_byte, owner[0].end_byte) if owner else ""
    end = max(node.end_byte, body_end)  # in Dart, a body is beside its signature
    return Definition(kind, has_chunk, node.start_byte, end, name, owner_name, body_start)


def _nest(definitions: list[Definition], leading: "_LeadingLines", source: Source) -> None:
    """Set the parent, the qualified name and the lines of each definition."""
    stack: list[Definition] = []
    for each in definitions:
        while stack and (stack[-1].end <= each.start or _are_one_statement(stack[-1], each)):
            stack.pop()
        _set_names_and_lines(each, stack[-1] if stack else None, source)
        if each.has_chunk:
            leading.assign(each)
            stack.append(each)


def _are_one_statement(one: Definition, other: Definition) -> bool:
    """Whether both are names of one statement. Then neither encloses the other."""
    return one.start == other.start and one.end == other.end


def _set_names_and_lines(definition: Definition, parent: Definition | None, source: Source) -> None:
    name = definition.name
    if not name.isidentifier():
        definition.name, name = split_name(definition.kind, name)
    if definition.owner:
        name = f"{clean_name(definition.owner)}.{name}"
    if parent is not None:
        if definition.kind == "function" and parent.kind in _CLASS_KINDS:
            definition.kind = "method"
        if parent.depth >= _DEPTH_MAX and parent.parent is not None:
            parent = parent.parent
        definition.depth = parent.depth + 1
    definition.parent = parent
    definition.qualified_name = f"{parent.qualified_name}.{name}" if parent else name
    start, end = definition.start, definition.end
    definition.line = source.line_of(start)
    definition.last_line = source.line_of(end - 1) if end > start else definition.line


class _LeadingLines:
    """Finds the comments and decorators directly above a definition."""

    def __init__(self, spans: list[Span], source: Source) -> None:
        self._source = source
        self._spans = sorted(spans)
        self._next = 0
        """The first span that does not begin before the latest definition."""

    def assign(self, definition: Definition) -> None:
        """Set the leading line of the definition. To be called with definitions in the order of the file."""
        source, spans = self._source, self._spans
        line = definition.line
        while self._next < len(spans) and spans[self._next][0] < definition.start:
            self._next += 1
        for at in range(self._next - 1, -1, -1):
            start, end = spans[at]
            if line < 2 or end <= source.starts[line - 2] or source.data[end : source.starts[line - 1]].strip():
                break
            first = source.line_of(start)
            if first >= line or source.data[source.starts[first - 1] : start].strip():
                break
            line = first
        definition.leading_line = line


def _add_signatures(definitions: list[Definition], comments: list[Span], source: Source) -> None:
    """Set the signature of each definition: all that precedes its body, in one line, without comments."""
    at = 0
    for definition in definitions:
        while at < len(comments) and comments[at][0] < definition.start:
            at += 1
        definition.signature = _build_signature(definition, comments, at, source)


def _build_signature(definition: Definition, comments: list[Span], at: int, source: Source) -> str:
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
    return join_signature(head + source.text(start, end))
