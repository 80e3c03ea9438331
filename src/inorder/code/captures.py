"""Interpret the matches of a tree-sitter query. This code is the same for all languages; each has its own queries.

A query may use these captures:

@definition.KIND   a definition, all of it; it gets a chunk
@symbol.KIND       something that has a name, but is too small for a chunk
  @name            its name; if several patterns match the same name, the first in the query file wins
  @owner           what it belongs to, if that is not the enclosing definition
  @body            where its signature ends, if that is not the field `body`
@doc               a documentation string within a definition
@comment           a comment; one directly above a definition belongs to it
@attached          what belongs to the definition directly below, such as a decorator
@import            an import statement
  @source          the module
  @imported        an imported name
@callee            the name of what is called, at the place of the call
"""

from typing import TYPE_CHECKING, NamedTuple

import msgspec

from .grammars import Grammar
from .matches import Match, Nodes, Span, sort_matches
from .source import Source

if TYPE_CHECKING:
    from tree_sitter import Node

_QUOTES = "\"'`<>"
_ROLES = ("callee", "comment", "attached", "import", "doc")


class Definition(msgspec.Struct, eq=False, gc=False):
    """Something with a name, and the definition that encloses it."""

    kind: str
    has_chunk: bool
    start: int
    end: int
    name: str
    owner: str
    body: int
    """Where its signature ends; -1 if unknown."""
    parent: "Definition | None" = None
    depth: int = 0
    qualified_name: str = ""
    line: int = 0
    last_line: int = 0
    leading_line: int = 0
    """The first line of the comments and decorators directly above it, or its own."""
    doc: str = ""
    signature: str = ""


class Captures(NamedTuple):
    """The captures of a file by kind, each in the order of the file."""

    definitions: list[Definition]
    calls: list[Span]
    comments: list[Span]
    attached: list[Span]
    docs: list[Span]
    imports: list[tuple[int, str, list[str]]]
    """Start of the statement, module, and imported names."""


def collect_captures(matches: list[Match], grammar: Grammar, source: Source) -> Captures:
    """Sort the matches of a query by kind."""
    calls, comments, attached, docs, rest = sort_matches(matches, grammar.roles, _find_role)
    roles = {pattern: (role, *_split_role(role)) for pattern, role in grammar.roles.items()}
    by_name: dict[int, tuple[int, Definition]] = {}
    imports: dict[Span, tuple[str, dict[str, None]]] = {}
    for pattern, nodes in rest:
        role = roles[pattern]
        if role[0] == "import":
            _add_import(nodes, source, imports)
        elif (names := nodes.get("name")) is not None:
            start = names[0].start_byte
            known = by_name.get(start)
            if known is None or pattern < known[0]:
                by_name[start] = pattern, _build_definition(role, nodes, source.text(start, names[0].end_byte), source)
    return Captures(
        sorted((each for _, each in by_name.values()), key=lambda each: (each.start, -each.end)),
        calls,
        comments,
        attached,
        docs,
        [(start, module, list(names)) for (start, _), (module, names) in sorted(imports.items())],
    )


def _find_role(nodes: Nodes) -> str:
    for name in nodes:
        if name in _ROLES or name.startswith(("definition.", "symbol.")):
            return name
    return "nothing"


def _split_role(role: str) -> tuple[str, bool]:
    """The kind of the definitions of a role, and whether they have chunks."""
    prefix, _, kind = role.partition(".")
    return kind, prefix == "definition"


def _build_definition(role: tuple[str, str, bool], nodes: Nodes, name: str, source: Source) -> Definition:
    capture, kind, has_chunk = role
    node = nodes[capture][0]
    owner, bodies = nodes.get("owner"), nodes.get("body")
    body = bodies[0] if bodies else node.child_by_field_name("body")
    body_start = -1 if body is None else body.start_byte
    owner_name = _get_text(owner[0], source) if owner else ""
    return Definition(kind, has_chunk, node.start_byte, node.end_byte, name, owner_name, body_start)


def _add_import(nodes: Nodes, source: Source, imports: dict[Span, tuple[str, dict[str, None]]]) -> None:
    if "source" not in nodes:
        return
    modules = nodes["source"]
    key = nodes["import"][0].start_byte, modules[0].start_byte
    if key not in imports:
        module = source.text(modules[0].start_byte, modules[-1].end_byte)
        imports[key] = " ".join(module.split()).strip(_QUOTES), {}
    for name in nodes.get("imported", ()):
        imports[key][1][_get_text(name, source)] = None


def _get_text(node: "Node", source: Source) -> str:
    return source.text(node.start_byte, node.end_byte)
