"""Plain text: paragraphs by blank lines, pages by form feeds, and nothing guessed."""

import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inorder.documents.readers import text
from inorder.documents.readers.whitespace import collapse_whitespace
from inorder.errors import ReadError
from tests.documents.document_text import block_texts

pytestmark = pytest.mark.req("DOC-1")


def test_blank_lines_part_paragraphs_and_lines_join() -> None:
    document = text.read(b"one\ntwo\n\n \t\nthree\r\n\r\nfour\rfive", "a")
    assert block_texts(document) == [("paragraph", "one two"), ("paragraph", "three"), ("paragraph", "four five")]


def test_what_looks_like_a_heading_is_a_paragraph() -> None:
    assert block_texts(text.read(b"CHAPTER 1\n\nIt was.", "a")) == [
        ("paragraph", "CHAPTER 1"),
        ("paragraph", "It was."),
    ]


def test_form_feeds_turn_pages() -> None:
    document = text.read(b"one\n\ftwo\n\nthree\f\ffour\n\f", "a")
    assert [(block.page, block.text) for block in document.blocks] == [
        (1, "one"),
        (2, "two"),
        (2, "three"),
        (4, "four"),
    ]
    assert [page.number for page in document.pages] == [1, 2, 3, 4]


def test_a_text_without_form_feeds_has_no_pages() -> None:
    assert text.read(b"one", "a").pages == []


def test_it_says_what_it_is_and_who_read_it() -> None:
    document = text.read(b"one", "a name")
    assert (document.name, document.mimetype) == ("a name", "text/plain")
    assert document.reader.startswith("text/")


def test_a_guessed_encoding_is_a_warning() -> None:
    assert "Windows-1252" in text.read(b"caf\xe9", "a").warnings[0]


@pytest.mark.parametrize("data", [b"", b" \n\n \f ", b"\xef\xbb\xbf"])
def test_a_text_without_text_says_so(data: bytes) -> None:
    document = text.read(data, "a")
    assert document.blocks == []
    assert document.warnings == ["the document has no text"]


def test_nul_bytes_are_refused_as_the_fault_of_the_input() -> None:
    with pytest.raises(ReadError) as caught:
        text.read(b"a\0b", "a")
    assert (caught.value.category, caught.value.retryable) == ("input", False)


def test_what_is_too_large_is_refused_before_it_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text, "BYTES_MAX", 10)
    with pytest.raises(ReadError, match="11 bytes"):
        text.read(b"x" * 11, "a")


@pytest.mark.slow
def test_a_single_line_of_many_megabytes_takes_a_few_times_its_size() -> None:
    data = b"word " * 2_000_000
    tracemalloc.start()
    try:
        document = text.read(data, "a")
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert document.blocks[0].text == "word " * 1_999_999 + "word"
    assert peak < 8 * len(data)


@pytest.mark.parametrize("length", [1, 3, 7])
def test_slices_join_without_making_or_losing_words(monkeypatch: pytest.MonkeyPatch, length: int) -> None:
    monkeypatch.setattr("inorder.documents.readers.whitespace._SLICE", length)
    written = "  a bc\n\n  defghijklmnop   q\t"
    assert collapse_whitespace(written) == " ".join(written.split())


@pytest.mark.slow
@given(st.text(alphabet="ab \n\t", max_size=40), st.integers(1, 9))
def test_slices_of_any_length_give_the_same(written: str, length: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("inorder.documents.readers.whitespace._SLICE", length)
        assert collapse_whitespace(written) == " ".join(written.split())


@pytest.mark.slow
@pytest.mark.parametrize("length", [1, 63, 64, 500])
@given(white=st.sampled_from([*" \t\n\v\f\r\x1c\x1f\x85\xa0\u2028", "  "]), place=st.integers(0, 500))
def test_white_space_of_any_kind_is_collapsed_in_a_text_of_any_length(length: int, white: str, place: int) -> None:
    words = "word, " * length
    written = words[: place % length] + white + words[place % length : length]
    assert collapse_whitespace(written) == " ".join(written.split())


def test_soft_hyphens_are_gone() -> None:
    assert collapse_whitespace("Donau\xaddampf") == "Donaudampf"
