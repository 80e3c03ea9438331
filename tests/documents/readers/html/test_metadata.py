"""HTML: what a page says about itself, and in which encoding it is."""

import pytest

from inorder.documents.model import Paragraph, Title
from inorder.documents.readers.html import reader as html

pytestmark = pytest.mark.req("DOC-1")

LINKED = """<script type="application/ld+json">{"@graph": [{"@type": "NewsArticle", "headline": "Lamps",
"author": [{"name": "A. Keeper"}, {"name": "B. Crew"}], "datePublished": "1998-02-01"}]}</script>"""
SOURCES = {
    "JSON-LD": (LINKED, {"title": "Lamps", "author": "A. Keeper, B. Crew", "date": "1998-02-01"}),
    "Open Graph": (
        "<meta property='og:title' content=' Lamps '><meta property='og:url' content='https://a.example/l'>"
        "<meta property='article:published_time' content='1998-02-01T06:00'>",
        {"title": "Lamps", "address": "https://a.example/l", "date": "1998-02-01T06:00"},
    ),
    "names": (
        "<meta name='author' content='A. Keeper'><meta name='Description' content='On lamps.'><title>L</title>",
        {"author": "A. Keeper", "description": "On lamps.", "title": "L"},
    ),
    "a canonical address": ("<link rel='canonical' href='/lamps'>", {"address": "/lamps"}),
    "an address is no author": ("<meta property='article:author' content='https://b.example/a'>", {}),
    "JSON-LD that is no JSON": ("<script type='application/ld+json'>{'</script>", {}),
    "JSON-LD of other things": ("<script type='application/ld+json'>[[1], null, {\"headline\": {}}]</script>", {}),
    "JSON-LD nested deep": (f"<script type='application/ld+json'>{'[' * 90_000}</script>", {}),
}


@pytest.mark.parametrize("name", SOURCES)
def test_metadata_of_a_page_are_fields_of_its_document(name: str) -> None:
    head, expected = SOURCES[name]
    page = f"<!doctype html><html lang='de'><head>{head}</head><body><p>Text</p></body></html>"
    assert html.read(page.encode(), "page").metadata == {"language": "de", **expected}


def test_the_title_that_a_page_states_for_others_is_the_title_of_its_document() -> None:
    page = "<title>Lamps | The Shore Daily</title><meta property='og:title' content='Lamps'><p>Text</p>"
    assert html.read(page.encode(), "page").blocks == [Title("Lamps"), Paragraph("Text")]


@pytest.mark.parametrize("before", [0, 3000, 200_000])
def test_a_declared_encoding_counts_wherever_it_stands(before: int) -> None:
    page = f"<!--{'x' * before}--><meta charset=koi8-r><p>Маяк</p>"
    document = html.read(page.encode("koi8-r"), "page")
    assert (document.blocks, document.warnings) == ([Paragraph("Маяк")], [])


def test_a_late_declaration_does_not_change_a_page_in_utf_8() -> None:
    page = f"<p>Маяк</p><!--{'x' * 5000}--><script>write('<meta charset=koi8-r>')</script>"
    assert html.read(page.encode(), "page").blocks == [Paragraph("Маяк")]


def test_a_page_in_utf_8_with_a_damaged_character_stays_utf_8() -> None:
    page = f"<meta charset=utf-8><p>{'Маяк ' * 30}".encode() + b"\xff</p>"
    document = html.read(page, "page")
    assert document.blocks == [Paragraph(f"{'Маяк ' * 30}\ufffd")]
    assert document.warnings == ["parts are not valid UTF-8 and were replaced"]


@pytest.mark.req("ROB-1")
def test_a_hundred_thousand_half_declarations_are_searched_in_time() -> None:
    html.read(b"\xff" + b"<meta " * 100_000, "page")
