"""From the answers of a query to what they say of a file. The same for every language; the queries know the rest.

@definition.KIND   something that is defined, as large as it is; gets a chunk
@symbol.KIND       something that has a name, but is too small for a chunk
  @name            what it is called; the first pattern of a query file that claims a name has it
  @owner           what it belongs to, where that is not what it lies in
  @body            where its signature ends, where that is not at the field called `body`
@doc               a text within a definition that says what it is for
@comment           one, wherever it stands; right above a definition it belongs to it
@attached          what belongs to the definition right below, such as a decorator
@import            a statement that takes something from elsewhere
  @source          from where
  @imported        what
@callee            a name in the place where it is called
"""

from typing import TYPE_CHECKING, NamedTuple

from .grammars import Grammar
from .source import Source

if TYPE_CHECKING:
    from tree_sitter import Node

Matches = list[tuple[int, "dict[str, list[Node]]"]]
Span = tuple[int, int]
"""Start and end, in bytes."""
_QUOTES = "\"'`<>"
_ROLES = ("callee", "comment", "attached", "import", "doc")


class Definition:
    """Something with a name, and what it lies in."""

    __slots__ = (
        "above", "body", "depth", "doc", "end", "has_chunk", "kind", "last_line", "line", "name", "owner", "parent",
        "qualified_name", "start",
    )  # fmt: skip

    def __init__(self, kind: str, has_chunk: bool, span: Span, name: str, owner: str, body: int) -> None:
        self.kind = kind
        self.has_chunk = has_chunk
        self.start, self.end = span
        self.name = name
        self.owner = owner
        self.body = body
        """Where its signature ends; -1 where that is not known."""
        self.parent: Definition | None = None
        self.depth = 0
        self.qualified_name = name
        self.line = self.last_line = self.above = 0
        """Its own lines, and the first of what stands right above and belongs to it."""
        self.doc = ""


class Captured(NamedTuple):
    """All answers, by what they are about, each in the order of the file."""

    definitions: list[Definition]
    calls: list[Span]
    comments: list[Span]
    attached: list[Span]
    docs: list[Span]
    imports: list[tuple[int, str, list[str]]]
    """Where the statement begins, the module, and the names."""


def captured(matches: Matches, grammar: Grammar, source: Source) -> Captured:
    """What these matches say."""
    roles = grammar.roles
    named: dict[int, tuple[int, Definition]] = {}
    spans: dict[str, dict[int, int]] = {"callee": {}, "comment": {}, "attached": {}, "doc": {}}
    imports: dict[Span, tuple[str, dict[str, None]]] = {}
    for pattern, nodes in matches:
        role = roles.get(pattern) or roles.setdefault(pattern, _role(nodes))
        if role in spans:
            node = nodes[role][0]
            spans[role][node.start_byte] = node.end_byte
        elif role == "import":
            _add_import(nodes, source, imports)
        elif "name" in nodes:
            name = nodes["name"][0].start_byte
            known = named.get(name)
            if known is None or pattern < known[0]:
                named[name] = pattern, _definition(role, nodes, source)
    return Captured(
        sorted((found for _, found in named.values()), key=lambda found: (found.start, -found.end)),
        sorted(spans["callee"].items()),
        sorted(spans["comment"].items()),
        sorted(spans["attached"].items()),
        sorted(spans["doc"].items()),
        [(start, module, list(names)) for (start, _), (module, names) in sorted(imports.items())],
    )


def _role(nodes: "dict[str, list[Node]]") -> str:
    for name in nodes:
        if name in _ROLES or name.startswith(("definition.", "symbol.")):
            return name
    return "nothing"


def _definition(role: str, nodes: "dict[str, list[Node]]", source: Source) -> Definition:
    node = nodes[role][0]
    place, _, kind = role.partition(".")
    owner = nodes.get("owner")
    bodies = nodes.get("body")
    body = bodies[0] if bodies else node.child_by_field_name("body")
    return Definition(
        kind,
        place == "definition",
        (node.start_byte, node.end_byte),
        _text(nodes["name"][0], source),
        _text(owner[0], source) if owner else "",
        -1 if body is None else body.start_byte,
    )


def _add_import(
    nodes: "dict[str, list[Node]]", source: Source, imports: dict[Span, tuple[str, dict[str, None]]]
) -> None:
    if "source" not in nodes:
        return
    modules = nodes["source"]
    place = nodes["import"][0].start_byte, modules[0].start_byte
    if place not in imports:
        module = source.text(modules[0].start_byte, modules[-1].end_byte)
        imports[place] = " ".join(module.split()).strip(_QUOTES), {}
    for name in nodes.get("imported", ()):
        imports[place][1][_text(name, source)] = None


def _text(node: "Node", source: Source) -> str:
    return source.text(node.start_byte, node.end_byte)
