"""Interpret the matches of a tree-sitter query. This code is the same for all languages; each has its own queries.

A query may use these captures:

@definition.KIND   a definition, all of it; it gets a chunk
@symbol.KIND       something that has a name, but is too small for a chunk
  @name            its name; if several patterns match the same name, the first in the query file wins
  @owner           what it belongs to, if that is not the enclosing definition
  @body            where its signature ends, if that is not the field `body`
@comment           a comment; one directly above a definition belongs to it
@attached          what belongs to the definition directly below, such as a decorator
@import            an import statement
  @source          the module
  @imported        an imported name
@callee            the name of what is called, at the place of the call
"""

from typing import TYPE_CHECKING

from .grammars import Grammar
from .matches import Match, Nodes, Role, SortedMatches, Span, sort_matches
from .model import Import
from .source import Source

if TYPE_CHECKING:
    from tree_sitter import Node

_QUOTES = "\"'`<>"
_ROLES = ("callee", "comment", "attached", "import")


def collect_captures(matches: list[Match], grammar: Grammar) -> SortedMatches:
    """Sort the matches of a query by kind."""
    return sort_matches(matches, grammar.roles, _find_role)


def build_imports(matches: list[Match], source: Source) -> tuple[Import, ...]:
    """The import statements of a file, in its order."""
    imports: dict[Span, tuple[str, dict[str, None]]] = {}
    for _, nodes in matches:
        _add_import(nodes, source, imports)
    found = sorted(imports.items())
    return tuple(Import(module, tuple(names), source.line_of(start)) for (start, _), (module, names) in found)


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
