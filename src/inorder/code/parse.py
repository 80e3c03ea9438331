"""From the bytes of one file to what is known of it. Pure: the same bytes and grammars give the same answer.

A file is parsed once, its tree is asked one query, and the answers are put in order (`captures`, `definitions`). Then
its lines are shared out among what is defined in it (`pieces`), and every share becomes a chunk. What has no grammar,
or is not worth parsing, is cut into lines, and the note says why.

A grammar may hang or bring down its process on a file made for it. Whoever calls this decides how long to wait, and
takes `parse_lines` afterwards.
"""

import re
from collections.abc import Sequence

from .captures import Captured, Definition, captured
from .definitions import nest, signatures, symbols
from .generated import LINE_BYTES_MAX
from .grammars import Grammar, grammar
from .languages import language_of
from .model import Call, Chunk, Import, Parsed
from .pieces import SMALL_LINES, Group, Piece, groups_of
from .source import Source
from .words import identifiers

PARSED_BYTES_MAX = 2_000_000
"""What is larger is data, and a second or more of parsing would say little about it."""
_MINIFIED_BYTES_MIN = 10_000
_TOO_DEEP_FOR_YAML = re.compile(rb"^ {200}", re.MULTILINE)
"""Its grammar brings down the process where blocks are nested about 256 deep."""
_HEAD_BYTES = 4096
_NAMES_MAX = 12
"""Of the definitions that a chunk is named after."""


def parse(path: str, data: bytes) -> Parsed:
    """Everything that is known of this file. Only the name counts of its path."""
    source = Source(data)
    language = language_of(path, source.data[:_HEAD_BYTES]) or ""
    loaded = _reason_not_to_parse(source, language) or grammar(language)
    if isinstance(loaded, str):
        return _lines(source, language, loaded)
    return _parsed(source, language, loaded)


def parse_lines(path: str, data: bytes, note: str) -> Parsed:
    """The file cut into lines, without a grammar, and this said about it."""
    source = Source(data)
    return _lines(source, language_of(path, source.data[:_HEAD_BYTES]) or "", note)


def _reason_not_to_parse(source: Source, language: str) -> str:
    size = len(source.data)
    if size > PARSED_BYTES_MAX:
        return f"cut into lines: larger than {PARSED_BYTES_MAX:,} bytes"
    if size > _MINIFIED_BYTES_MIN and size > LINE_BYTES_MAX * source.line_count:
        return "cut into lines: minified"
    if language == "yaml" and _TOO_DEEP_FOR_YAML.search(source.data):
        return "cut into lines: nested too deep"
    return ""


def _lines(source: Source, language: str, note: str) -> Parsed:
    chunks = tuple(_chunk(group, source, {}) for group in groups_of(source, (), None))
    notes = "; ".join(filter(None, (source.note, note)))
    return Parsed(language, source.line_count, source.encoding, False, notes, chunks, (), (), ())


def _parsed(source: Source, language: str, loaded: Grammar) -> Parsed:
    root = loaded.parser.parse(source.data).root_node
    found = captured(loaded.matches(root), loaded, source)
    nest(found, source)
    declared = signatures(found, source)
    by_definition = dict(zip(found.definitions, declared, strict=True))
    return Parsed(
        language,
        source.line_count,
        source.encoding,
        root.has_error,
        source.note,
        tuple(_chunk(group, source, by_definition) for group in groups_of(source, found.definitions, root)),
        symbols(found.definitions, declared),
        tuple(Import(module, tuple(names), source.line_of(start)) for start, module, names in found.imports),
        _calls(found, source),
    )


def _calls(found: Captured, source: Source) -> tuple[Call, ...]:
    """In order, each with the innermost definition around it."""
    definitions = [definition for definition in found.definitions if definition.has_chunk]
    starts, text = source.starts, source.text
    calls = []
    stack: list[Definition] = []
    upcoming, line = 0, 1
    caller, caller_end = "", 0
    for start, end in found.calls:
        while starts[line] <= start:
            line += 1
        while upcoming < len(definitions) and definitions[upcoming].start <= start:
            _leave(stack, definitions[upcoming].start)
            stack.append(definitions[upcoming])
            upcoming += 1
            caller_end = 0
        if start >= caller_end:
            _leave(stack, start)
            caller, caller_end = (stack[-1].qualified_name, stack[-1].end) if stack else ("", 0)
        calls.append(Call(caller, text(start, end), line, len(text(starts[line - 1], start)) + 1))
    return tuple(calls)


def _leave(stack: list[Definition], start: int) -> None:
    while stack and stack[-1].end <= start:
        stack.pop()


def _chunk(group: Group, source: Source, declared: dict[Definition, str]) -> Chunk:
    first, last = group[0].first, group[-1].last
    start, end = max(source.starts[first - 1], source.text_start), source.starts[last]
    text = source.text(start, end)
    return Chunk(*_identity(group, declared), first, last, start, end, text, identifiers(text))


def _identity(group: Group, declared: dict[Definition, str]) -> tuple[str, str, str, str, str]:
    """Kind, name, qualified name, signature and doc of the chunk that these pieces make."""
    largest = max(group, key=lambda piece: piece.line_count)
    defined = [piece.owner for piece in group if piece.owner is not None and piece.owner is not piece.home]
    owner = largest.owner
    if len(defined) == 1 and largest.line_count < SMALL_LINES:
        owner = defined[0]
    elif len(defined) > 1 and largest.line_count < SMALL_LINES:
        return _several(defined, group[0])
    if owner is None:
        return "lines", "", "", "", ""
    doc = owner.doc if any(piece.owner is owner and piece.first <= owner.line for piece in group) else ""
    return owner.kind, owner.name, owner.qualified_name, declared[owner], doc


def _several(defined: Sequence[Definition], piece: Piece) -> tuple[str, str, str, str, str]:
    names = ", ".join(definition.name for definition in defined[:_NAMES_MAX])
    return "definitions", names, piece.home.qualified_name if piece.home else "", "", ""
