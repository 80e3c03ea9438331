"""The definitions, imports and calls in the blocks of code of a document.

Each block is parsed by itself, or each part of one that several chunks share. Places are counted in characters of the
document's text, as those of its chunks are, where those of source code are lines.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

from inorder.code.grammars import BLOCK_LANGUAGES
from inorder.code.model import CallSite, ParsedFile
from inorder.code.parse import parse_block

from .rows import FileRows, ImportRow, SymbolRow

if TYPE_CHECKING:
    from inorder.documents.chunk.chunks import Chunk

_NAMES = {"c#": "csharp", "c++": "cpp", "cuda": "cpp"}
"""Languages that DocTags names in another way."""
_LINE_END = re.compile(r"\r\n|\r|\n")


def has_parsed_code(chunks: "Sequence[Chunk]") -> bool:
    """Whether a block is in a language whose definitions are known."""
    return any(_find_language(block.language) for chunk in chunks for block in chunk.code)


def add_code(rows: FileRows, chunks: "Sequence[Chunk]") -> None:
    """Add what is defined, imported and called in the blocks of code of these chunks."""
    for found, place in _parse_blocks(chunks):
        for each in found.symbols:
            start, end = place(each.start_line), place(each.end_line + 1)
            rows.symbols.append(SymbolRow(each.name, each.qualified_name, each.kind, start, end, each.signature))
        rows.imports += [ImportRow(each.module, ", ".join(each.names), place(each.line)) for each in found.imports]
        rows.calls += [CallSite(each.caller, each.callee, place(each.line), each.column) for each in found.calls]


def _find_language(name: str) -> str:
    """Our name of a language of DocTags; empty if it is not parsed in documents."""
    language = _NAMES.get(name.lower(), name.lower())
    return language if language in BLOCK_LANGUAGES else ""


def _parse_blocks(chunks: "Sequence[Chunk]") -> Iterator[tuple[ParsedFile, Callable[[int], int]]]:
    """What is in each block, and what finds the place of a line of it, counted from 1."""
    for chunk in chunks:
        for block in chunk.code:
            language = _find_language(block.language)
            text = chunk.text[block.start : block.end]
            found = parse_block(language, text) if language else None
            if found is not None:
                starts = [0, *(match.end() for match in _LINE_END.finditer(text)), len(text)]
                yield found, partial(_find_place, chunk.start + block.start, starts)


def _find_place(first: int, starts: Sequence[int], line: int) -> int:
    return first + starts[min(line, len(starts)) - 1]
