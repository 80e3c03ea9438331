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
from .matches import Match, Nodes, Role, Span, sort_matches
from .source import Source

if TYPE_CHECKING:
    from tree_sitter import Node

_QUOTES = "\"'`<>"
_ROLES = ("callee", "comment", "attached", "import", "doc")


class Captures(NamedTuple):
    """The captures of a file by kind, each in the order of the file."""

    calls: list[Span]
    comments: list[Span]
    attached: list[Span]
    docs: list[Span]
    imports: list[tuple[int, str, list[str]]]
    """Start of the statement, module, and imported names."""
    definitions: list[Match]
    """In the order in which they were found."""


def collect_captures(matches: list[Match], grammar: Grammar, source: Source) -> Captures:
    """Sort the matches of a query by kind."""
    found = sort_matches(matches, grammar.roles, _find_role)
    imports: dict[Span, tuple[str, dict[str, None]]] = {}
    for _, nodes in found.imports:
        _add_import(nodes, source, imports)
    statements = [(start, module, list(names)) for (start, _), (module, names) in sorted(imports.items())]
    return Captures(found.calls, found.comments, found.attached, found.docs, statements, found.definitions)


def _find_role(nodes: Nodes) -> Role:
    """The main capture of a pattern, the kind of its definitions, and whether they have chunks."""
    for name in nodes:
        if name in _ROLES or name.startswith(("definition.", "symbol.")):
            prefix, _, kind = name.partition(".")
            return name, kind, prefix == "definition"
    return "nothing", "", False


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
