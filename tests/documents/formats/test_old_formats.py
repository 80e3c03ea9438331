"""Old and rare formats, which the extra `old-office` reads, and what is said without it."""

import pytest

from inorder.documents import old_office as conversions
from inorder.documents.convert.kinds import NEEDS_EXTRA
from inorder.documents.convert.settings import ConvertSettings
from inorder.documents.model import Document, Heading, ListItem, Paragraph, Table, Title
from inorder.documents.readers.registry import load_reader
from inorder.documents.readers.sniff import HEAD_BYTES, sniff
from inorder.errors import ReadError
from inorder.pipeline.sources.classify import FileKind, classify_file, reconsider
from tests.documents.formats.compound_files import OLE, make_compound, make_message

pytestmark = pytest.mark.req("DOC-1")

needs_extra = pytest.mark.skipif(not conversions.is_installed(), reason="the extra old-office is not installed")
MESSAGE = make_message("The lamp", "Ada", "Lit at dusk.\r\n\r\nAlways.")
PAPER = rb"""\documentclass{article}
\title{Light}
\begin{document}
\maketitle
\section{Oil}
Of $x^2$ lamps:
\begin{itemize}
\item brass
\end{itemize}
\begin{tabular}{ll}a&b\\c&d\end{tabular}
\end{document}
"""


@pytest.mark.parametrize(
    ("name", "data", "kind"),
    [
        ("a.doc", OLE + bytes(600), "doc"),
        ("a.XLS", OLE + bytes(600), "xls"),
        ("a.pps", OLE + bytes(600), "ppt"),
        ("a.vsd", OLE + bytes(600), "binary"),
        ("wrong.doc", OLE + bytes(600) + "Workbook".encode("utf-16-le"), "xls"),
        ("a.msg", MESSAGE, "msg"),
        ("a.doc", b"{\\rtf1 text}", "rtf"),
        ("a.xls", b"<html><body><table><tr><td>x</table>", "html"),
        ("a.xlsb", b"PK\x03\x04" + bytes(40), "xlsb"),
        ("a.pages", b"PK\x03\x04" + bytes(40), "pages"),
        ("server.key", b"-----BEGIN PRIVATE KEY-----\n", "unknown"),
        ("a.tex", PAPER, "latex"),
        ("a.vtt", b"WEBVTT\n", "subtitles"),
    ],
)
def test_an_old_file_is_known_by_its_content_and_then_by_its_name(name: str, data: bytes, kind: str) -> None:
    assert sniff(name, data[:HEAD_BYTES]) == kind


def test_without_the_extra_it_is_named_and_with_it_the_file_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conversions, "is_installed", lambda: False)
    head = OLE + bytes(600)
    found = classify_file("a.doc", head, 600, ConvertSettings())
    assert found == FileKind("", "doc", NEEDS_EXTRA)
    assert "pip install 'inorder[old-office]'" in NEEDS_EXTRA
    assert reconsider(FileKind("", "doc"), "a.doc", ConvertSettings()) == FileKind("", "doc")
    assert classify_file("a.tex", PAPER, 600, ConvertSettings()).role == "code"
    monkeypatch.setattr(conversions, "is_installed", lambda: True)
    assert reconsider(FileKind("", "doc"), "a.doc", ConvertSettings()) is None
    assert classify_file("a.doc", head, 600, ConvertSettings()) == FileKind("document", "doc")
    assert classify_file("a.tex", PAPER, 600, ConvertSettings()) == FileKind("document", "latex")


@needs_extra
def test_a_message_of_outlook_has_its_subject_and_text() -> None:
    document = load_reader("msg")(MESSAGE, "x")
    assert document.blocks == [
        Title(text="The lamp"),
        Paragraph(text="Lit at dusk."),
        Paragraph(text="Always."),
    ]
    assert document.mimetype == "application/vnd.ms-outlook"


@needs_extra
def test_a_paper_in_latex_has_its_title_sections_lists_tables_and_formulas() -> None:
    document = load_reader("latex")(PAPER, "x")
    kinds = [type(block) for block in document.blocks]
    assert kinds == [Title, Heading, Paragraph, ListItem, Table]
    paragraph = document.blocks[2]
    assert isinstance(paragraph, Paragraph)
    assert [paragraph.text[begin:end] for kind, begin, end in paragraph.spans if kind == "formula"] == ["x^2"]


HOSTILE = {
    "nothing but a mark": OLE,
    "zeros": OLE + bytes(5_000),
    "noise": OLE + bytes(range(256)) * 40,
    "no streams": make_compound({}),
    "an empty document": make_compound({"WordDocument": b""}),
    "a wrong archive": b"PK\x03\x04" + bytes(1_000),
}


@needs_extra
@pytest.mark.req("ROB-1")
@pytest.mark.parametrize("kind", [kind for kind in conversions.CONVERTED if kind != "latex"])
@pytest.mark.parametrize("name", HOSTILE)
def test_a_damaged_old_file_is_refused_with_a_reason(name: str, kind: str) -> None:
    with pytest.raises(ReadError) as refused:
        require_text(load_reader(kind)(HOSTILE[name], "x"))
    assert str(refused.value)
    assert "\n" not in str(refused.value)


def require_text(document: Document) -> None:
    """What a file without text is, too, is said in one line."""
    assert document.blocks == []
    raise ReadError(document.warnings[0])


def test_subtitles_are_read_as_what_is_said() -> None:
    text = (
        b"\xef\xbb\xbf1\r\n00:00:01,000 --> 00:00:02,000\r\n{\\an8}<i>The lamp</i>\r\n\r\n"
        b"2\r\n00:00:03,000 --> 00:00:04,000\r\nis lit.\r\nAll is well.\r\n"
    )
    assert load_reader("subtitles")(text, "x").blocks == [
        Paragraph(text="The lamp is lit."),
        Paragraph(text="All is well."),
    ]


def test_a_file_of_subtitles_without_cues_is_empty() -> None:
    document = load_reader("subtitles")(b"WEBVTT\n\nNOTE nothing\n", "x")
    assert (document.blocks, document.warnings) == ([], ["the document has no text"])
