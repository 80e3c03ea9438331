"""The step `index`: from one file to the rows that it owns. Pure: the same input gives the same rows, whether or not
there are vectors."""

import hashlib
import re
import uuid
from collections.abc import Sequence
from typing import TYPE_CHECKING

from .lexical.languages import detect_language
from .lexical.schema import ANALYSIS_VERSION
from .rows import CODE, DOCUMENT, LANGUAGE_CHUNKS, ChunkRow, FileRows, ImportRow, SymbolRow

if TYPE_CHECKING:
    from inorder.documents.chunk.chunks import Chunk

NAME = "index"
VERSION = 4
"""To be raised whenever the same file gets other rows."""
WITHOUT_GRAMMAR = "its grammar crashed or took too long: cut by lines"
WITHOUT_CODE = "the definitions in its code are not known: a grammar crashed or took too long"
_NAMESPACE = uuid.UUID("0f4c8d0e-3c57-5a4e-8a1f-5e9b6f0d2c11")
"""The digit of a UUID that has two bits of the hash, by the digit of the hash."""
_WORD = re.compile(r"[^\W_]+")


def settings_of(kind: str, language: str = "") -> dict[str, str]:
    """Return what the rows of a file depend on besides its content: the version of each part. `kind` is `DOCUMENT`, or
    `CODE` in a programming language; empty: in an unknown one."""
    from inorder.code.grammars import BLOCK_LANGUAGES, grammar_version

    found = {"kind": kind, "analysis": str(ANALYSIS_VERSION)}
    if kind == CODE:
        return {**found, "grammar": grammar_version(language)}
    versions = "\n".join(map(grammar_version, BLOCK_LANGUAGES))
    return {**found, "grammars": hashlib.sha256(versions.encode()).hexdigest()[:12]}


def make_document_rows(item_id: str, chunks: "Sequence[Chunk]", *, uses_grammar: bool = True) -> FileRows:
    """Return the rows of a document, from its chunks. Without grammars, what is defined in its code is not known."""
    rows = FileRows(
        item_id=item_id,
        kind=DOCUMENT,
        language=detect_language("\n".join(chunk.text for chunk in chunks[:LANGUAGE_CHUNKS])),
        lines=0,
        note="",
        chunks=[
            ChunkRow(
                chunk_id=chunk.chunk_id,
                kind="section",
                name="",
                context=" > ".join([*chunk.section_path, _split_path(item_id)]),
                start=chunk.start,
                end=chunk.end,
                pages=" ".join(str(page) for page in chunk.pages),
                text=chunk.text,
            )
            for chunk in chunks
        ],
    )
    if any(chunk.code for chunk in chunks):
        from .document_code import add_code, has_parsed_code  # with what parses code

        if uses_grammar:
            add_code(rows, chunks)
        elif has_parsed_code(chunks):
            rows.note = WITHOUT_CODE
    return rows


def make_code_rows(item_id: str, path: str, data: bytes, *, uses_grammar: bool = True) -> FileRows:
    """Return the rows of a source file. `path` is the file on disk: its name tells the language.
    Without its grammar, a file is split by lines: for files whose grammar crashed or took too long."""
    from inorder.code.parse import parse, parse_lines

    parsed = parse(path, data) if uses_grammar else parse_lines(path, data, WITHOUT_GRAMMAR)
    path_words = _split_path(item_id)
    return FileRows(
        item_id=item_id,
        kind=CODE,
        language=parsed.language or "",
        lines=parsed.line_count,
        note=parsed.note,
        chunks=[
            ChunkRow(
                chunk_id=derive_chunk_id(item_id, chunk.start_line, chunk.text),
                kind=chunk.kind,
                name=chunk.qualified_name or chunk.name,
                context=path_words,
                start=chunk.start_line,
                end=chunk.end_line,
                pages="",
                text=chunk.text,
            )
            for chunk in parsed.chunks
        ],
        symbols=[
            SymbolRow(each.name, each.qualified_name, each.kind, each.start_line, each.end_line, each.signature)
            for each in parsed.symbols
        ],
        imports=[ImportRow(each.module, ", ".join(each.names), each.line) for each in parsed.imports],
        calls=parsed.calls,
    )


def derive_chunk_id(item_id: str, line: int, text: str) -> str:
    """Return a stable id of a chunk of code: the UUID of its file, its line and its text."""
    return str(uuid.uuid5(_NAMESPACE, f"{item_id}\0{line}\0{text}"))


def _split_path(path: str) -> str:
    """The words of a path, so that a search for its name finds the file."""
    return " ".join(_WORD.findall(path))
