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


TEXTS = {
    "a.py": b'"""Write a PDF."""\nHEAD = b"%PDF-1.7\\n%\\xe2\\xe3"\nOBJECT = b"1 0 obj"\n',
    "a.json": b'{"magic": "%PDF-1.4", "next": "1 0 obj"}',
    "a.js": b"// %PDF-1.4\n// 1 0 obj",
    "a.toml": b"head = '%PDF-1.4'\n",
    "a.html": b"<p>A file begins with %PDF-1.4 and 1 0 obj</p>",
    "a.xhtml": b"<p>%PDF-1.4</p>",
    "a.csv": b"format,magic\npdf,%PDF-1.4\n",
    "a.tsv": b"%PDF-1.4\tmagic of a PDF\n",
    "a.eml": b"From: a@b.c\n\n%PDF-1.4\n1 0 obj\n",
    "a.mbox": b"From a@b.c\n\n%PDF-1.4\n",
    "a.txt": b"%PDF-1.4 is how a PDF begins.\n",
    "a.md": b"%PDF-1.4 is how a PDF begins.\n",
    "a.rst": b"``%PDF-1.4``\n",
    "a.adoc": b"`%PDF-1.4`\n",
    "a.rtf": b"{\\rtf1 %PDF-1.4}",
    "a.nxml": b"<article><p>%PDF-1.4</p></article>",
    "a.ipynb": b'{"cells": ["%PDF-1.4"]}',
    "README": b"The first line is %PDF-1.4, then 1 0 obj.\n",
    "a.log": b"read %PDF-1.4\n%\xe2\xe3\xcf\xd3\n1 0 obj\n",
}
"""Texts of all formats that have the mark of a PDF."""
PDF = b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n1 0 obj\n<<>>\nendobj\n"


@pytest.mark.parametrize("name", TEXTS)
def test_a_text_that_has_the_mark_of_a_pdf_is_what_its_name_says(name: str) -> None:
    assert sniff(name, TEXTS[name]) == sniff(name, b"nothing")
    if name != "README":
        assert sniff(name, PDF) == "pdf"
        assert sniff(name, b"\xef\xbb\xbf\r\n" + PDF) == "pdf"


@pytest.mark.parametrize("name", ["a.pdf", "a", "a.bin", "a.pdf.download"])
@pytest.mark.parametrize("junk", [b"\0" * 64, b"HTTP/1.1 200 OK\r\n\r\n", b"\x1b%-12345X@PJL\r\n"])
def test_a_pdf_with_something_before_its_mark_is_one(name: str, junk: bytes) -> None:
    assert sniff(name, junk + PDF) == "pdf"


@pytest.mark.parametrize(
    "text", [b"BZhang,1\n", b"PAR1,PAR2\n", b"GIF8 and others\n", b"Rar! he said\n", b"SQLite format 3 is new\n"]
)
@pytest.mark.parametrize("name", ["a.csv", "a.txt", "a.md", "a"])
def test_words_that_begin_like_a_binary_file_are_text(name: str, text: bytes) -> None:
    assert sniff(name, text) == sniff(name, b"nothing")


@pytest.mark.parametrize(
    "head",
    [
        b"BZh91AY&SY\xd8",
        b"PAR1\x15\x04\x15\x10\0",
        b"GIF89a\x10\0\x10\0\x80\0\0",
        b"Rar!\x1a\x07\x01\0",
        b"SQLite format 3\0\x10\0",
        b"\x1f\x8b\x08\0",
    ],
)
def test_a_binary_file_is_one_whatever_it_is_called(head: bytes) -> None:
    assert {sniff(name, head) for name in ("a.csv", "a.txt", "a", "a.py")} == {"binary"}


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
