"""Hostile Markdown: reading it is cheap and loses no word, and a crash of the parser is reported."""

import time
from collections.abc import Iterator
from typing import Any

import pytest

from inorder.documents.model import Document
from inorder.documents.readers.markdown import reader as markdown
from inorder.documents.readers.markdown import walk as markdown_walk
from inorder.errors import ReadError
from tests.documents.docling_reference import assert_docling_agrees
from tests.documents.document_text import words

pytestmark = pytest.mark.req("DOC-1")


class PanicException(BaseException):
    """As the parser raises it when it breaks down: it has the same name, and cannot be imported."""


def read(text: str) -> Document:
    return markdown.read(text.encode(), "notes")


def make_parser_raise(monkeypatch: pytest.MonkeyPatch, error: BaseException) -> None:
    """The parser gets as far as the first word."""

    def parse(text: str) -> Iterator[Any]:
        yield {"Text": text.split()[0]}
        raise error

    monkeypatch.setattr(markdown_walk, "parse", parse)


def test_a_parser_that_breaks_down_leaves_plain_text_and_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    make_parser_raise(monkeypatch, PanicException("index out of bounds"))
    document = read("one *two*\n\nthree")
    assert words(document) == ["one", "two", "three"]
    assert document.warnings == ["the Markdown parser crashed; read as plain text"]


@pytest.mark.parametrize("error", [KeyboardInterrupt(), ZeroDivisionError()])
def test_what_is_not_the_fault_of_the_parser_is_not_hidden(
    monkeypatch: pytest.MonkeyPatch, error: BaseException
) -> None:
    make_parser_raise(monkeypatch, error)
    with pytest.raises(type(error)):
        read("one")


@pytest.mark.slow
@pytest.mark.parametrize("piece", ["> ", ">", "1. ", "* > ", "- a\n  > "])
def test_a_hundred_thousand_blocks_within_each_other_are_read_in_time(piece: str) -> None:
    began = time.process_time()
    document = read(piece * 100_000 + "word")
    assert words(document)[-1] == "word"
    assert time.process_time() - began < 30


@pytest.mark.slow
def test_as_deep_as_is_allowed_is_agreed_on_by_the_defining_library() -> None:
    deepest = markdown_walk.NESTING_MAX
    document = read("".join(f"{'  ' * level}- w{level}\n" for level in range(deepest)))
    assert not document.warnings
    assert len(document.blocks) == deepest
    assert_docling_agrees(document)


@pytest.mark.slow
@pytest.mark.parametrize("piece", ["[", "]", "`", "``` ", "*", "[a](", "<!--", "~~a", "|a"])
def test_megabytes_of_signs_are_read_in_time(piece: str) -> None:
    began = time.process_time()
    read(piece * (5_000_000 // len(piece)))
    assert time.process_time() - began < 30


def test_more_signs_than_memory_should_be_spent_on_are_plain_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(markdown, "MARKUP_CHARACTERS_MAX", 20)
    assert not read("*a* " * 10).warnings
    assert "plain text" in read("*a* " * 11).warnings[0]


@pytest.mark.slow
def test_a_line_longer_than_all_that_is_parsed_is_plain_text() -> None:
    document = read("[ab](" * (markdown.BYTES_MAX // 5 + 1))
    assert len(document.blocks) == 1
    assert "plain text" in document.warnings[0]


def test_a_text_with_nul_is_refused() -> None:
    with pytest.raises(ReadError, match="NUL"):
        markdown.read(b"# a\n\nb\0c", "notes")


@pytest.mark.parametrize("data", [b"a \xed\xa0\x80 b", b"\xff\xfea\0 \0\x00\xd8 \0b\0"])
def test_half_a_character_does_no_harm(data: bytes) -> None:
    document = markdown.read(data, "notes")
    found = words(document)
    assert (found[0], found[-1]) == ("a", "b")
    assert document.warnings
