"""Parse one file of source code. Pure: the same bytes and grammars give the same result.

The file is parsed once, and one query is run on its tree. The matches become definitions (`captures`, `definitions`).
Then the lines of the file are divided among the definitions (`pieces`), and every share becomes a chunk. A file that
has no grammar, or should not be parsed, is split by lines, and the note gives the reason.

A grammar may hang or crash on certain files. The caller must run `parse` with a timeout, in a process that
may die, and can call `parse_lines` instead.
"""

import re
from collections.abc import Sequence

from .captures import Captures, Definition, collect_captures
from .definitions import build_signatures, build_symbols, nest
from .generated import LINE_BYTES_MAX
from .grammars import Grammar, load_grammar
from .languages import language_of
from .model import CallSite, CodeChunk, Import, ParsedFile
from .pieces import SMALL_LINES, CodePiece, PieceGroup, group_lines
from .source import Source

PARSED_BYTES_MAX = 2_000_000
"""A larger file is data. Parsing it takes a second or more and finds little."""
_MINIFIED_BYTES_MIN = 10_000
_TOO_DEEP_FOR_YAML = re.compile(rb"^ {200}", re.MULTILINE)
"""The YAML grammar crashes if blocks are nested about 256 deep."""
_HEAD_BYTES = 4096
_NAMES_MAX = 12
"""Limit for the names in the name of a chunk with several definitions."""


def parse(path: str, data: bytes) -> ParsedFile:
    """Parse a file. Of its path, only the file name matters."""
    source = Source(data)
    language = language_of(path, source.data[:_HEAD_BYTES]) or ""
    loaded = _find_reason_not_to_parse(source, language) or load_grammar(language)
    if isinstance(loaded, str):
        return _split_lines(source, language, loaded)
    return _parse_tree(source, language, loaded)


def parse_lines(path: str, data: bytes, note: str) -> ParsedFile:
    """Split a file by lines, without a grammar. `note` gives the reason."""
    source = Source(data)
    return _split_lines(source, language_of(path, source.data[:_HEAD_BYTES]) or "", note)


def _find_reason_not_to_parse(source: Source, language: str) -> str:
    size = len(source.data)
    if size > PARSED_BYTES_MAX:
        return f"cut into lines: larger than {PARSED_BYTES_MAX:,} bytes"
    if size > _MINIFIED_BYTES_MIN and size > LINE_BYTES_MAX * source.line_count:
        return "cut into lines: minified"
    if language == "yaml" and _TOO_DEEP_FOR_YAML.search(source.data):
        return "cut into lines: nested too deep"
    return ""


def _split_lines(source: Source, language: str, note: str) -> ParsedFile:
    chunks = tuple(_build_chunk(group, source, {}) for group in group_lines(source, (), None))
    notes = "; ".join(filter(None, (source.note, note)))
    return ParsedFile(language, source.line_count, source.encoding, False, notes, chunks, (), (), ())


def _parse_tree(source: Source, language: str, loaded: Grammar) -> ParsedFile:
    root = loaded.parser.parse(source.data).root_node
    found = collect_captures(loaded.find_matches(root), loaded, source)
    nest(found, source)
    signatures = build_signatures(found, source)
    signature_of = dict(zip(found.definitions, signatures, strict=True))
    return ParsedFile(
        language,
        source.line_count,
        source.encoding,
        root.has_error,
        source.note,
        tuple(_build_chunk(group, source, signature_of) for group in group_lines(source, found.definitions, root)),
        build_symbols(found.definitions, signatures),
        tuple(Import(module, tuple(names), source.line_of(start)) for start, module, names in found.imports),
        _locate_calls(found, source),
    )


def _locate_calls(captures: Captures, source: Source) -> tuple[CallSite, ...]:
    """The calls in order, each with the innermost definition that encloses it."""
    definitions = [definition for definition in captures.definitions if definition.has_chunk]
    openings = [*(definition.start for definition in definitions), len(source.data) + 1]
    starts, text, ascii_text = source.starts, source.text, source.ascii_text
    calls = []
    stack: list[Definition] = []
    upcoming, line = 0, 1
    caller, caller_end = "", 0
    for start, end in captures.calls:
        while starts[line] <= start:
            line += 1
        while openings[upcoming] <= start:
            _pop_ended(stack, openings[upcoming])
            stack.append(definitions[upcoming])
            upcoming += 1
            caller_end = 0
        if start >= caller_end:
            _pop_ended(stack, start)
            caller, caller_end = (stack[-1].qualified_name, stack[-1].end) if stack else ("", 0)
        first = starts[line - 1]
        if ascii_text is None:
            calls.append(CallSite(caller, text(start, end), line, len(text(first, start)) + 1))
        else:  # there are many calls: this saves two slices of the text and two function calls for each
            calls.append(CallSite(caller, ascii_text[start:end], line, start - first + 1))
    return tuple(calls)


def _pop_ended(stack: list[Definition], start: int) -> None:
    while stack and stack[-1].end <= start:
        stack.pop()


def _build_chunk(group: PieceGroup, source: Source, signature_of: dict[Definition, str]) -> CodeChunk:
    first, last = group[0].first, group[-1].last
    start, end = max(source.starts[first - 1], source.text_start), source.starts[last]
    text = source.text(start, end)
    return CodeChunk(*_describe(group, signature_of), first, last, start, end, text)


def _describe(group: PieceGroup, signature_of: dict[Definition, str]) -> tuple[str, str, str, str, str]:
    """Kind, name, qualified name, signature and documentation of the chunk that consists of these pieces."""
    if len(group) == 1:
        [(first, _, owner, _)] = group
        if owner is None:
            return "lines", "", "", "", ""
        doc = owner.doc if first <= owner.line else ""
        return owner.kind, owner.name, owner.qualified_name, signature_of[owner], doc
    largest = max(group, key=lambda piece: piece.line_count)
    defined = [piece.owner for piece in group if piece.owner is not None and piece.owner is not piece.parent]
    owner = largest.owner
    if len(defined) == 1 and largest.line_count < SMALL_LINES:
        owner = defined[0]
    elif len(defined) > 1 and largest.line_count < SMALL_LINES:
        return _describe_several(defined, group[0])
    if owner is None:
        return "lines", "", "", "", ""
    doc = owner.doc if any(piece.owner is owner and piece.first <= owner.line for piece in group) else ""
    return owner.kind, owner.name, owner.qualified_name, signature_of[owner], doc


def _describe_several(defined: Sequence[Definition], piece: CodePiece) -> tuple[str, str, str, str, str]:
    names = ", ".join(definition.name for definition in defined[:_NAMES_MAX])
    return "definitions", names, piece.parent.qualified_name if piece.parent else "", "", ""
