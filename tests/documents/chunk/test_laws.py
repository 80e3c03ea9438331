"""Chunks of documents of any shape: complete, in order, never too large, and cut where it hurts least."""

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inorder.documents.chunk.chunks import Chunk
from inorder.documents.chunk.tokens import TokenCounter, count_words
from inorder.documents.chunk.units import Piece, Unit, join_pieces, split_units
from tests.documents.chunk.laws import LETTERS, assert_whole, checked, letters, lines, pieces_from, words

pytestmark = pytest.mark.req("DOC-2")

WORDS = [
    "a",
    "lamp",
    "keeper's",
    "dusk,",
    "hour.",
    "Why?",
    "snake_case_name",
    "3.14,15-92/65",
    "\u706f\u53f0\u770b\u5b88\u4eba\u3002\u9ec4\u660f",
    "\ud55c\uad6d\uc5b4",
    "\U0001f1e9\U0001f1ea\U0001f1eb\U0001f1f7",
    "x" * 30,
    "\n",
    "\t",
    *LETTERS,
]
KINDS = ["text", "text", "heading", "list", "table", "code"]
texts = st.builds(
    lambda said, gap: gap.join(said),
    st.lists(st.sampled_from(WORDS), max_size=4) | st.lists(st.sampled_from(WORDS), max_size=40),
    st.sampled_from([" ", ""]),
)


def add_headers(pieces: list[Piece]) -> list[Piece]:
    """The first line of every second table is its header."""
    return [
        piece._replace(header=piece.text.find("\n") + 1) if piece.kind == "table" and number % 2 else piece
        for number, piece in enumerate(pieces)
    ]


documents = st.lists(st.tuples(st.sampled_from(KINDS), texts), max_size=12).map(
    lambda said: add_headers(pieces_from(*said))
)
sizes = st.integers(1, 60).flatmap(lambda most: st.tuples(st.integers(0, most), st.just(most)))


def count_with_gaps(text: str) -> int:
    """As models do that have tokens for the space between: more in a text than in its parts."""
    return len(text) + 3 * text.count("\n") + 2 * text.count(" ")


@pytest.mark.slow
@settings(max_examples=120)
@given(documents, sizes, st.sampled_from([count_words, count_with_gaps, len]))
def test_every_character_is_in_one_chunk_and_none_is_too_large(
    pieces: list[Piece], size: tuple[int, int], count: TokenCounter
) -> None:
    checked(pieces, count, *size)


@pytest.mark.slow
@settings(max_examples=120)
@given(documents, sizes, st.sampled_from([count_words, len]))
def test_rows_and_lines_and_words_and_letters_that_fit_are_not_cut(
    pieces: list[Piece], size: tuple[int, int], count: TokenCounter
) -> None:
    chunks = checked(pieces, count, *size)
    text = join_pieces(pieces)
    assert_whole(lines(pieces, count, size[1]), text, chunks)
    assert_whole(words(text, count, size[1]), text, chunks)
    assert_whole(letters(text, count, size[1]), text, chunks)


@pytest.mark.slow
@settings(max_examples=120)
@given(documents, sizes)
def test_what_is_too_small_has_neighbours_that_are_full(pieces: list[Piece], size: tuple[int, int]) -> None:
    tokens_min, tokens_max = size
    text = join_pieces(pieces)
    for before, after in pairwise(checked(pieces, count_words, *size)):
        if min(before.tokens, after.tokens) < tokens_min:
            header = before.text.removesuffix(text[before.start : before.end].strip())
            assert count_words(header + text[before.start : after.end]) > tokens_max


@pytest.mark.slow
@settings(max_examples=120)
@given(documents, sizes)
def test_a_heading_ends_a_chunk_only_where_it_does_not_fit_with_what_follows(
    pieces: list[Piece], size: tuple[int, int]
) -> None:
    parts = list(split_units(pieces, count_words, size[1]))
    for chunk in checked(pieces, count_words, *size)[:-1]:
        inside = [part for part in parts if chunk.start <= part.start < chunk.end]
        if inside[-1].is_heading and not all(part.is_heading for part in inside):
            assert tokens_to_the_next_text(inside[-1], parts, chunk) > size[1]


def tokens_to_the_next_text(heading: Unit, parts: list[Unit], chunk: Chunk) -> int:
    """Of the heading, the headings that follow it, and the first thing that is none."""
    total = heading.tokens
    for part in parts:
        if part.start >= chunk.end:
            total += part.tokens
            if not part.is_heading:
                break
    return total


@pytest.mark.slow
@given(documents, sizes)
def test_refs_are_those_of_the_pieces_that_a_chunk_has_a_part_of(pieces: list[Piece], size: tuple[int, int]) -> None:
    places = []
    start = 0
    for piece in pieces:
        places.append((start, start + len(piece.text), piece.ref))
        start += len(piece.text) + 2
    text = join_pieces(pieces)
    for chunk in checked(pieces, count_words, *size):
        assert chunk.refs == [
            ref for first, last, ref in places if text[max(first, chunk.start) : min(last, chunk.end)].strip()
        ]
