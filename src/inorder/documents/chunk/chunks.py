"""Chunks of a document: pure, from pieces to rows."""

import unicodedata
import uuid
from collections.abc import Sequence

import msgspec

from .pack import Row, pack
from .tokens import Count
from .units import Piece, joined, units

_NAMESPACE = uuid.UUID("7b8f3a52-6d0e-5f3c-9a41-0c2d6e1b9f10")
SCHEMA_VERSION = 1


class Chunk(msgspec.Struct, frozen=True, kw_only=True):
    """One row of a dataset of chunks."""

    chunk_id: str
    doc_id: str
    number: int
    """In the document, from 0."""
    text: str
    tokens: int
    start: int
    end: int
    """Characters of the document's text. What lies between them is the chunk's text, with white space around it."""
    section_path: list[str]
    """Titles of the sections in which it begins, the outermost first."""
    pages: list[int]
    refs: list[str]
    """The document items it is made of, or of parts of them."""


def chunks_of(doc_id: str, pieces: Sequence[Piece], count: Count, tokens_min: int, tokens_max: int) -> list[Chunk]:
    """All of them, in reading order. Every character of every piece is in exactly one, but for the space between.

    None has more than `tokens_max` tokens, by the tokenizer's own count of its text, unless it is a single character.
    """
    row = Row(joined(pieces), list(units(pieces, count, tokens_max)), count, tokens_max)
    return [_chunk(doc_id, number, pieces, row, *ends) for number, ends in enumerate(pack(row, tokens_min))]


def _chunk(doc_id: str, number: int, pieces: Sequence[Piece], row: Row, first: int, last: int) -> Chunk:
    group = row.units[first:last]
    start, end = group[0].start, group[-1].end
    text = row.text(first, last)
    parts = [pieces[each] for each in dict.fromkeys(unit.piece for unit in group)]
    return Chunk(
        chunk_id=chunk_id(doc_id, start, text),
        doc_id=doc_id,
        number=number,
        text=text,
        tokens=row.tokens(first, last),
        start=start,
        end=end,
        section_path=list(parts[0].path),
        pages=sorted({page for part in parts for page in part.pages}),
        refs=[part.ref for part in parts],
    )


def chunk_id(doc_id: str, start: int, text: str) -> str:
    """The same for the same text at the same place of the same document, however its characters are composed.

    Texts are the same if they are in NFKC. Places are the same if as many characters stand before them as written, so
    an accent that is written as a character of its own moves what comes after it.
    """
    normal = unicodedata.normalize("NFKC", text)
    return str(uuid.uuid5(_NAMESPACE, f"{doc_id}\x00{start}\x00{normal}"))
