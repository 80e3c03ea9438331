"""Hostile and damaged Word files: refused with the reason, before they cost time or memory."""

import contextlib
import io
import random
import struct
import time
import zipfile

import pytest

from inorder.documents.readers.docx import reader as docx
from inorder.documents.readers.office import package as docx_package
from inorder.errors import ReadError
from tests.documents.document_text import words
from tests.documents.docx_files import archive, make_docx, paragraph, part, styled_paragraph

pytestmark = pytest.mark.req("DOC-1")


CODE_STYLE = part("styles", '<w:style w:styleId="SourceCode"><w:name w:val="Source Code"/></w:style>')


def assert_refused(data: bytes, why: str) -> None:
    began = time.process_time()
    with pytest.raises(ReadError, match=why) as caught:
        docx.read(data, "letter")
    assert caught.value.category == "input"
    assert time.process_time() - began < 5


def docx_with_body(xml: bytes) -> bytes:
    return archive({"word/document.xml": xml})


@pytest.mark.slow
def test_a_zip_bomb_is_refused_by_what_it_claims() -> None:
    size = docx_package.PART_BYTES_MAX + 1
    assert_refused(docx_with_body(b"<a>" + b" " * size), "unpacks to 268,435,")


@pytest.mark.slow
def test_a_smaller_bomb_is_refused_by_how_far_it_expands() -> None:
    assert_refused(docx_with_body(b"<a>" + b" " * (64 * 2**20)), "zip bomb")


@pytest.mark.slow
def test_a_bomb_that_lies_about_its_size_does_not_unpack_past_it() -> None:
    honest = docx_with_body(b"<a>" + b" " * (64 * 2**20))
    lying = honest.replace(struct.pack("<I", 64 * 2**20 + 3), struct.pack("<I", 1000))
    assert_refused(lying, "cannot be unpacked|damaged")


def test_a_real_size_past_the_limit_is_refused_as_it_is_unpacked(monkeypatch: pytest.MonkeyPatch) -> None:
    data = make_docx(paragraph("x" * 5000))
    monkeypatch.setattr(docx_package, "PART_BYTES_MAX", 1000)
    assert_refused(data, "unpacks to")


LAUGHS = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 10))


@pytest.mark.parametrize(
    "declaration",
    [
        f'<!DOCTYPE w:document [<!ENTITY l0 "ha">{LAUGHS}]>',
        '<!DOCTYPE w:document [<!ENTITY x SYSTEM "file:///etc/passwd">]>',
        '<!DOCTYPE w:document SYSTEM "http://example.org/x.dtd">',
        '<!DOCTYPE w:document [<!ENTITY % p SYSTEM "http://example.org/x"> %p;]>',
    ],
)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_entities_are_refused_before_they_are_declared(declaration: str, encoding: str) -> None:
    body = part("document", f"<w:body>{paragraph('&l9;&x;')}</w:body>")
    assert_refused(docx_with_body(f"{declaration}{body}".encode(encoding)), "document type declaration")


def test_entities_in_any_other_part_are_refused_too() -> None:
    assert_refused(
        make_docx(paragraph("x"), {"docProps/core.xml": '<!DOCTYPE x [<!ENTITY a "b">]><x/>'}), "document type"
    )


def test_an_encrypted_file_says_so() -> None:
    assert_refused(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(500), "encrypted")
    data = bytearray(make_docx(paragraph("x")))
    for signature, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        at = data.find(signature)
        while at >= 0:
            data[at + offset] |= 1
            at = data.find(signature, at + 4)
    assert_refused(bytes(data), "encrypted")


@pytest.mark.parametrize("data", [b"", b"PK\x03\x04", b"no archive at all", b"PK\x05\x06" + bytes(18)])
def test_what_is_no_archive_is_refused(data: bytes) -> None:
    assert_refused(data, "not a DOCX file|not a Word document")


def test_every_truncation_is_refused() -> None:
    whole = make_docx(paragraph("some words to pack"))
    for length in range(0, len(whole), 7):
        with pytest.raises(ReadError):
            docx.read(whole[:length], "letter")


@pytest.mark.slow
def test_any_damage_is_read_or_refused() -> None:
    chance = random.Random(7)
    whole = make_docx(paragraph("some words to pack " * 20))
    for _ in range(500):
        damaged = bytearray(whole)
        for _ in range(chance.randint(1, 4)):
            damaged[chance.randrange(len(damaged))] = chance.randrange(256)
        with contextlib.suppress(ReadError):
            docx.read(bytes(damaged), "letter")


def test_an_archive_with_too_many_entries_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(docx_package, "ENTRIES_MAX", 3)
    assert_refused(make_docx(paragraph("x"), {"a": "", "b": ""}), "entries")


def test_broken_xml_is_refused_with_its_place() -> None:
    assert_refused(docx_with_body(b"<a><b></a>"), r"word/document.xml is damaged: mismatched tag: line 1")


def test_an_unknown_compression_method_is_refused() -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archived:
        archived.writestr("word/document.xml", "<a/>")
    data = packed.getvalue().replace(b"\x08\x00", b"\x63\x00")
    assert_refused(data, "cannot be unpacked|damaged")


@pytest.mark.slow
def test_elements_nested_a_hundred_thousand_deep_are_read() -> None:
    depth = 100_000
    body = "<w:sdt>" * depth + paragraph("deep") + "</w:sdt>" * depth
    assert words(docx.read(make_docx(body), "letter")) == ["deep"]


@pytest.mark.slow
def test_tables_nested_by_the_thousand_are_read() -> None:
    depth = 20_000
    inner = "<w:tbl><w:tr><w:tc>" * depth + paragraph("deep") + "</w:tc></w:tr></w:tbl>" * depth
    assert words(docx.read(make_docx(inner), "letter")) == ["deep"]


@pytest.mark.slow
def test_cells_that_span_past_all_reason_lose_no_word() -> None:
    wide = f"<w:tc><w:tcPr><w:gridSpan w:val='99999999'/></w:tcPr>{paragraph('x')}</w:tc>"
    document = docx.read(make_docx(f"<w:tbl>{f'<w:tr>{wide}</w:tr>' * 3000}</w:tbl>"), "letter")
    assert words(document) == ["x"] * 3000


def test_a_part_that_points_out_of_the_archive_is_not_there() -> None:
    data = archive(
        {
            "_rels/.rels": b'<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">'
            b'<Relationship Id="r" Type="x/officeDocument" Target="../../../etc/passwd"/></Relationships>'
        }
    )
    assert_refused(data, "not a Word document")


@pytest.mark.slow
def test_lines_of_code_by_the_hundred_thousand_are_one_piece() -> None:
    began = time.process_time()
    document = docx.read(
        make_docx(styled_paragraph("line of code", "SourceCode") * 100_000, {"word/styles.xml": CODE_STYLE}), "letter"
    )
    assert len(document.blocks) == 1
    assert len(words(document)) == 300_000
    assert time.process_time() - began < 30


@pytest.mark.slow
def test_styles_that_never_end_are_passed_over_in_time() -> None:
    began = time.process_time()
    endless = "<w:style w:styleId='a'>" + "<w:name " * 200_000 + "<w:basedOn " * 200_000
    assert words(docx.read(make_docx(styled_paragraph("text", "a"), {"word/styles.xml": endless}), "letter")) == [
        "text"
    ]
    assert time.process_time() - began < 30


def test_styles_past_the_limit_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(docx_package, "WHOLE_BYTES_MAX", 10)
    assert_refused(make_docx(paragraph("x"), {"word/styles.xml": CODE_STYLE}), "styles.xml unpacks")
