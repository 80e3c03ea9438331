"""Find definitions in Python: the reference of the compiled function in `_definitions.c`; see `definitions`."""

from bisect import bisect_right
from collections.abc import Callable
from typing import NamedTuple

import msgspec

from .python_matches import Match, Nodes, Numbers, Role, Span, unpack_spans


class Definition(msgspec.Struct, eq=False, gc=False):
    """Something with a name."""

    kind: str
    has_chunk: bool
    start: int
    end: int
    name: str
    qualified_name: str
    line: int
    last_line: int
    leading_line: int
    """The first line of the comments and decorators directly above it, or its own; 0 without a chunk."""
    doc: str
    signature: str


class DefinitionRules(NamedTuple):
    """Limits, and the functions that clean texts."""

    class_kinds: frozenset[str]
    """A function within one of these is a method."""
    depth_max: int
    """Limit for the nesting of a qualified name. What is nested deeper is named as if it were at this depth."""
    signature_characters_max: int
    signature_lines_max: int
    """Limit for a definition without a body. The signature of a longer one is its first line."""
    split_name: Callable[[str, str], tuple[str, str]]
    clean_name: Callable[[str], str]
    extract_string_text: Callable[[str], str]
    extract_comment_text: Callable[[str], str]
    join_signature: Callable[[str], str]


def find_definitions(
    matches: list[Match],
    roles: dict[int, Role],
    comments: Numbers,
    attached: Numbers,
    docs: Numbers,
    starts: Numbers,
    data: bytes,
    text_start: int,
    rules: DefinitionRules,
    make: type[Definition],
) -> list[Definition]:
    """The definitions of these matches in the order of the file, the outer before the inner, with all that is known of
    them. Of several patterns that match one name, the first in the query counts. Comments, attached nodes,
    documentation strings and the starts of the lines are in the order of the file. The text begins at `text_start`,
    after a byte order mark."""
    file = _File(starts, data, text_start)
    drafts = _choose(matches, roles, file)
    _nest(drafts, unpack_spans(docs), _LeadingLines(comments, attached, file, rules), file, rules)
    _add_signatures(drafts, unpack_spans(comments), file, rules)
    return [
        make(
            each.kind,
            each.has_chunk,
            each.start,
            each.end,
            each.name,
            each.qualified_name,
            each.line,
            each.last_line,
            each.leading_line,
            each.doc,
            each.signature,
        )
        for each in drafts
    ]


class _Draft(msgspec.Struct, eq=False, gc=False):
    kind: str
    has_chunk: bool
    start: int
    end: int
    name: str
    owner: str
    body: int
    """Where its signature ends; -1 if unknown."""
    parent: "_Draft | None" = None
    depth: int = 0
    qualified_name: str = ""
    line: int = 0
    last_line: int = 0
    leading_line: int = 0
    doc: str = ""
    signature: str = ""


class _File(NamedTuple):
    starts: Numbers
    data: bytes
    text_start: int

    def text(self, start: int, end: int) -> str:
        return self.data[max(start, self.text_start) : end].decode("utf-8", "replace")

    def line_of(self, byte: int, first: int = 0) -> int:
        return bisect_right(self.starts, byte, first, len(self.starts) - 1)


def _choose(matches: list[Match], roles: dict[int, Role], file: _File) -> list[_Draft]:
    """A definition for each name."""
    by_name: dict[int, tuple[int, _Draft]] = {}
    for pattern, nodes in matches:
        if (names := nodes.get("name")) is not None:
            start = names[0].start_byte
            known = by_name.get(start)
            if known is None or pattern < known[0]:
                by_name[start] = pattern, _build(roles[pattern], nodes, file.text(start, names[0].end_byte), file)
    return sorted((each for _, each in by_name.values()), key=lambda each: (each.start, -each.end))


def _build(role: Role, nodes: Nodes, name: str, file: _File) -> _Draft:
    capture, kind, has_chunk = role
    node = nodes[capture][0]
    owner, bodies = nodes.get("owner"), nodes.get("body")
    body = bodies[0] if bodies else node.child_by_field_name("body")
    body_start = -1 if body is None else body.start_byte
    owner_name = file.text(owner[0].start_byte, owner[0].end_byte) if owner else ""
    return _Draft(kind, has_chunk, node.start_byte, node.end_byte, name, owner_name, body_start)


def _nest(
    drafts: list[_Draft], docs: list[Span], leading: "_LeadingLines", file: _File, rules: DefinitionRules
) -> None:
    """Set the parent, the qualified name, the lines and the documentation of each definition."""
    remaining = iter([*docs, (len(file.data) + 1, 0)])
    doc = next(remaining)
    stack: list[_Draft] = []
    for draft in drafts:
        while doc[0] < draft.start:
            _assign_doc(stack, doc, file, rules)
            doc = next(remaining)
        while stack and (stack[-1].end <= draft.start or _are_one_statement(stack[-1], draft)):
            stack.pop()
        _set_names_and_lines(draft, stack[-1] if stack else None, file, rules)
        if draft.has_chunk:
            leading.assign(draft)
            stack.append(draft)
    while doc[1]:
        _assign_doc(stack, doc, file, rules)
        doc = next(remaining)


def _are_one_statement(one: _Draft, other: _Draft) -> bool:
    """Whether both are names of one statement. Then neither encloses the other."""
    return one.start == other.start and one.end == other.end


def _assign_doc(stack: list[_Draft], doc: Span, file: _File, rules: DefinitionRules) -> None:
    while stack and stack[-1].end <= doc[0]:
        stack.pop()
    if stack:
        stack[-1].doc = rules.extract_string_text(file.text(*doc))


def _set_names_and_lines(draft: _Draft, parent: _Draft | None, file: _File, rules: DefinitionRules) -> None:
    name = draft.name
    if not name.isidentifier():
        draft.name, name = rules.split_name(draft.kind, name)
    if draft.owner:
        name = f"{rules.clean_name(draft.owner)}.{name}"
    if parent is not None:
        if draft.kind == "function" and parent.kind in rules.class_kinds:
            draft.kind = "method"
        if parent.depth >= rules.depth_max and parent.parent is not None:
            parent = parent.parent
        draft.depth = parent.depth + 1
    draft.parent = parent
    draft.qualified_name = f"{parent.qualified_name}.{name}" if parent else name
    draft.line = file.line_of(draft.start)
    draft.last_line = file.line_of(draft.end - 1, draft.line) if draft.end > draft.start else draft.line


class _LeadingLines:
    """Finds the comments and decorators directly above a definition."""

    def __init__(self, comments: Numbers, attached: Numbers, file: _File, rules: DefinitionRules) -> None:
        self._file, self._rules = file, rules
        found = (comments, True), (attached, False)
        self._spans = sorted((*span, is_comment) for spans, is_comment in found for span in unpack_spans(spans))
        self._next = 0
        """The first span that does not begin before the latest definition."""

    def assign(self, draft: _Draft) -> None:
        """Set the leading line of the definition, and its documentation if there are comments above it. To be called
        with definitions in the order of the file."""
        file, spans = self._file, self._spans
        line = draft.line
        comments = []
        while self._next < len(spans) and spans[self._next][0] < draft.start:
            self._next += 1
        for start, end, is_comment in reversed(spans[: self._next]):
            if line < 2 or end <= file.starts[line - 2] or file.data[end : file.starts[line - 1]].strip():
                break
            first = file.line_of(start)
            if first >= line or file.data[file.starts[first - 1] : start].strip():
                break
            if is_comment:
                comments.append(file.text(start, end))
            line = first
        draft.leading_line = line
        if comments:
            draft.doc = self._rules.extract_comment_text("\n".join(reversed(comments)))


def _add_signatures(drafts: list[_Draft], comments: list[Span], file: _File, rules: DefinitionRules) -> None:
    """Set the signature of each definition: all that precedes its body, in one line, without comments."""
    at = 0
    for draft in drafts:
        while at < len(comments) and comments[at][0] < draft.start:
            at += 1
        draft.signature = _build_signature(draft, comments, at, file, rules)


def _build_signature(draft: _Draft, comments: list[Span], at: int, file: _File, rules: DefinitionRules) -> str:
    """The signature of a definition. `at` is the position of the first comment after its start."""
    start, end = draft.start, draft.body
    if end <= start:
        is_short = draft.last_line - draft.line < rules.signature_lines_max
        end = draft.end if is_short else min(draft.end, file.starts[draft.line])
    end = min(end, start + 4 * rules.signature_characters_max)
    head = ""
    while at < len(comments) and comments[at][0] < end:
        head += file.text(start, comments[at][0])
        start = comments[at][1]
        at += 1
    return rules.join_signature(head + file.text(start, end))
