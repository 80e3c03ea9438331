"""From a file to chunks: every word is there once, in reading order."""

import re
from collections.abc import Callable

import pytest
from hypothesis import given, settings

from inorder.documents.chunk.pieces import read_pieces
from inorder.documents.chunk.tokens import count_words
from inorder.documents.doctags.docling_json import write_json
from inorder.documents.model import Document
from inorder.documents.readers.docx import reader as docx
from inorder.documents.readers.html import reader as html
from inorder.documents.readers.markdown import reader as markdown
from tests.documents.chunk.laws import checked
from tests.documents.docx_files import make_docx, paragraph
from tests.documents.test_completeness import HTML, MARKDOWN, Tree, Writer, assert_complete, trees, write_in

pytestmark = pytest.mark.req("DOC-2")


def words_in_chunks(document: Document, tokens_max: int = 20) -> list[str]:
    """As they come, chunk after chunk."""
    chunks = checked(read_pieces(write_json(document)), count_words, tokens_max // 2, tokens_max)
    return [word for chunk in chunks for word in re.findall(r"\w+", chunk.text)]


@pytest.mark.slow
@settings(max_examples=60)
@given(trees(sorted(HTML)))
def test_every_word_of_a_page_is_in_one_chunk(chosen: list[Tree]) -> None:
    writer = Writer()
    page = write_in(HTML, chosen, writer)
    assert_complete(words_in_chunks(html.read(page.encode(), "page", "full")), writer.given)


@pytest.mark.slow
@settings(max_examples=60)
@given(trees(sorted(MARKDOWN), depth=2))
def test_every_word_of_a_markdown_text_is_in_one_chunk(chosen: list[Tree]) -> None:
    writer = Writer()
    written = write_in(MARKDOWN, chosen, writer)
    assert_complete(words_in_chunks(markdown.read(written.encode(), "notes")), writer.given)


def word_file(writer: Writer) -> Document:
    body = ""
    for _ in range(20):
        heading = paragraph(writer.words(), '<w:pStyle w:val="Heading1"/>')
        cells = "".join(f"<w:tc>{paragraph(writer.words(9))}</w:tc>" for _ in range(3))
        body += f"{heading}<w:tbl><w:tr>{cells}</w:tr></w:tbl>{paragraph(writer.words(200))}"
    return docx.read(make_docx(body), "letter")


def page(writer: Writer) -> Document:
    sections = [f"<h2>{writer.words()}</h2><p>{writer.words(200)}.</p><pre>{writer.words(9)}</pre>" for _ in range(20)]
    return html.read("".join(sections).encode(), "page")


def notes(writer: Writer) -> Document:
    sections = [f"## {writer.words()}\n\n{writer.words(200)}.\n\n- {writer.words(9)}\n\n" for _ in range(20)]
    return markdown.read("".join(sections).encode(), "notes")


@pytest.mark.parametrize("tokens_max", [7, 100, 512])
@pytest.mark.parametrize("read", [word_file, page, notes])
def test_long_documents_lose_and_double_no_word(read: Callable[[Writer], Document], tokens_max: int) -> None:
    writer = Writer()
    document = read(writer)
    assert_complete(words_in_chunks(document, tokens_max), writer.given)
