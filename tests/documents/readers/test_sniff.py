"""What a file is, from its name and its first bytes."""

import pytest

from inorder.documents.readers.sniff import HEAD_BYTES, sniff
from tests.documents.docx_files import make_docx, paragraph

pytestmark = pytest.mark.req("DOC-1")

PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"


@pytest.mark.parametrize(
    ("name", "head", "kind"),
    [
        ("a.pdf", b"%PDF-1.7\n", "pdf"),
        ("a.html", b"<p>x", "html"),
        ("A.HTM", b"<p>x", "html"),
        ("a.md", b"# x", "markdown"),
        ("a.txt", b"x", "text"),
        ("README", b"x", "text"),
        ("docs.v2/README", b"x", "text"),
        ("a.py", b"import os", "unknown"),
        ("a.json", b"{}", "unknown"),
        (".hidden", b"x", "text"),
        ("a.png", PNG, "image"),
        ("a.jpg", b"\xff\xd8\xff\xe0\0\x10JFIF", "image"),
        ("a.tif", b"II*\0\x08\0\0\0", "image"),
        ("a.webp", b"RIFF\x10\0\0\0WEBPVP8 ", "image"),
        ("a.wav", b"RIFF\x10\0\0\0WAVEfmt ", "binary"),
        ("a", b"\x7fELF\x02", "binary"),
        ("a.bin", b"abc\0def", "binary"),
        ("a.txt", b"", "empty"),
        ("a.pdf", b"", "empty"),
    ],
)
def test_a_plain_case(name: str, head: bytes, kind: str) -> None:
    assert sniff(name, head) == kind


@pytest.mark.parametrize("name", ["a", "a.html", "a.bin", "a.docx.bak"])
def test_a_pdf_is_one_whatever_it_is_called(name: str) -> None:
    assert sniff(name, b"%PDF-1.4\n%\xe2\xe3") == "pdf"


def test_rubbish_before_the_mark_of_a_pdf_does_not_hide_it() -> None:
    assert sniff("scan", b"\r\n\0\0junk" * 20 + b"%PDF-1.4") == "pdf"


def test_a_text_that_mentions_the_mark_of_a_pdf_is_a_text() -> None:
    assert sniff("notes.txt", b"files begin with %PDF-") == "text"
    assert sniff("notes.md", b"files begin with `%PDF-`") == "markdown"


@pytest.mark.parametrize(("name", "kind"), [("broken.pdf", "pdf"), ("broken.docx", "docx")])
def test_a_name_that_promises_a_document_goes_to_the_reader_that_can_say_what_is_wrong(name: str, kind: str) -> None:
    assert sniff(name, b"nothing of the kind") == kind
    assert sniff(name, PNG) == kind
    assert sniff(name, b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1") == kind


def test_a_picture_that_is_called_a_page_is_not_read_as_one() -> None:
    assert sniff("a.html", PNG) == "image"
    assert sniff("a.txt", PNG) == "image"


def test_a_word_file_without_its_ending_is_known_by_its_parts() -> None:
    assert sniff("download", make_docx(paragraph("x"))[:HEAD_BYTES]) == "docx"
    assert sniff("download", b"PK\x03\x04 something else") == "binary"


@pytest.mark.parametrize(
    "head",
    [b"<!DOCTYPE html><p>", b"\xef\xbb\xbf  <html lang=en>", b"<!-- saved -->\n<HTML>", b"<?xml version='1.0'?><html>"],
)
def test_a_page_without_an_ending_is_known_by_its_beginning(head: bytes) -> None:
    assert sniff("page", head) == "html"


def test_wide_characters_with_a_mark_are_text_though_they_have_nuls() -> None:
    assert sniff("notes", "wide".encode("utf-16")) == "text"


@pytest.mark.parametrize("name", ["a\nb.html", "\u202ea.html", "\udcff.html", "\U0001f600.html", "a\\b.html"])
def test_odd_names_are_only_names(name: str) -> None:
    assert sniff(name, b"<p>") == "html"


@pytest.mark.parametrize("piece", [b"<!---->", b"<!-- ", b"<?xml ?>", b" ", b"<?xml "])
def test_beginnings_that_go_on_for_ever_are_judged_at_once(piece: bytes) -> None:
    assert sniff("page", piece * 2000) == "text"
