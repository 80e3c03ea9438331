"""What a document has besides plain text: emphasis, footnotes, numbers of headings, formulas, charts, comments."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inorder.documents.doctags.markdown import write_markdown
from inorder.documents.model import Document, Formula, Heading, Paragraph, Picture, Span, Table
from inorder.documents.readers.registry import load_reader
from inorder.documents.readers.spans import collapse_marked
from inorder.documents.readers.whitespace import collapse_whitespace
from tests.documents.docx_files import make_docx, paragraph, part, relation
from tests.documents.formats.office_files import A, X, cell, line, make_pptx, make_xlsx, shape

pytestmark = pytest.mark.req("DOC-1")

M = 'xmlns:m="http://schemas.openxmlformats.org/officeDocument/2006/math"'
C = "http://schemas.openxmlformats.org/drawingml/2006/chart"


def read(kind: str, data: bytes | str) -> Document:
    return load_reader(kind)(data.encode() if isinstance(data, str) else data, "x")


def run(text: str, properties: str = "") -> str:
    return f'<w:r><w:rPr>{properties}</w:rPr><w:t xml:space="preserve">{text}</w:t></w:r>'


def marked(document: Document) -> list[tuple[str, str]]:
    """Each marked part of a text."""
    found: list[tuple[str, str]] = []
    for block in document.blocks:
        owners = block.cells if isinstance(block, Table) else [block]
        for owner in owners:
            found += [(kind, getattr(owner, "text", "")[begin:end]) for kind, begin, end in owner.spans]
    return found


def pptx_run(text: str, properties: str = "") -> str:
    return f"<a:r><a:rPr {properties}/><a:t>{text}</a:t></a:r>"


OFF, BOLD, ITALIC = '<w:b w:val="0"/>', 'b="1"', 'i="1"'
EMPHASIS = {
    "markdown": ("An **oil lamp** and *a  wick*.\n\n| k | **v** |\n|---|---|\n| `x` | y |\n", "code"),
    "html": (
        "<p>An <b>oil\n lamp</b> and <em> a wick</em>.</p><table><tr><th>k<th><strong>v</strong><tr><td><code>x</code>"
        "<td>y</table>",
        "code",
    ),
    "docx": (
        make_docx(
            f"<w:p>{run('An ')}{run('oil ', '<w:b/>')}{run('lamp', '<w:b/>')}{run(' and ', OFF)}"
            f"{run('a wick', '<w:i/>')}{run('.')}</w:p><w:tbl><w:tr><w:tc>{paragraph('k')}</w:tc>"
            f"<w:tc><w:p>{run('v', '<w:b/>')}</w:p></w:tc></w:tr>"
            f"<w:tr><w:tc><w:p>{run('x', '<w:i/>')}</w:p></w:tc><w:tc>{paragraph('y')}</w:tc></w:tr></w:tbl>"
        ),
        "italic",
    ),
    "pptx": (
        make_pptx(
            shape(
                f"<a:p>{pptx_run('An ')}{pptx_run('oil lamp', BOLD)}{pptx_run(' and ')}{pptx_run('a wick', ITALIC)}"
                f"{pptx_run('.')}</a:p>"
            )
            + f"<a:tbl><a:tr>{cell('k')}<a:tc><a:txBody><a:p>{pptx_run('v', BOLD)}</a:p></a:txBody></a:tc></a:tr>"
            f"<a:tr><a:tc><a:txBody><a:p>{pptx_run('x', ITALIC)}</a:p></a:txBody></a:tc>{cell('y')}</a:tr></a:tbl>"
        ),
        "italic",
    ),
}


@pytest.mark.parametrize("kind", EMPHASIS)
def test_bold_and_italic_words_are_marked_and_written_as_markdown(kind: str) -> None:
    data, last = EMPHASIS[kind]
    document = read(kind, data)
    assert marked(document) == [("bold", "oil lamp"), ("italic", "a wick"), ("bold", "v"), (last, "x")]
    assert getattr(document.blocks[0], "text", "") == "An oil lamp and a wick."
    written = write_markdown(document)
    assert "An **oil lamp** and *a wick*." in written
    assert "**v** |" in written
    assert ("`x`" if last == "code" else "*x*") in written


WORDS = st.lists(st.sampled_from(["a", "b ", " c", " ", "", "de", "\n", "f,"]), max_size=8)


@given(WORDS, st.lists(st.tuples(st.sampled_from(["bold", "italic", "code"]), st.integers(0, 8), st.integers(0, 8))))
def test_marks_change_no_text_and_begin_and_end_with_a_sign(pieces: list[str], marks: list[Span]) -> None:
    text, spans = collapse_marked(pieces, marks)
    assert text == collapse_whitespace("".join(pieces))
    for _, begin, end in spans:
        assert 0 <= begin < end <= len(text)
        assert text[begin:end] == text[begin:end].strip()
    assert spans == sorted(spans, key=lambda span: span[1])


@pytest.mark.parametrize(
    ("spans", "expected"),
    [
        ([("bold", 0, 3), ("italic", 4, 7)], "**one** *two* (three)"),
        ([("bold", 0, 7), ("italic", 4, 13)], "**one *two*** (three)"),
        ([("bold", 8, 15)], "one two **(three)**"),
        ([("bold", 5, 15)], "one t**wo (three)**"),
        ([("bold", 0, 99)], "**one two (three)**"),
        ([("code", 4, 7), ("bold", 4, 7)], "one **`two`** (three)"),
        ([("formula", 4, 7)], "one $two$ (three)"),
        ([("bold", 4, 9)], "one two (three)"),
    ],
)
def test_marks_are_nested_and_left_out_where_markdown_would_not_read_them(spans: list[Span], expected: str) -> None:
    document = Document(name="x", mimetype="", blocks=[Paragraph(text="one two (three)", spans=spans)])
    assert write_markdown(document) == f"{expected}\n"


def test_code_with_ticks_and_links_in_code_are_written_so_that_they_are_read_again() -> None:
    source = "Use `` a`b `` and [`run`](https://x.example/) or `x [y](z)`.\n"
    document = read("markdown", source)
    assert write_markdown(document) == "Use ``a`b`` and [`run`](https://x.example/) or `x [y](z)`.\n"


def test_a_link_is_not_placed_in_code_that_has_its_text() -> None:
    source = "In a browser: `inorder serve --open` ([serve](serve.md)).\n"
    assert write_markdown(read("markdown", source)) == source


def test_text_like_a_tag_that_is_no_html_is_text() -> None:
    document = read("markdown", "The token <unk> and <your name>, a<br>b <b>c</b>, <Tabs>d</Tabs>.\n\n<unk>\n\n<pad>\n")
    assert [getattr(block, "text", "") for block in document.blocks] == [
        "The token <unk> and <your name>, a b c, d.",
        "<unk>",
        "<pad>",
    ]
    assert "\\<unk> and \\<your name>, a b **c**, d." in write_markdown(document)


def test_dollars_are_formulas_only_where_they_enclose_one() -> None:
    document = read("markdown", "From $5-$10, $HOME/$USER, and $x_1 + y$.\n\n$$\nE = mc^2\n$$\n")
    assert marked(document) == [("formula", "x_1 + y")]
    assert document.blocks[0] == Paragraph(text="From $5-$10, $HOME/$USER, and x_1 + y.", spans=[("formula", 30, 37)])
    assert document.blocks[1] == Formula(text="E = mc^2")
    assert write_markdown(document) == ("From \\$5-\\$10, \\$HOME/\\$USER, and $x_1 + y$.\n\n$$\nE = mc^2\n$$\n")


def test_footnotes_of_markdown_keep_their_names() -> None:
    source = "A lamp[^1] and oil[^oil].\n\n[^1]: Of brass.\n\n[^oil]: Whale oil.\n"
    document = read("markdown", source)
    assert [block.text for block in document.blocks if isinstance(block, Paragraph)] == [
        "A lamp[1] and oil[oil].",
        "[1] Of brass.",
        "[oil] Whale oil.",
    ]
    assert write_markdown(document) == source


def test_notes_and_comments_of_word_have_their_numbers_and_authors() -> None:
    body = (
        f'<w:p>{run("A lamp")}<w:r><w:footnoteReference w:id="7"/></w:r>{run(" and oil")}'
        '<w:r><w:endnoteReference w:id="3"/></w:r><w:r><w:commentReference w:id="0"/></w:r></w:p>'
    )
    document = read(
        "docx",
        make_docx(
            body,
            {
                "word/footnotes.xml": part("footnotes", f'<w:footnote w:id="7">{paragraph("Of brass.")}</w:footnote>'),
                "word/endnotes.xml": part("endnotes", f'<w:endnote w:id="3">{paragraph("Of whales.")}</w:endnote>'),
                "word/comments.xml": part(
                    "comments", f'<w:comment w:id="0" w:author="Ada">{paragraph("Really?")}</w:comment>'
                ),
            },
            "".join(relation(f"r{kind}", kind, f"{kind}.xml") for kind in ("footnotes", "endnotes", "comments")),
        ),
    )
    assert [(block.text, block.source) for block in document.blocks if isinstance(block, Paragraph)] == [
        ("A lamp[1] and oil[i]", ""),
        ("[1] Of brass.", "footnote"),
        ("[i] Of whales.", "footnote"),
        ("Ada: Really?", "note"),
    ]
    assert write_markdown(document) == (
        "A lamp[^1] and oil[^i]\n\n[^1]: Of brass.\n\n[^i]: Of whales.\n\n*(note)* Ada: Really?\n"
    )


def test_a_numbered_heading_of_word_has_its_number() -> None:
    levels = (
        '<w:abstractNum w:abstractNumId="1"><w:lvl w:ilvl="0"><w:numFmt w:val="decimal"/>'
        '<w:lvlText w:val="%1"/></w:lvl>'
        '<w:lvl w:ilvl="1"><w:numFmt w:val="decimal"/><w:lvlText w:val="%1.%2"/></w:lvl></w:abstractNum>'
        '<w:num w:numId="1"><w:abstractNumId w:val="1"/></w:num>'
    )

    def heading(text: str, level: int) -> str:
        number = f'<w:numPr><w:ilvl w:val="{level}"/><w:numId w:val="1"/></w:numPr>'
        return paragraph(text, f'<w:outlineLvl w:val="{level}"/>{number}')

    document = read(
        "docx",
        make_docx(
            heading("Lamps", 0) + heading("Oil", 1) + heading("Gas", 1) + heading("Lenses", 0),
            {"word/numbering.xml": part("numbering", levels)},
            relation("r1", "numbering", "numbering.xml"),
        ),
    )
    assert document.blocks == [
        Heading(text="1 Lamps", level=1),
        Heading(text="1.1 Oil", level=2),
        Heading(text="1.2 Gas", level=2),
        Heading(text="2 Lenses", level=1),
    ]


def math(text: str) -> str:
    return f"<m:r><m:t>{text}</m:t></m:r>"


E = "<m:e>{}</m:e>"


@pytest.mark.parametrize(
    ("omml", "latex"),
    [
        (f"<m:f><m:num>{math('a')}</m:num><m:den>{math('2b')}</m:den></m:f>", r"\frac{a}{2b}"),
        (f"<m:sSup>{E.format(math('x'))}<m:sup>{math('2')}</m:sup></m:sSup>{math('+αβ')}", r"x^{2}+\alpha\beta"),
        (
            f"<m:sSubSup>{E.format(math('xy'))}<m:sub>{math('i')}</m:sub><m:sup>{math('2')}</m:sup></m:sSubSup>",
            "{xy}_{i}^{2}",
        ),
        (f"<m:rad><m:deg>{math('3')}</m:deg>{E.format(math('x'))}</m:rad>", r"\sqrt[3]{x}"),
        (
            f'<m:nary><m:naryPr><m:chr m:val="∑"/></m:naryPr><m:sub>{math("i=1")}</m:sub><m:sup>{math("n")}</m:sup>'
            f"{E.format(math('i'))}</m:nary>",
            r"\sum_{i=1}^{n}i",
        ),
        (
            f'<m:d><m:dPr><m:begChr m:val="["/><m:endChr m:val="]"/></m:dPr>{E.format(math("x"))}</m:d>',
            r"\left[x\right]",
        ),
        (
            f"<m:func><m:fName>{math('sin')}</m:fName>{E.format(math('x'))}</m:func>",
            r"\sin x",
        ),
        (
            f"<m:func><m:fName><m:limLow>{E.format(math('lim'))}<m:lim>{math('n→∞')}</m:lim></m:limLow></m:fName>"
            f"{E.format(math('n'))}</m:func>",
            r"\lim_{n\rightarrow\infty}n",
        ),
        (
            f"<m:m><m:mr>{E.format(math('a')) + E.format(math('b'))}</m:mr>"
            f"<m:mr>{E.format(math('c')) + E.format(math('d'))}</m:mr></m:m>",
            r"\begin{matrix}a & b \\ c & d\end{matrix}",
        ),
        (f'<m:acc><m:accPr><m:chr m:val="\u20d7"/></m:accPr>{E.format(math("v"))}</m:acc>', r"\vec{v}"),
        (math("100 %_#") + math("a{b}"), r"100 \%\_\#a\{b\}"),
    ],
)
def test_formulas_of_word_are_latex(omml: str, latex: str) -> None:
    inline = read("docx", make_docx(f"<w:p>{run('so ')}<m:oMath {M}>{omml}</m:oMath>{run(' holds')}</w:p>"))
    assert inline.blocks == [Paragraph(text=f"so {latex} holds", spans=[("formula", 3, 3 + len(latex))])]
    alone = read("docx", make_docx(f"<w:p><m:oMathPara {M}><m:oMath>{omml}</m:oMath></m:oMathPara></w:p>"))
    assert alone.blocks == [Formula(text=latex)]


@pytest.mark.req("ROB-1")
def test_a_formula_nested_a_hundred_thousand_times_is_read() -> None:
    depth = 100_000
    omml = "<m:sSup><m:e>" * depth + math("x") + "</m:e></m:sSup>" * depth
    document = read("docx", make_docx(f"<w:p>{run('so ')}<m:oMath {M}>{omml}</m:oMath></w:p>"))
    [block] = document.blocks
    assert isinstance(block, Paragraph)
    assert block.text.strip("so {}") == "x"


def test_a_table_in_a_cell_follows_the_table_that_it_is_in() -> None:
    inner = f"<w:tbl><w:tr><w:tc>{paragraph('p')}</w:tc><w:tc>{paragraph('q')}</w:tc></w:tr></w:tbl>"
    holder = f"<w:tc>{paragraph('before')}{inner}{paragraph('after')}</w:tc>"
    document = read("docx", make_docx(f"<w:tbl><w:tr>{holder}<w:tc>{paragraph('x')}</w:tc></w:tr></w:tbl>"))
    assert [[cell.text for cell in block.cells] for block in document.blocks if isinstance(block, Table)] == [
        ["before after", "x"],
        ["p", "q"],
    ]


def chart(*series: str, title: str = "Oil per lamp") -> str:
    text = f"<c:title><c:tx><c:rich><a:p><a:r><a:t>{title}</a:t></a:r></a:p></c:rich></c:tx></c:title>"
    return f'<c:chartSpace xmlns:c="{C}" xmlns:a="{A}"><c:chart>{text}{"".join(series)}</c:chart></c:chartSpace>'


def series(name: str, *values: str) -> str:
    categories = "".join(f'<c:pt idx="{n}"><c:v>year {n}</c:v></c:pt>' for n in range(len(values)))
    points = "".join(f'<c:pt idx="{n}"><c:v>{value}</c:v></c:pt>' for n, value in enumerate(values))
    return (
        f'<c:ser><c:tx><c:strRef><c:strCache><c:pt idx="0"><c:v>{name}</c:v></c:pt></c:strCache></c:strRef></c:tx>'
        f"<c:cat><c:strRef><c:strCache>{categories}</c:strCache></c:strRef></c:cat>"
        f"<c:val><c:numRef><c:numCache>{points}</c:numCache></c:numRef></c:val></c:ser>"
    )


CHART = chart(series("litres", "4", "4.1000000000000005"), series("price", "7"))
FRAME = f'<c:chart xmlns:c="{C}" r:id="c1"/>'
CHARTS = {
    "docx": make_docx(
        f"<w:p><w:r><w:drawing>{FRAME}</w:drawing></w:r></w:p>",
        {"word/charts/chart1.xml": CHART},
        relation("c1", "chart", "charts/chart1.xml"),
    ),
    "pptx": make_pptx(
        f"<p:graphicFrame>{FRAME}</p:graphicFrame>",
        links=relation("c1", "chart", "../charts/chart1.xml"),
        parts={"ppt/charts/chart1.xml": CHART},
    ),
    "xlsx": make_xlsx(
        ("S", "<sheetData/>"),
        links=relation("d1", "drawing", "../drawings/drawing1.xml"),
        parts={
            "xl/drawings/drawing1.xml": "<x/>",
            "xl/drawings/_rels/drawing1.xml.rels": '<Relationships xmlns="http://schemas.openxmlformats.org/package/'
            f'2006/relationships">{relation("c1", "chart", "../charts/chart1.xml")}</Relationships>',
            "xl/charts/chart1.xml": CHART,
        },
    ),
}


@pytest.mark.parametrize("kind", CHARTS)
def test_a_chart_is_a_table_with_its_title_and_data(kind: str) -> None:
    document = read(kind, CHARTS[kind])
    [found] = [block for block in document.blocks if isinstance(block, Table)]
    assert found.caption == "Oil per lamp"
    assert [cell.text for cell in found.cells] == ["", "litres", "price", "year 0", "4", "7", "year 1", "4.1", ""]


def test_a_chart_without_data_is_a_picture_with_its_title() -> None:
    data = make_pptx(
        f"<p:graphicFrame>{FRAME}</p:graphicFrame>",
        links=relation("c1", "chart", "../charts/chart1.xml"),
        parts={"ppt/charts/chart1.xml": chart()},
    )
    assert read("pptx", data).blocks == [Picture(caption="Oil per lamp", page=1)]


def test_comments_of_a_sheet_have_their_cell() -> None:
    comments = (
        f'<comments xmlns="{X}"><authors><author>Ada</author></authors><commentList><comment ref="B2" authorId="0">'
        "<text><r><t>Ada: </t></r><r><t>too much</t></r></text></comment></commentList></comments>"
    )
    data = make_xlsx(
        ("S", '<sheetData><row r="1"><c r="A1"><v>1</v></c></row></sheetData>'),
        links=relation("k", "comments", "../comments1.xml"),
        parts={"xl/comments1.xml": comments},
    )
    assert read("xlsx", data).blocks[-1] == Paragraph(text="B2: Ada: too much", source="note")


def test_a_formula_on_a_slide_is_latex() -> None:
    slide = shape(f"<a:p><m:oMath {M}><m:sSup>{E.format(math('x'))}<m:sup>{math('2')}</m:sup></m:sSup></m:oMath></a:p>")
    assert read("pptx", make_pptx(slide)).blocks == [Paragraph(text="x^{2}", spans=[("formula", 0, 5)], page=1)]


def test_a_line_of_a_slide_without_emphasis_has_no_spans() -> None:
    assert marked(read("pptx", make_pptx(shape(line("plain"))))) == []
