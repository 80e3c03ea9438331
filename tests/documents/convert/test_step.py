"""The step `doctags` as a function: from bytes to a document, with nothing but its arguments."""

import io
from pathlib import Path
from typing import Any

import msgspec
import pytest
from PIL import Image
from reportlab.lib.pdfencrypt import StandardEncryption

from inorder.documents.convert import settings as module
from inorder.documents.convert.kinds import find_kind, find_reason_not_read, guess_kind
from inorder.documents.convert.parts import (
    PageRange,
    Survey,
    convert_part,
    decode_part,
    decode_survey,
    encode_part,
    merge,
    survey,
)
from inorder.documents.convert.resources import Resources
from inorder.documents.convert.settings import ConvertSettings, settings_of
from inorder.documents.convert.step import Converted, convert
from inorder.documents.convert.stored import StoredDocument, unpack_document
from inorder.documents.model import Document, Paragraph
from inorder.documents.readers.ocr import image
from inorder.documents.readers.ocr.reader import Recognizer
from inorder.errors import ReadError
from tests.documents.doctags.test_passwords import PASSWORD, PLAIN, encrypt
from tests.documents.formats.samples import NAMES, SAMPLES
from tests.documents.pdf_files import body, draw_lines, draw_pdf, typeset_pdf
from tests.documents.readers.test_ocr_images import Engine

pytestmark = pytest.mark.req("DOC-1")

NOTE = b"# Log\n\nThe lamp was lit at dusk.\n\n| Oil | Hours |\n|---|---|\n| 12 | 9 |\n"
PLAIN_SETTINGS = ConvertSettings()


def run(content: bytes, name: str, settings: ConvertSettings = PLAIN_SETTINGS, **resources: Any) -> Converted:
    return convert(content, name, find_kind(name, content[:4096], settings), settings, Resources(**resources))


def read(converted: Converted) -> Document:
    assert converted.document.document is not None
    return converted.document.document


# ---- what it returns


def test_a_note_becomes_a_document_with_its_counts() -> None:
    converted = run(NOTE, "docs/log.md")
    assert [type(block).__name__ for block in read(converted).blocks] == ["Title", "Paragraph", "Table"]
    assert (read(converted).name, converted.document.filename) == ("log", "log.md")
    assert converted.extras["engine"] == read(converted).reader
    counts = {name: converted.extras[name] for name in ("blocks", "tables", "figures", "pages", "bytes_in")}
    assert counts == {"blocks": 3, "tables": 1, "figures": 0, "pages": 0, "bytes_in": len(NOTE)}
    assert converted.extras["bytes_out"] == len(converted.content)


@pytest.mark.parametrize("kind", SAMPLES)
def test_the_same_file_gives_the_same_result(kind: str) -> None:
    first, again = run(SAMPLES[kind], NAMES[kind]), run(SAMPLES[kind], NAMES[kind])
    assert (first.content, first.warnings, first.extras) == (again.content, again.warnings, again.extras)


@pytest.mark.parametrize("kind", SAMPLES)
def test_in_memory_a_document_is_what_is_read_back(kind: str) -> None:
    converted = run(SAMPLES[kind], NAMES[kind])
    stored = unpack_document(converted.content)
    assert stored.write_record() == converted.document.write_record()
    assert stored.write_doctags() == converted.document.write_doctags()


def test_a_name_that_is_no_unicode_is_the_same_in_memory_and_when_it_is_read_back() -> None:
    converted = run(NOTE, "docs/lo\udcffg.md")
    assert (converted.document.filename, read(converted).name) == ("lo\ufffdg.md", "lo\ufffdg")
    assert unpack_document(converted.content) == converted.document


def test_warnings_of_the_reader_are_passed_on() -> None:
    assert run(b"\n\n", "empty.md").warnings == ["the document has no text"]


def test_no_file_is_opened(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    expected = run(NOTE, "docs/log.md")  # imports the reader
    monkeypatch.chdir(tmp_path)
    with monkeypatch.context() as patched:
        for name in ("builtins.open", "os.open", "os.stat"):
            patched.setattr(name, lambda *_, **__: pytest.fail("a file was touched"))
        found = run(NOTE, "docs/log.md")
    assert found.content == expected.content


# ---- what it refuses


@pytest.mark.req("ROB-1")
@pytest.mark.parametrize("name", ["broken.pdf", "broken.docx", "broken.epub", "broken.ipynb"])
def test_a_damaged_file_raises_one_kind_of_error_with_its_category(name: str) -> None:
    with pytest.raises(ReadError) as caught:
        run(b"no such format", name)
    assert (caught.value.category, caught.value.retryable) == ("input", False)


def test_content_that_is_no_document_is_refused_when_it_is_decoded() -> None:
    with pytest.raises(ValueError, match="not a stored document"):
        unpack_document(b"\x01")


# ---- what comes with the worker


@pytest.mark.slow
@pytest.mark.parametrize("kind", PLAIN)
def test_an_encrypted_office_file_needs_the_password_among_the_resources(kind: str) -> None:
    sealed = encrypt(PLAIN[kind])
    with pytest.raises(ReadError, match="encrypted"):
        run(sealed, f"sealed.{kind}")
    found = run(sealed, f"sealed.{kind}", passwords=["wrong", PASSWORD])
    assert read(found).blocks == read(run(PLAIN[kind], f"sealed.{kind}")).blocks


def test_an_encrypted_pdf_needs_the_password_among_the_resources() -> None:
    sealed = draw_pdf(draw_lines("The lamp is lit."), encrypt=StandardEncryption(PASSWORD, "owner"))
    with pytest.raises(ReadError, match="encrypted"):
        run(sealed, "sealed.pdf")
    assert "lit" in str(read(run(sealed, "sealed.pdf", passwords=[PASSWORD])).blocks)
    assert survey(sealed, PLAIN_SETTINGS, Resources()).pages == 0
    assert survey(sealed, PLAIN_SETTINGS, Resources([PASSWORD])).pages == 1


def test_the_ocr_engine_is_opened_once_with_the_first_page_that_needs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(image, "image_version", lambda: "image/test")
    written = io.BytesIO()
    Image.new("L", (400, 200), 128).save(written, "PNG")
    opened: list[Engine] = []

    def open_engine() -> Engine:
        opened.append(Engine())
        return opened[-1]

    resources, settings = Resources(recognizer=Recognizer(open_engine)), ConvertSettings(ocr=True)
    convert(NOTE, "log.md", "markdown", settings, resources)
    assert opened == []
    for _ in range(2):
        converted = convert(written.getvalue(), "scan.png", "image", settings, resources)
    assert len(opened) == 1
    [block] = read(converted).blocks
    assert isinstance(block, Paragraph)
    assert (block.text, converted.extras["pages_ocr"]) == ("Page 2 of the log", 1)


# ---- long PDFs


@pytest.mark.slow
def test_parts_are_merged_to_what_is_converted_at_once() -> None:
    book = typeset_pdf([body(f"In chapter {number} the keepers tell of long nights. " * 30) for number in range(24)])
    settings, resources = ConvertSettings(split_pages=2), Resources()
    surveyed = decode_survey(encode_part(survey(book, settings, resources)))
    ranges = surveyed.list_ranges(settings)
    assert len(ranges) > 2
    assert ranges[0] == PageRange(1, 2)
    parts = [
        decode_part(encode_part(convert_part(book, "docs/book.pdf", surveyed, pages, settings, resources)))
        for pages in ranges
    ]
    merged = merge(book, "docs/book.pdf", parts, settings)
    whole = convert(book, "docs/book.pdf", "pdf", settings, resources)
    assert (merged.content, merged.warnings, merged.extras) == (whole.content, whole.warnings, whole.extras)


@pytest.mark.parametrize(("pages", "split", "ocr", "count"), [(9, 0, False, 0), (9, 9, False, 0), (30, 20, True, 3)])
def test_a_pdf_has_parts_if_it_is_longer_than_one(pages: int, split: int, ocr: bool, count: int) -> None:
    assert len(Survey(pages).list_ranges(ConvertSettings(split_pages=split, ocr=ocr))) == count


def test_of_a_pdf_that_cannot_be_read_the_survey_has_no_pages() -> None:
    assert survey(b"%PDF-1.7", PLAIN_SETTINGS, Resources()) == Survey(0)


def test_every_page_is_reported_before_it_is_read() -> None:
    seen: list[tuple[int, int]] = []
    data = draw_pdf(*[draw_lines(f"Page {number}.") for number in (1, 2)])
    convert(data, "log.pdf", "pdf", PLAIN_SETTINGS, Resources(), lambda *page: seen.append(page))
    assert seen == [(1, 2), (2, 2)]


# ---- kinds and settings


@pytest.mark.parametrize(
    ("name", "head", "reason"),
    [
        ("a.md", b"# A", ""),
        ("a.png", b"\x89PNG\r\n", "an image: --ocr reads its text"),
        ("a.md", b"", "the file is empty"),
        ("a.xyz", b"text", "not a document: a text file with an unknown extension, such as source code"),
        ("a.bin", b"\x7fELF", "not a document: a binary file in an unknown format"),
    ],
)
def test_a_kind_is_read_or_has_a_reason_not_to_be(name: str, head: bytes, reason: str) -> None:
    assert find_reason_not_read(find_kind(name, head, PLAIN_SETTINGS), PLAIN_SETTINGS) == reason


def test_with_ocr_images_are_read_and_with_docling_what_only_docling_knows() -> None:
    assert find_reason_not_read("image", ConvertSettings(ocr=True)) == ""
    docling = ConvertSettings(reader="docling")
    assert find_kind("a.pptx", b"\x7fELF", docling) == "pptx"
    assert find_reason_not_read("pptx", docling) == ""


@pytest.mark.parametrize(
    ("name", "size", "kind"), [("a.pdf", 1, "pdf"), ("a.pdf", 0, "empty"), ("a.exe", 1, "not fetched"), ("a", 1, "any")]
)
def test_the_kind_of_an_object_is_guessed_from_its_name(name: str, size: int, kind: str) -> None:
    assert guess_kind(name, size) == kind


def test_settings_are_stated_by_part_and_only_for_the_kinds_that_they_change(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ocr_version", "image_version", "docling_version"):
        monkeypatch.setattr(module, name, lambda name=name: name)
    monkeypatch.setattr(module, "reader_version", lambda kind: f"{kind} 7")
    plain, every = ConvertSettings(), ConvertSettings(ocr=True, html="full", split_pages=7)
    assert (
        settings_of(plain, "markdown") == settings_of(every, "markdown") == {"kind": "markdown", "reader": "markdown 7"}
    )
    assert settings_of(plain, "pdf") == {"kind": "pdf", "reader": "pdf 7"}
    assert settings_of(every, "pdf") == {"kind": "pdf", "reader": "pdf 7", "ocr": "ocr_version"}
    assert [settings_of(each, "html")["html"] for each in (plain, every)] == ["article", "full"]
    assert settings_of(every, "image") == {"kind": "image", "reader": "image_version"}
    docling = msgspec.structs.replace(plain, reader="docling")
    assert settings_of(docling, "html") == {"kind": "html", "reader": "docling_version"}
    assert settings_of(docling, "pdf") == settings_of(plain, "pdf")
    assert settings_of(every, "any")["pdf"] != settings_of(plain, "any")["pdf"]


def test_a_document_of_docling_keeps_what_docling_wrote() -> None:
    stored = StoredDocument(record=b"{}", doctags=b"<doctag>")
    assert (stored.write_record(), stored.write_doctags()) == (b"{}", b"<doctag>")
