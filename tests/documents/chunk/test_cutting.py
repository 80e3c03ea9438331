"""Where a document is cut, situation by situation."""

import pytest

from inorder.documents.chunk.chunks import build_chunks
from inorder.documents.chunk.tokens import count_words
from inorder.documents.chunk.units import Piece
from tests.documents.chunk.laws import LETTERS, checked, pieces_from

pytestmark = pytest.mark.req("DOC-2")


def texts(pieces: list[Piece], tokens_max: int, tokens_min: int = 0) -> list[str]:
    return [chunk.text for chunk in checked(pieces, count_words, tokens_min, tokens_max)]


def said(tokens: int, word: str = "so") -> str:
    return " ".join([word] * tokens)


def test_a_paragraph_that_does_not_fit_is_cut_after_sentences() -> None:
    tale = 'He sleeps. "Why?" she asks. (It is late.) Then dawn...  Lamp out!'
    assert texts(pieces_from(tale), 9) == ['He sleeps. "Why?"', "she asks. (It is late.)", "Then dawn...  Lamp out!"]


@pytest.mark.parametrize(
    "tale",
    [
        "It burns, e.g. whale oil.",
        "The glass of Fig. 3 broke.",
        "Under George III. it burned.",
        "So says J. Smith of Eq. (4).",
        "As in Smith et al. of old.",
        "Man nimmt z.B. Tran dazu.",
    ],
)
def test_a_sentence_does_not_end_after_an_abbreviation_an_initial_or_a_roman_number(tale: str) -> None:
    [first, *rest] = texts(pieces_from(f"{tale} Then all was dark in the tower of the old harbour."), 13)
    assert first == tale
    assert rest


def test_a_word_that_only_looks_like_a_roman_number_ends_its_sentence() -> None:
    assert texts(pieces_from("He was civil. She was not so."), 5) == ["He was civil.", "She was not so."]


def test_sentences_without_spaces_keep_their_closing_quotes() -> None:
    tale = "\u300c\u706f\u53f0\u3002\u300d\u9ec4\u660f\uff01\u4e66\u3002"
    assert texts(pieces_from(tale), 5) == [
        "\u300c\u706f\u53f0\u3002\u300d",
        "\u9ec4\u660f\uff01\u4e66\u3002",
    ]


def test_a_sentence_that_does_not_fit_is_cut_between_words() -> None:
    assert texts(pieces_from("one two three's four five"), 4) == ["one two", "three's four", "five"]


def test_a_word_that_does_not_fit_is_cut_beside_its_marks() -> None:
    assert texts(pieces_from("alpha.beta.gamma_delta"), 2) == ["alpha.", "beta.", "gamma_", "delta"]


def test_words_of_scripts_that_write_spaces_are_not_cut_though_they_look_like_others() -> None:
    assert texts(pieces_from("\ud55c\uad6d\uc5b4 \uc0ac\ub78c\uc774 \uc624\ub2e4"), 2) == [
        "\ud55c\uad6d\uc5b4 \uc0ac\ub78c\uc774",
        "\uc624\ub2e4",
    ]


@pytest.mark.parametrize("letter", LETTERS)
def test_a_letter_of_several_characters_is_cut_only_where_it_alone_is_too_large(letter: str) -> None:
    text = letter * 20
    size = count_words(letter)
    assert {len(chunk) % len(letter) for chunk in texts(pieces_from(text), size + 1)} == {0}
    assert "".join(texts(pieces_from(text), max(1, size - 1))) == text


def test_flags_are_not_cut_in_half() -> None:
    flags = "\U0001f1e9\U0001f1ea\U0001f1eb\U0001f1f7"
    assert texts(pieces_from(flags * 5), 5) == [flags] * 5


def test_rows_and_lines_stay_whole_and_a_line_that_does_not_fit_is_cut_by_itself() -> None:
    rows = "lamp | 1\ndusk | 2\nhour | 3"
    assert texts(pieces_from(("table", rows)), 7) == ["lamp | 1\ndusk | 2", "hour | 3"]
    code = f"if a:\n    {said(9, 'b')}\n    c"
    assert texts(pieces_from(("code", code)), 5) == ["if a:", said(5, "b"), f"{said(4, 'b')}\n    c"]


TABLE = "Lamp | Oil\nTower | 4 l\nHarbour | 12 l\nBeacon | 7 l"


def with_header(text: str, rows: int = 1) -> Piece:
    return Piece(text, "table", "#/tables/0", header=sum(len(line) + 1 for line in text.split("\n")[:rows]))


def test_every_chunk_of_a_table_begins_with_its_header() -> None:
    assert texts([with_header(TABLE)], 12) == [
        "Lamp | Oil\nTower | 4 l\nHarbour | 12 l",
        "Lamp | Oil\nBeacon | 7 l",
    ]


def test_a_header_of_several_rows_is_repeated_as_a_whole() -> None:
    table = "Light\nLamp | Oil\n" + "\n".join(f"Tower {number} | {number} l" for number in range(9))
    _, *later = texts([with_header(table, rows=2)], 20)
    assert later
    assert all(text.startswith("Light\nLamp | Oil\nTower") for text in later)


def test_what_follows_a_table_in_its_last_chunk_has_no_header_of_its_own() -> None:
    after = Piece("All burn.", "text", "#/texts/0")
    assert texts([with_header(TABLE), after], 14)[-1] == "Lamp | Oil\nBeacon | 7 l\n\nAll burn."


def test_a_header_that_would_fill_a_chunk_is_not_repeated() -> None:
    assert texts([with_header(TABLE)], 11) == ["Lamp | Oil\nTower | 4 l\nHarbour | 12 l", "Beacon | 7 l"]


def test_a_row_that_does_not_fit_together_with_the_header_is_without_it() -> None:
    row = said(12)
    assert texts([with_header(f"Lamp | Oil\n{row}\nTower | 4 l")], 12) == [
        "Lamp | Oil",
        row,
        "Lamp | Oil\nTower | 4 l",
    ]


def test_a_section_begins_a_chunk_as_soon_as_the_one_before_is_large_enough() -> None:
    pieces = pieces_from(said(5), ("heading", "One"), said(3), ("heading", "Two"), said(3))
    assert texts(pieces, 20, 5) == [said(5), f"One\n\n{said(3)}\n\nTwo\n\n{said(3)}"]
    assert texts(pieces, 20, 4) == [said(5), f"One\n\n{said(3)}", f"Two\n\n{said(3)}"]


def test_a_heading_goes_with_what_follows_even_where_that_must_be_cut() -> None:
    pieces = pieces_from(said(7), ("heading", "A new part"), "One two three. Four five six. Seven eight.")
    assert texts(pieces, 10) == [said(7), "A new part\n\nOne two three.", "Four five six. Seven eight."]


def test_several_headings_go_together() -> None:
    pieces = pieces_from(said(4), ("heading", "Part"), ("heading", "Chapter"), said(5))
    assert texts(pieces, 7, 5) == [said(4), f"Part\n\nChapter\n\n{said(5)}"]


def test_headings_alone_fill_chunks_as_anything_else() -> None:
    assert [len(text.split()) for text in texts(pieces_from(*[("heading", "Lamp")] * 25), 10, 5)] == [5] * 5
    assert [len(text.split()) for text in texts(pieces_from(*[("heading", "Lamp")] * 25), 10, 10)] == [10, 10, 5]


def test_a_small_tail_is_joined_backwards() -> None:
    pieces = pieces_from(said(6), ("heading", "End"), said(1))
    assert texts(pieces, 10, 5) == [f"{said(6)}\n\nEnd\n\n{said(1)}"]


def test_a_small_beginning_is_joined_forwards() -> None:
    assert texts(pieces_from(said(2), ("heading", "One"), said(6)), 10, 5) == [f"{said(2)}\n\nOne\n\n{said(6)}"]


def test_a_small_tail_takes_from_a_neighbour_with_which_it_does_not_fit() -> None:
    pieces = pieces_from(*[said(3)] * 3, said(2))
    assert texts(pieces, 9, 5) == [f"{said(3)}\n\n{said(3)}", f"{said(3)}\n\n{said(2)}"]


def test_a_small_tail_takes_nothing_that_would_leave_a_heading_behind() -> None:
    pieces = pieces_from(said(2), ("heading", said(4, "H")), said(3), said(3))
    assert [count_words(text) for text in texts(pieces, 9, 6)] == [9, 3]


def test_what_is_too_small_between_full_neighbours_is_left() -> None:
    assert texts(pieces_from(said(8), said(3), said(8)), 10, 5) == [said(8), said(3), said(8)]


def test_a_document_that_is_a_crumb_is_a_chunk_and_one_without_text_has_none() -> None:
    assert texts(pieces_from("so"), 512, 256) == ["so"]
    assert texts([], 512, 256) == []
    assert texts(pieces_from("", " \n", ("code", "  \n\t")), 512, 256) == []


def test_blank_lines_are_no_chunks() -> None:
    assert texts(pieces_from(("code", " \n\t\n"), ("heading", "So"), "it is"), 4) == ["So\n\nit is"]


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    [
        "so " * 100_000,
        "so\n" * 100_000,
        "." * 100_000,
        "\U0001f1e9" * 100_000,
        "e" + "\u0301" * 100_000,
        "'.)" * 50_000,
    ],
)
def test_a_very_long_line_of_anything_is_cut(text: str) -> None:
    chunks = checked(pieces_from(text.strip()), count_words, 256, 512)
    assert sum(chunk.tokens for chunk in chunks) == count_words(text)


def test_a_chunk_says_where_it_lies() -> None:
    pieces = [
        Piece("Tale", "heading", "#/texts/0", (1,), ("Tale",)),
        Piece(said(4), "text", "#/texts/1", (1, 2), ("Tale",)),
        Piece("End", "heading", "#/texts/2", (3,), ("Tale", "End")),
        Piece(said(9), "text", "#/texts/3", (3, 4), ("Tale", "End")),
    ]
    first, second, third = build_chunks("tale", pieces, count_words, 1, 6)
    assert (first.section_path, first.pages, first.refs) == (["Tale"], [1, 2], ["#/texts/0", "#/texts/1"])
    assert (second.section_path, second.pages, second.refs) == (["Tale", "End"], [3, 4], ["#/texts/2", "#/texts/3"])
    assert (third.section_path, third.pages, third.refs) == (["Tale", "End"], [3, 4], ["#/texts/3"])
    assert [(chunk.start, chunk.end) for chunk in (first, second, third)] == [(0, 17), (19, 39), (39, 50)]


def test_a_chunk_of_several_sections_has_the_path_of_where_it_begins() -> None:
    pieces = [Piece(title, "heading", f"#/texts/{title}", (), (title,)) for title in "abc"]
    [chunk] = build_chunks("tale", pieces, count_words, 5, 10)
    assert chunk.section_path == ["a"]
