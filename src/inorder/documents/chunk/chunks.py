"""Chunks of a document: pure, from pieces to rows."""

import unicodedata
import uuid
from collections.abc import Sequence

import msgspec

from .pack import pack, size
from .tokens import Count
from .units import Piece, Unit, joined, units

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
    """Characters of the document's text."""
    section_path: list[str]
    pages: list[int]
    refs: list[str]
    """The document items it is made of."""


def chunks_of(doc_id: str, pieces: Sequence[Piece], count: Count, tokens_min: int, tokens_max: int) -> list[Chunk]:
    """All of them, in reading order. Every character of every piece is in exactly one, but for the space between."""
    text = joined(pieces)
    groups = pack(list(units(pieces, count, tokens_max)), tokens_min, tokens_max)
    return [_chunk(doc_id, number, text, pieces, group) for number, group in enumerate(groups)]


def _chunk(doc_id: str, number: int, text: str, pieces: Sequence[Piece], group: Sequence[Unit]) -> Chunk:
    start, end = group[0].start, group[-1].end
    said = text[start:end].strip()
    numbers = sorted({unit.piece for unit in group})
    pages = sorted({page for page in (pieces[each].page for each in numbers) if page is not None})
    return Chunk(
        chunk_id=chunk_id(doc_id, start, said),
        doc_id=doc_id,
        number=number,
        text=said,
        tokens=size(group),
        start=start,
        end=end,
        section_path=list(pieces[numbers[0]].path),
        pages=pages,
        refs=[pieces[each].ref for each in numbers],
    )


def chunk_id(doc_id: str, start: int, text: str) -> str:
    """The same for the same text at the same place of the same document, however it is encoded."""
    normal = unicodedata.normalize("NFKC", text)
    return str(uuid.uuid5(_NAMESPACE, f"{doc_id}\x00{start}\x00{normal}"))
