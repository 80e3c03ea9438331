"""Whatever the bytes are: a document that can be written, or a refusal that says why. Nothing else gets out."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inorder.documents.doctags.docling_json import write_json
from inorder.documents.doctags.tags import write_doctags
from inorder.documents.readers.registry import load_reader
from inorder.errors import ReadError
from tests.documents.docling_reference import assert_docling_agrees
from tests.documents.docx_files import make_docx, paragraph, styled_paragraph
from tests.documents.formats.samples import SAMPLES

pytestmark = pytest.mark.req("DOC-1")

PAGE = (
    "<title>T</title><h1 id=a>Head</h1><p>One <a href='x'>two</a><br>three &amp; &#65;<ul><li>a<ol type=i><li>b</ol>"
    "</ul>"
    "<table><caption>c<tr><th rowspan=2>k<th colspan=2>v<tr><td>1<td>2</table><pre class=language-py>x\n y</pre>"
    "<figure><img alt=z><figcaption>f</figcaption></figure><dl><dt>t<dd>d</dl><math display=block><mi>x</math>"
)
NOTES = (
    "---\ntitle: T\n---\n# Head\n\nOne **two** [three](/x) ![p](y)\n\n- a\n  1. b\n\n> q\n\n```py\nx\n```\n\n"
    "|k|v|\n|-|-|\n|1|2|\n\n<div>h</div>\n\n[r]: /u\n"
)
SEEDS = {
    "docx": make_docx(
        styled_paragraph("Head", "Heading1")
        + paragraph("text")
        + f"<w:tbl><w:tr><w:tc>{paragraph('x')}</w:tc></w:tr></w:tbl>"
    ),
    "html": PAGE.encode(),
    "markdown": NOTES.encode(),
    "text": b"one\n\ntwo\fthree \xc3\xa9",
    **SAMPLES,
}


def check(kind: str, data: bytes) -> None:
    try:
        document = load_reader(kind)(data, "name")
    except ReadError as error:
        refusal = str(error)
    else:
        refusal = ""
        assert document.blocks or document.warnings
        write_json(document)
        write_doctags(document).encode()
    assert "\n" not in refusal


@pytest.mark.parametrize("kind", SEEDS)
def test_an_ordinary_document_of_each_kind_is_agreed_on_by_the_defining_library(kind: str) -> None:
    document = load_reader(kind)(SEEDS[kind], "name")
    assert document.blocks
    assert document.reader.startswith(kind)
    assert_docling_agrees(document)


@pytest.mark.slow
@pytest.mark.parametrize("kind", SEEDS)
@settings(max_examples=150)
@given(data=st.binary(max_size=300))
def test_any_bytes(kind: str, data: bytes) -> None:
    check(kind, data)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["html", "markdown"])
@settings(max_examples=300)
@given(
    pieces=st.lists(
        st.sampled_from([*"<>/=\"'&;#!-[](){}*_`~|:.\n\t \\", "a", "1", "td", "table", "li", "--"]), max_size=60
    )
)
def test_any_mixture_of_signs(kind: str, pieces: list[str]) -> None:
    check(kind, "".join(pieces).encode())


@pytest.mark.slow
@pytest.mark.parametrize("kind", SEEDS)
def test_any_damage_to_an_ordinary_document(kind: str) -> None:
    chance = random.Random(11)
    for _ in range(400):
        data = bytearray(SEEDS[kind])
        for _ in range(chance.randint(1, 6)):
            begin = chance.randrange(len(data))
            end = min(begin + chance.randint(0, 5), len(data))
            data[begin:end] = chance.randbytes(chance.randint(0, 3))
            if chance.random() < 0.3:
                data += data[begin : begin + 40]
        check(kind, bytes(data))
