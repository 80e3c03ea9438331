"""PDFs made to hurt, or just broken: each is read or refused with a line that says why, soon and with little memory."""

import random
import zlib
from pathlib import Path
from typing import Any

import pytest

from inorder.documents.readers.pdf import pdfium
from inorder.documents.readers.pdf import reader as pdf
from inorder.errors import ReadError
from tests.documents.document_text import words
from tests.documents.isolated_reader import read_isolated
from tests.documents.pdf_files import body, draw_lines, draw_pdf, heading, one_page, raw_pdf, stream, typeset_pdf

pytestmark = pytest.mark.req("DOC-1")

SECONDS_MAX = 10.0
HELLO = b"BT /F 12 Tf 60 700 Td (The lamp is lit.) Tj ET"
CATALOG = b"<</Type/Catalog/Pages 2 0 R>>"
PAGE = b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 800]/Contents 4 0 R/Resources<</Font<</F 5 0 R>>>>>>"
FONT = b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>"


def text_of_outcome(found: dict[str, Any]) -> str:
    return " ".join(block.get("text", "") for block in found["blocks"])


def check(found: dict[str, Any]) -> None:
    """It was read or refused with a line, in time, and did no harm to its process."""
    assert not found["died"]
    assert found["blocks"] or found["warnings"] or found["refused"]
    assert "\n" not in found["refused"]
    assert found["seconds"] < SECONDS_MAX


def pdf_with_pages(tree: bytes, **more: bytes) -> bytes:
    """A PDF whose tree of pages is this."""
    objects = {1: CATALOG, 2: tree, 3: PAGE, 4: stream(HELLO), 5: FONT}
    return raw_pdf(objects | {int(name[1:]): content for name, content in more.items()})


def looped_pdf(data: bytes) -> bytes:
    """The PDF, with a table of places that names itself as the one before it."""
    return data.replace(b"/Root 1 0 R", b"/Root 1 0 R/Prev %d" % data.index(b"xref\n"))


def sized_pdf(box: bytes) -> bytes:
    return pdf_with_pages(b"<</Type/Pages/Kids[3 0 R]/Count 1>>", o3=PAGE.replace(b"[0 0 600 800]", box))


def compress(content: bytes, levels: int = 1) -> bytes:
    """A stream, compressed as often as that."""
    for _ in range(levels):
        content = zlib.compress(content, 1)
    return stream(content, b"/Filter[%s]" % (b"/FlateDecode" * levels))


def test_the_ordinary_one_that_the_others_are_made_of_is_read() -> None:
    assert words(pdf.read(one_page(HELLO), "tale")) == ["The", "lamp", "is", "lit"]


NESTED = b"<</Type/Pages/Kids[%d 0 R]/Count 1/Parent %d 0 R>>"
DEEP_TREE = {f"o{number}": NESTED % (number + 1, number - 1) for number in range(10, 3010)}
UNREADABLE = {
    "no pages": pdf_with_pages(b"<</Type/Pages/Kids[]/Count 0>>"),
    "a tree of pages that is its own branch": pdf_with_pages(b"<</Type/Pages/Kids[2 0 R]/Count 1>>"),
    "two branches that are each other's": pdf_with_pages(
        b"<</Type/Pages/Kids[6 0 R]/Count 1>>", o6=b"<</Type/Pages/Kids[2 0 R]/Count 1/Parent 2 0 R>>"
    ),
    "a negative count": pdf_with_pages(b"<</Type/Pages/Kids[]/Count -5>>"),
    "no catalog": raw_pdf({2: b"<</Type/Pages/Kids[3 0 R]/Count 1>>", 3: PAGE}),
    "a root that is not there": one_page(HELLO).replace(b"/Root 1 0 R", b"/Root 9 0 R"),
    "only a header": b"%PDF-1.7\n",
    "only zeros after the header": b"%PDF-1.7\n" + bytes(100_000),
    "only zeros": bytes(10_000),
    "nothing": b"",
    "something else": b"\x89PNG\r\n\x1a\n" + bytes(range(256)),
    "only a trailer": b"%PDF-1.7\ntrailer\n<</Root 1 0 R/Size 2>>\nstartxref\n9\n%%EOF",
    "a page of impossible size": sized_pdf(b"[0 0 9000000 1]"),
}


@pytest.mark.process
@pytest.mark.parametrize("name", UNREADABLE)
def test_what_cannot_be_read_is_refused_with_one_line(name: str, outcomes: dict[str, dict[str, Any]]) -> None:
    check(outcomes[name])
    assert outcomes[name]["refused"]


LIES = {
    "a table of places that goes before itself": looped_pdf(one_page(HELLO)),
    "a count of billions": pdf_with_pages(b"<</Type/Pages/Kids[3 0 R]/Count 2000000000>>"),
    "a tree of pages three thousand deep": pdf_with_pages(b"<</Type/Pages/Kids[10 0 R]/Count 1>>", **DEEP_TREE),
    "arrays nested a hundred thousand deep": pdf_with_pages(
        b"<</Type/Pages/Kids[3 0 R]/Count 1>>", o6=b"[" * 100_000 + b"]" * 100_000
    ),
    "brackets in the content nested a hundred thousand deep": one_page(b"[" * 100_000 + HELLO),
    "states saved a hundred thousand times": one_page(b"q " * 100_000 + HELLO),
    "content that unpacks to a quarter of a gigabyte": one_page(b"", more={4: compress(b" " * 2**28)}),
    "content packed three times over": one_page(b"", more={4: compress(bytes(2**26), 3)}),
    "a form that draws itself": one_page(
        b"/X Do " + HELLO, more={3: PAGE.replace(b"/Font", b"/XObject<</X 6 0 R>>/Font"), 6: stream(
            b"/X Do", b"/Type/XObject/Subtype/Form/BBox[0 0 9 9]/Resources<</XObject<</X 6 0 R>>>>"
        )},
    ),
    "a picture of a million by a million dots": one_page(
        b"q 9 0 0 9 0 0 cm /X Do Q " + HELLO, more={3: PAGE.replace(b"/Font", b"/XObject<</X 6 0 R>>/Font"), 6: stream(
            b"x", b"/Type/XObject/Subtype/Image/Width 1000000/Height 1000000/BitsPerComponent 8/ColorSpace/DeviceRGB"
        )},
    ),
    "a box that is inside out": sized_pdf(b"[600 800 0 0]"),
    "a box that is no box": sized_pdf(b"[0 0 (wide) /high]"),
    "a box with nothing in it": sized_pdf(b"[0 0 0 0]"),
    "a box of a number too large to be one": sized_pdf(b"[0 0 99999999999999999999 1]"),
    "a box far below zero": sized_pdf(b"[-1e9 -1e9 -1e8 -1e8]"),
    "a font that is not there": one_page(HELLO, font=b"null"),
    "a font that is itself": one_page(HELLO, font=b"5 0 R"),
    "a font of no kind": one_page(HELLO, font=b"<</Type/Font/Subtype/Nonsense/BaseFont 17>>"),
    "letters of impossible size": one_page(HELLO.replace(b"12 Tf", b"1e30 Tf")),
    "letters of no size": one_page(HELLO.replace(b"12 Tf", b"0 Tf")),
    "letters at impossible places": one_page(HELLO.replace(b"60 700 Td", b"1e38 -1e38 Td")),
    "a matrix that squeezes all into a point": one_page(b"0 0 0 0 0 0 cm " + HELLO),
    "content that is cut off": one_page(HELLO[:-12]),
    "content that is noise": one_page(random.Random(3).randbytes(50_000)),
    "names with zeros in them": one_page(HELLO.replace(b"lamp", b"la\x00mp")),
    "a length that is a lie": one_page(HELLO).replace(b"/Length 50", b"/Length 99999999"),
    "a stream whose length is itself": one_page(b"", more={4: b"<</Length 4 0 R>>\nstream\n" + HELLO + b"\nendstream"}),
    "boxes by the thousand": one_page(
        b"".join(b"%d %d 9 9 re S " % (number % 60, number // 60) for number in range(3600)) + HELLO
    ),
    "a hundred thousand letters that stand alone": one_page(
        b"BT /F 1 Tf " + b"".join(b"1 0 0 1 %d %d Tm (x) Tj " % (at % 300 * 2, at // 300 * 2) for at in range(100_000))
    ),
}  # fmt: skip


READ_IN_SPITE_OF_IT = {
    "a form that draws itself",
    "a picture of a million by a million dots",
    "a box that is inside out",
    "a font that is not there",
    "a length that is a lie",
    "a table of places that goes before itself",
    "states saved a hundred thousand times",
    "boxes by the thousand",
}


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """What became of each of these, by name."""
    files = UNREADABLE | LIES
    return dict(zip(files, read_isolated(tmp_path_factory.mktemp("pdf"), list(files.values())), strict=True))


@pytest.mark.slow
@pytest.mark.parametrize("name", LIES)
def test_what_lies_or_swells_is_read_or_refused_in_time(name: str, outcomes: dict[str, dict[str, Any]]) -> None:
    check(outcomes[name])
    assert "The lamp is lit." in text_of_outcome(outcomes[name]) or name not in READ_IN_SPITE_OF_IT


def object_stream(inner: bytes) -> bytes:
    """A PDF whose objects are all in a stream, and whose table of places is one, too."""
    contents = {1: CATALOG, 2: b"<</Type/Pages/Kids[3 0 R]/Count 1>>", 3: PAGE, 5: FONT, 8: inner}
    offsets, written = [], b""
    for number, content in contents.items():
        offsets += [number, len(written)]
        written += content + b" "
    index = b" ".join(b"%d" % number for number in offsets) + b" "
    data = b"%PDF-1.7\n"
    places = {}
    for number, content in {
        4: stream(HELLO),
        6: stream(index + written, b"/Type/ObjStm/N %d/First %d" % (len(contents), len(index))),
    }.items():
        places[number] = len(data)
        data += b"%d 0 obj\n%s\nendobj\n" % (number, content)
    places[7] = len(data)
    packed_at = {number: (2, 6, order) for order, number in enumerate(contents)}
    entries = [packed_at.get(number, (1, places.get(number, 0), 0)) for number in range(9)]
    table = b"".join(kind.to_bytes(1) + place.to_bytes(4) + order.to_bytes(2) for kind, place, order in entries)
    data += b"7 0 obj\n%s\nendobj\n" % stream(table, b"/Type/XRef/W[1 4 2]/Size 9/Root 1 0 R")
    return data + b"startxref\n%d\n%%%%EOF\n" % places[7]


@pytest.mark.process
def test_objects_in_streams_are_read_and_bombs_of_them_are_survived(tmp_path: Path) -> None:
    honest, itself, many = read_isolated(
        tmp_path, [object_stream(b"null"), object_stream(b"6 0 R"), object_stream(b"[" * 50_000 + b"]" * 50_000)]
    )
    assert text_of_outcome(honest) == "The lamp is lit."
    check(itself)
    check(many)


@pytest.mark.process
def test_any_damage_is_read_or_refused(tmp_path: Path) -> None:
    chance = random.Random(23)
    whole = typeset_pdf([heading("The lamps"), body("The lamp is lit an hour before sunset. " * 20), body("The end.")])
    files = [one_page(HELLO), whole]
    damaged = []
    for round_number in range(300):
        data = bytearray(files[round_number % 2])
        for _ in range(chance.randint(1, 12)):
            data[chance.randrange(len(data))] = chance.randrange(256)
        if chance.random() < 0.3:
            begin = chance.randrange(len(data))
            del data[begin : begin + chance.randint(1, 200)]
        damaged.append(bytes(data))
    found = read_isolated(tmp_path, damaged)
    for each in found:
        check(each)
    assert 50 < sum(bool(each["blocks"]) for each in found) < 300


@pytest.mark.process
def test_every_truncation_is_read_or_refused(tmp_path: Path) -> None:
    whole = typeset_pdf([heading("The lamps"), body("The lamp is lit an hour before sunset. " * 20)])
    found = read_isolated(tmp_path, [whole[:length] for length in range(0, len(whole), 23)])
    for each in found:
        check(each)
    assert found[len(found) // 2]["refused"] == "the PDF is damaged or truncated"


@pytest.mark.process
def test_a_page_that_cannot_be_loaded_is_reported_and_the_others_are_read(tmp_path: Path) -> None:
    [found] = read_isolated(tmp_path, [pdf_with_pages(b"<</Type/Pages/Kids[3 0 R 9 0 R]/Count 2>>")])
    assert text_of_outcome(found) == "The lamp is lit."
    assert found["warnings"] == ["page 2 cannot be loaded"]


def test_more_pages_than_any_document_has_are_not_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pdfium, "PAGES_MAX", 2)
    with pytest.raises(ReadError, match="the PDF claims to have 3 pages; the limit is 2"):
        pdf.read(draw_pdf(*[draw_lines("x")] * 3), "tale")


def test_rubbish_before_the_header_and_after_the_end_does_no_harm() -> None:
    data = b"\x00\xff rubbish\n" + draw_pdf(draw_lines("The lamp is lit.")) + bytes(5000)
    assert words(pdf.read(data, "tale")) == ["The", "lamp", "is", "lit"]
