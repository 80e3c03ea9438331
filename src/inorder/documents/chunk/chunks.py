"""From the pieces of a document to its chunks. Pure."""

import unicodedata
import uuid
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from operator import itemgetter
from typing import TYPE_CHECKING, NamedTuple

import msgspec

if TYPE_CHECKING:
    from .pack import UnitSequence
    from .tokens import TokenCounter
    from .units import Piece

_START = itemgetter(2)
_ID_LENGTH = 36
_NAMESPACE = uuid.UUID("7b8f3a52-6d0e-5f3c-9a41-0c2d6e1b9f10")
SCHEMA_VERSION = 2
"""Version 1 had neither links nor code."""


class ChunkLink(NamedTuple):
    """A link in a chunk."""

    text: str
    target: str
    start: int
    """Where its text begins in the document's text."""


class ChunkCode(NamedTuple):
    """A block of code in a chunk, or the part of one."""

    language: str
    """As in the document: `Python`, `C++`."""
    start: int
    end: int
    """Where it is in the chunk's text."""


class Chunk(msgspec.Struct, frozen=True, kw_only=True):
    """A chunk of a document. It is one row of a table of chunks.

    >>> import inorder
    >>> def cite(chunk: inorder.dataset.Chunk) -> str:
    ...     return f"{chunk.doc_id}, {' > '.join(chunk.section_path)}, pages {chunk.pages}"
    """

    chunk_id: str
    doc_id: str
    number: int
    """Its number in the document, from 0."""
    text: str
    tokens: int
    start: int
    end: int
    """Range of characters in the document's text. It contains the chunk's text, and perhaps white space around it. The
    text of a chunk that begins within a table has the header of the table before it."""
    section_path: list[str]
    """Titles of the sections in which it begins, outermost first."""
    pages: list[int]
    refs: list[str]
    """References to the document items of which it contains all or a part."""
    links: list[ChunkLink] = []
    """The links in it: text, target, and where the text begins in the document's text. A target is no part of the text:
    it is neither searched nor embedded."""
    code: list[ChunkCode] = []
    """The blocks of code in it whose language is known."""


def build_chunks(
    doc_id: str, pieces: "Sequence[Piece]", count: "TokenCounter", tokens_min: int, tokens_max: int
) -> list[Chunk]:
    """The chunks of a document, in reading order. Every character of every piece is in exactly one chunk, except white
    space between chunks. A chunk that begins below the header of a table begins with that header, if it fits. No chunk
    has more than `tokens_max` tokens, unless it is a single character.
    """
    from .pack import UnitSequence, pack  # with patterns that take long to compile, which only a worker needs
    from .units import join_pieces, split_units

    units = UnitSequence(join_pieces(pieces), list(split_units(pieces, count, tokens_max)), count, tokens_max)
    links, code = list(_place_links(pieces)), list(_place_code(pieces))
    return [
        _build_chunk(doc_id, number, pieces, units, links, code, *ends)
        for number, ends in enumerate(pack(units, tokens_min))
    ]


def _place_links(pieces: "Sequence[Piece]") -> "Iterator[ChunkLink]":
    """All links, in the order of the text. One whose text is not found begins where the last one does."""
    from .units import GAP

    start = 0
    for piece in pieces:
        reached = begin = 0
        for text, target in piece.links:
            at = piece.text.find(text, reached)
            if at >= 0:
                begin, reached = at, at + len(text)
            yield ChunkLink(text, target, start + begin)
        start += len(piece.text) + len(GAP)


def _place_code(pieces: "Sequence[Piece]") -> "Iterator[ChunkCode]":
    """All blocks of code whose language is known, and where they are in the document's text."""
    from .units import GAP

    start = 0
    for piece in pieces:
        if piece.language:
            yield ChunkCode(piece.language, start, start + len(piece.text))
        start += len(piece.text) + len(GAP)


def _cut_code(code: list[ChunkCode], start: int, length: int) -> list[ChunkCode]:
    """The parts of these blocks that are in a text of this length, which begins here in the document's."""
    cut = [(each.language, max(0, each.start - start), min(length, each.end - start)) for each in code]
    return [ChunkCode(*each) for each in cut if each[1] < each[2]]


def _build_chunk(
    doc_id: str,
    number: int,
    pieces: "Sequence[Piece]",
    units: "UnitSequence",
    links: list[ChunkLink],
    code: list[ChunkCode],
    first: int,
    last: int,
) -> Chunk:
    group = units.units[first:last]
    start, end = group[0].start, group[-1].end
    text = units.text(first, last)
    text_start = units.find_text(first)
    parts = [pieces[each] for each in dict.fromkeys(unit.piece for unit in group)]
    return Chunk(
        chunk_id=derive_chunk_id(doc_id, start, text),
        doc_id=doc_id,
        number=number,
        text=text,
        tokens=units.tokens(first, last),
        start=start,
        end=end,
        section_path=list(parts[0].path),
        pages=sorted({page for part in parts for page in part.pages}),
        refs=[part.ref for part in parts],
        links=links[bisect_left(links, start, key=_START) : bisect_left(links, end, key=_START)] if links else [],
        code=_cut_code(code, text_start, len(text)) if code else [],
    )


def derive_chunk_id(doc_id: str, start: int, text: str) -> str:
    """The id of a chunk: the same for the same text at the same offset of the same document.

    Texts are compared in NFKC. Offsets count characters as written, so the id of a chunk depends on how accents before
    it are encoded.
    """
    normal = unicodedata.normalize("NFKC", text)
    return str(uuid.uuid5(_NAMESPACE, f"{doc_id}\x00{start}\x00{normal}"))


def pack_chunk_id(chunk_id: str) -> bytes:
    """The 16 bytes of a chunk id."""
    return bytes.fromhex(chunk_id.replace("-", "")) if len(chunk_id) == _ID_LENGTH else uuid.UUID(chunk_id).bytes


def format_chunk_id(packed: bytes) -> str:
    """The inverse of `pack_chunk_id`. A third of the time of `uuid.UUID`."""
    digits = packed.hex()
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"
