"""What must hold for the chunks of any document and any tokenizer."""

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from inorder.documents.chunk.chunks import Chunk, build_chunks
from inorder.documents.chunk.tokens import TokenCounter
from inorder.documents.chunk.units import Piece, join_pieces

LETTERS = (
    "e\u0301",
    "\U0001f469\u200d\U0001f469\u200d\U0001f467",
    "\U0001f44d\U0001f3fd",
    "\u0e01\u0e33",
    "\u0915\u094d\u0937\u093f",
)
"""Each is one letter to a reader, and several characters."""


def pieces_from(*texts: str | tuple[str, str]) -> list[Piece]:
    """Running text, or kind and text."""
    said = [("text", text) if isinstance(text, str) else text for text in texts]
    return [Piece(text, kind, f"#/texts/{number}") for number, (kind, text) in enumerate(said)]


def checked(pieces: Sequence[Piece], count: TokenCounter, tokens_min: int, tokens_max: int) -> list[Chunk]:
    """The chunks, after checking what must hold for all."""
    chunks = build_chunks("tale", pieces, count, tokens_min, tokens_max)
    assert_complete(pieces, chunks)
    for chunk in chunks:
        assert chunk.tokens == count(chunk.text)
        assert chunk.tokens <= tokens_max or len(chunk.text) == 1
    return chunks


def assert_complete(pieces: Sequence[Piece], chunks: Sequence[Chunk]) -> None:
    """Every character is in exactly one chunk, in order, but for the space between."""
    text = join_pieces(pieces)
    reached = 0
    for number, chunk in enumerate(chunks):
        assert chunk.number == number
        assert chunk.start >= reached
        assert not text[reached : chunk.start].strip()
        own = text[chunk.start : chunk.end].strip()
        assert own
        header = chunk.text.removesuffix(own)
        assert header in ("", *find_headers(pieces, chunk.start))
        reached = chunk.end
    assert not text[reached:].strip()


def find_headers(pieces: Sequence[Piece], at: int) -> Iterator[str]:
    """The header of the table in which this place is, if it is below it."""
    start = 0
    for piece in pieces:
        if start + piece.header <= at < start + len(piece.text) and piece.header:
            yield piece.text[: piece.header]
        start += len(piece.text) + 2


def assert_whole(stretches: Iterator[tuple[int, int]], text: str, chunks: Sequence[Chunk]) -> None:
    """None of these is cut."""
    cuts = {after.start for _, after in pairwise(chunks)}
    for start, end in stretches:
        assert not any(cut in cuts for cut in range(start + 1, end)), text[start:end]


def lines(pieces: Sequence[Piece], count: TokenCounter, tokens_max: int) -> Iterator[tuple[int, int]]:
    """The rows of tables and the lines of code that fit."""
    start = 0
    for piece in pieces:
        if piece.kind in ("table", "code"):
            yield from _fitting(r"[^\n]+", piece.text, start, count, tokens_max)
        start += len(piece.text) + 2


def words(text: str, count: TokenCounter, tokens_max: int) -> Iterator[tuple[int, int]]:
    """The words that fit, of scripts that write spaces."""
    return _fitting(r"(?<!\S)[^\s\u0e00-\u0eff\u3000-\u9fff\uff00-\uffff]+(?!\S)", text, 0, count, tokens_max)


def letters(text: str, count: TokenCounter, tokens_max: int) -> Iterator[tuple[int, int]]:
    """The letters of several characters that fit."""
    return _fitting("|".join(LETTERS), text, 0, count, tokens_max)


def _fitting(what: str, text: str, start: int, count: TokenCounter, tokens_max: int) -> Iterator[tuple[int, int]]:
    for found in re.finditer(what, text):
        if count(found.group().strip()) <= tokens_max:
            yield start + found.start(), start + found.end()
