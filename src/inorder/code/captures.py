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

from .grammars import Grammar
from .source import Source

if TYPE_CHECKING:
    from tree_sitter import Node

Matches = list[tuple[int, "dict[str, list[Node]]"]]
Span = tuple[int, int]
"""Start and end byte."""
_QUOTES = "\"'`<>"
_ROLES = ("callee", "comment", "attached", "import", "doc")


class Definition:
    """Something with a name, and the definition that encloses it."""

    __slots__ = (
        "body", "depth", "doc", "end", "has_chunk", "kind", "last_line", "leading_line", "line", "name", "owner",
        "parent", "qualified_name", "start",
    )  # fmt: skip

    def __init__(self, kind: str, has_chunk: bool, span: Span, name: str, owner: str, body: int) -> None:
        self.kind = kind
        self.has_chunk = has_chunk
        self.start, self.end = span
        self.name = name
        self.owner = owner
        self.body = body
        """Where its signature ends; -1 if unknown."""
        self.parent: Definition | None = None
        self.depth = 0
        self.qualified_name = name
        self.line = self.last_line = self.leading_line = 0
        """Its first and last line, and the first line of the comments and decorators directly above it."""
        self.doc = ""


class Captures(NamedTuple):
    """The captures of a file by kind, each in the order of the file."""

    definitions: list[Definition]
    calls: list[Span]
    comments: list[Span]
    attached: list[Span]
    docs: list[Span]
    imports: list[tuple[int, str, list[str]]]
    """Start of the statement, module, and imported names."""


def collect_captures(matches: Matches, grammar: Grammar, source: Source) -> Captures:
    """Sort the matches of a query by kind."""
    roles = grammar.roles
    by_name: dict[int, tuple[int, Definition]] = {}
    spans: dict[str, dict[int, int]] = {"callee": {}, "comment": {}, "attached": {}, "doc": {}}
    imports: dict[Span, tuple[str, dict[str, None]]] = {}
    targets = {pattern: (role, spans.get(role)) for pattern, role in roles.items()}
    for pattern, nodes in matches:
        target = targets.get(pattern)
        if target is None:
            roles[pattern] = role = _find_role(nodes)
            target = targets[pattern] = role, spans.get(role)
        role, ends = target
        if ends is not None:
            node = nodes[role][0]
            ends[node.start_byte] = node.end_byte
        elif role == "import":
            _add_import(nodes, source, imports)
        elif "name" in nodes:
            name = nodes["name"][0].start_byte
            known = by_name.get(name)
            if known is None or pattern < known[0]:
                by_name[name] = pattern, _build_definition(role, nodes, source)
    return Captures(
        sorted((each for _, each in by_name.values()), key=lambda each: (each.start, -each.end)),
        sorted(spans["callee"].items()),
        sorted(spans["comment"].items()),
        sorted(spans["attached"].items()),
        sorted(spans["doc"].items()),
        [(start, module, list(names)) for (start, _), (module, names) in sorted(imports.items())],
    )


def _find_role(nodes: "dict[str, list[Node]]") -> str:
    for name in nodes:
        if name in _ROLES or name.startswith(("definition.", "symbol.")):
            return name
    return "nothing"


def _build_definition(role: str, nodes: "dict[str, list[Node]]", source: Source) -> Definition:
    node = nodes[role][0]
    prefix, _, kind = role.partition(".")
    owner = nodes.get("owner")
    bodies = nodes.get("body")
    body = bodies[0] if bodies else node.child_by_field_name("body")
    return Definition(
        kind,
        prefix == "definition",
        (node.start_byte, node.end_byte),
        _get_text(nodes["name"][0], source),
        _get_text(owner[0], source) if owner else "",
        -1 if body is None else body.start_byte,
    )


def _add_import(
    nodes: "dict[str, list[Node]]", source: Source, imports: dict[Span, tuple[str, dict[str, None]]]
) -> None:
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
