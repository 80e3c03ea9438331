"""The step `chunk` as a function of the document model. What it must give is what the JSON of the document gives."""

import hashlib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import structs

from inorder.documents.chunk.chunks import build_chunks
from inorder.documents.chunk.model_pieces import list_pieces
from inorder.documents.chunk.pieces import read_pieces
from inorder.documents.chunk.settings import ChunkSettings, settings_of
from inorder.documents.chunk.step import chunk, summarize
from inorder.documents.chunk.tokens import count_words
from inorder.documents.chunk.units import Piece
from inorder.documents.convert.resources import Resources
from inorder.documents.convert.settings import ConvertSettings
from inorder.documents.convert.step import convert
from inorder.documents.convert.stored import StoredDocument, unpack_document
from inorder.documents.doctags.docling_json import write_json
from inorder.documents.model import Cell, Document, Furniture, Heading, ListItem, Page, Paragraph, Picture, Table, Title
from inorder.errors import OperatorError, ReadError
from tests.documents.docling_reference import document
from tests.documents.doctags.test_doctags import blocks
from tests.documents.formats.samples import VARIANTS
from tests.documents.pdf_files import body, heading, typeset_pdf

pytestmark = pytest.mark.req("DOC-2")

SIZES = [ChunkSettings(), ChunkSettings(tokens_max=20), ChunkSettings(tokens_max=40, tokens_min=0)]


def assert_same_as_json(written: Document) -> None:
    assert without_links(list_pieces(written)) == without_links(read_pieces(write_json(written)))


def without_links(pieces: list[Piece]) -> list[Piece]:
    """The pieces as far as the JSON has them: it has no links of cells, and not all links of other texts."""
    return [piece._replace(links=()) for piece in pieces]


@pytest.mark.slow
@settings(max_examples=400)
@given(st.lists(blocks(), max_size=12), st.integers(0, 3))
def test_any_document_has_the_pieces_of_its_json(chosen: list[Any], pages: int) -> None:
    assert_same_as_json(document(*chosen, pages=pages))


def test_pages_without_a_size_are_no_pages_of_a_piece() -> None:
    written = document(Paragraph(text="one", page=1), Paragraph(text="two", page=2))
    written.pages = [Page(1, 600.0, 800.0), Page(2, float("nan"), 800.0)]
    assert [piece.pages for piece in list_pieces(written)] == [(1,), ()]
    assert_same_as_json(written)


def test_references_count_furniture_captions_and_list_items() -> None:
    written = document(
        Title(text="Tale"),
        Furniture(text="page 1", kind="header"),
        Table(rows=1, columns=2, cells=[Cell("b", 0, 1), Cell("a", 0, 0)], caption="Stores"),
        Picture(caption=" "),
        ListItem(text="outer"),
        ListItem(text="inner", depth=1),
        Heading(text="End", level=9),
    )
    found = [(piece.text, piece.ref) for piece in list_pieces(written)]
    assert found == [
        ("Tale", "#/texts/0"),
        ("Stores", "#/texts/2"),
        ("a | b", "#/tables/0"),
        ("outer", "#/texts/4"),
        ("inner", "#/texts/5"),
        ("End", "#/texts/6"),
    ]
    assert_same_as_json(written)


def convert_sample(name: str) -> tuple[StoredDocument, StoredDocument]:
    """A sample in memory, and as it is read back."""
    kind, data = (
        VARIANTS[name] if name in VARIANTS else ("pdf", typeset_pdf([heading("Log"), body("The lamp. " * 200)]))
    )
    converted = convert(data, f"docs/{name}", kind, ConvertSettings(), Resources())
    return converted.document, unpack_document(converted.content)


@pytest.mark.parametrize("sizes", SIZES, ids=lambda each: f"{each.tokens_max}-{each.tokens_min}")
@pytest.mark.parametrize("name", [*VARIANTS, "pdf"])
def test_chunks_are_those_of_the_json(name: str, sizes: ChunkSettings) -> None:
    in_memory, stored = convert_sample(name)
    pieces = read_pieces(stored.write_record())
    expected = build_chunks(name, pieces, count_words, sizes.resolved_tokens_min, sizes.tokens_max)
    found = chunk(name, in_memory, sizes, count_words)
    assert chunk(name, stored, sizes, count_words) == found
    assert [structs.replace(each, links=[]) for each in found] == [structs.replace(each, links=[]) for each in expected]


def test_a_document_of_docling_is_chunked_from_its_json() -> None:
    ours = document(Title(text="Tale"), Paragraph(text="One."))
    foreign = StoredDocument(record=write_json(ours))
    assert chunk("a", foreign, SIZES[0], count_words) == chunk(
        "a", StoredDocument(document=ours), SIZES[0], count_words
    )


def test_a_document_of_docling_that_cannot_be_decoded_is_refused() -> None:
    with pytest.raises(ReadError, match="not a DoclingDocument"):
        chunk("a", StoredDocument(record=b"[]"), SIZES[0], count_words)


def test_tokens_are_counted_by_the_counter_that_is_passed() -> None:
    written = StoredDocument(document=document(*[Paragraph(text="four letters")] * 6))
    by_letters = chunk("a", written, ChunkSettings(tokens_max=30), len)
    assert max(each.tokens for each in by_letters) <= 30
    assert len(by_letters) > len(chunk("a", written, ChunkSettings(tokens_max=30), count_words)) == 1


def test_the_summary_counts_chunks_and_tokens() -> None:
    chunks = chunk("a", StoredDocument(document=document(Paragraph(text="one two three"))), SIZES[0], count_words)
    found = summarize(chunks)
    assert (found["chunks"], found["tokens"], found["characters"], found["histogram"][0]) == (1, 3, 13, 1)


@pytest.mark.req("DOC-4")
def test_settings_are_stated_by_part_and_a_tokenizer_by_its_content(tmp_path: Path) -> None:
    assert settings_of(ChunkSettings(tokens_max=100)) == {"tokens_min": "50", "tokens_max": "100", "tokenizer": "words"}
    path = tmp_path / "tokenizer.json"
    path.write_bytes(b"{}")
    found = settings_of(ChunkSettings(tokenizer=f"hf:{path}"))
    assert found["tokenizer"] == f"hf:{hashlib.sha256(b'{}').hexdigest()}"
    path.unlink()
    with pytest.raises(OperatorError, match="cannot read the tokenizer"):
        settings_of(ChunkSettings(tokenizer=f"hf:{path}"))
