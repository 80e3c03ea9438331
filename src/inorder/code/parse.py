"""Parse one file of source code. Pure: the same bytes and grammars give the same result.

The file is parsed once, and one query is run on its tree. The matches become definitions (`captures`, `definitions`).
Then the lines of the file are divided among the definitions (`pieces`), and every share becomes a chunk. A file that
has no grammar, or should not be parsed, is split by lines, and the note gives the reason.

A grammar may hang or crash on certain files. The caller must run `parse` with a timeout, in a process that
may die, and can call `parse_lines` instead.
"""

import re

from .calls import find_calls
from .captures import build_imports, collect_captures
from .definitions import build_symbols, find_definitions
from .generated import LINE_BYTES_MAX
from .grammars import Grammar, load_grammar
from .languages import language_of
from .model import CodeChunk, ParsedFile
from .pieces import LineGroup, group_lines
from .scripts import COMPONENTS, Script, find_script
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
    script = (find_script(source.data) if language in COMPONENTS else None) or Script(language, source.data)
    loaded = _find_reason_not_to_parse(source, language) or load_grammar(script.language)
    if isinstance(loaded, str):
        return _split_lines(source, language, loaded)
    return _parse_tree(source, language, loaded, script.data)


def parse_block(language: str, text: str) -> ParsedFile | None:
    """Parse a block of code in a document. None if the language has no grammar, or the block is too large."""
    loaded = load_grammar(language)
    source = Source(text.encode("utf-8", "replace"))
    if isinstance(loaded, str) or _find_reason_not_to_parse(source, language):
        return None
    return _parse_tree(source, language, loaded, source.data)


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
    chunks = tuple(_build_chunk(group, source) for group in group_lines(source, [], None))
    notes = "; ".join(filter(None, (source.note, note)))
    return ParsedFile(language, source.line_count, notes, chunks, (), (), [])


def _parse_tree(source: Source, language: str, loaded: Grammar, data: bytes) -> ParsedFile:
    """Parse these bytes, which are those of the source or a part of them at the same place."""
    root = loaded.parser.parse(data).root_node
    found = collect_captures(loaded.find_matches(root), loaded)
    definitions = find_definitions(found, loaded, source)
    return ParsedFile(
        language,
        source.line_count,
        source.note,
        tuple(_build_chunk(group, source) for group in group_lines(source, definitions, root)),
        build_symbols(definitions),
        build_imports(found.imports, source),
        find_calls(found.calls, definitions, source),
    )


def _build_chunk(group: LineGroup, source: Source) -> CodeChunk:
    first, last, owner, several, parent = group
    text = source.text(max(source.starts[first - 1], source.text_start), source.starts[last])
    if several:
        names = ", ".join([definition.name for definition in several[:_NAMES_MAX]])
        outer = parent.qualified_name if parent else ""
        return CodeChunk("definitions", names, outer, first, last, text)
    if owner is None:
        return CodeChunk("lines", "", "", first, last, text)
    return CodeChunk(owner.kind, owner.name, owner.qualified_name, first, last, text)
