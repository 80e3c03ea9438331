"""HTML: what a person reads on the page, as blocks."""

import pytest

from inorder.documents.model import Code, Document, Heading, ListItem, Paragraph, Picture, Table, Title
from inorder.documents.readers.html import reader as html
from tests.documents.document_text import block_texts

pytestmark = pytest.mark.req("DOC-1")


def read(page: str) -> Document:
    return html.read(page.encode(), "page")


def items(document: Document) -> list[tuple[int, str, str]]:
    return [(block.depth, block.marker, block.text) for block in document.blocks if isinstance(block, ListItem)]


def only_table(document: Document) -> Table:
    [table] = document.blocks
    assert isinstance(table, Table)
    return table


class TestText:
    def test_inline_markup_is_flattened_and_space_is_normal(self) -> None:
        document = read("<p>  A <b>bold</b>\n\tand <i><u>lean</u></i>&nbsp;tale<!-- no -->,   H<sub>2</sub>O </p>")
        assert block_texts(document) == [("paragraph", "A bold and lean tale, H2O")]

    def test_text_directly_in_the_body_or_a_division_is_a_paragraph(self) -> None:
        document = read("loose <div>in a box<p>inside</p>after</div> end")
        assert [text for _, text in block_texts(document)] == ["loose", "in a box", "inside", "after", "end"]

    def test_entities_are_characters(self) -> None:
        assert block_texts(read("<p>&lt;a&gt; &amp; &eacute;&#x1F600;&#8212;&unknown;</p>")) == [
            ("paragraph", "<a> & é😀—&unknown;")
        ]

    def test_one_line_break_is_a_space_and_two_end_a_paragraph(self) -> None:
        document = read("<p>one<br>two<br> <br/>three</p>")
        assert block_texts(document) == [("paragraph", "one two"), ("paragraph", "three")]

    def test_quotes_are_paragraphs(self) -> None:
        assert block_texts(read("<blockquote>said<p>he</p></blockquote>")) == [
            ("paragraph", "said"),
            ("paragraph", "he"),
        ]

    def test_broken_html_is_read_as_browsers_do(self) -> None:
        document = read("<p>one<p>two <b>three</p>four<ul><li>five<li>six</ul></div></table><td>seven")
        assert [text for _, text in block_texts(document)] == ["one", "two three", "four", "five", "six", "seven"]

    def test_links_are_kept_with_their_targets(self) -> None:
        [block] = read('<p>See <a href="/a b">the <b>one</b></a>, <a href="#top">up</a>, <a>nowhere</a>.</p>').blocks
        assert isinstance(block, Paragraph)
        assert block.text == "See the one, up, nowhere."
        assert block.links == [("the one", "/a b")]

    def test_a_link_around_a_block_belongs_to_it(self) -> None:
        [block] = read('<a href="https://x.y"><div>card</div></a>').blocks
        assert isinstance(block, Paragraph)
        assert block.links == [("card", "https://x.y")]

    def test_scripts_and_styles_and_templates_are_not_text(self) -> None:
        page = "<style>p{}</style><script>if (a<b) x()</script><template><p>t</p></template>"
        document = read(f"{page}<p>text</p><noscript>n</noscript><svg><text>s</text></svg>{page}")
        assert block_texts(document) == [("paragraph", "text")]


class TestTitle:
    def test_a_single_first_heading_is_the_title_and_the_others_move_up(self) -> None:
        document = read("<title>Site</title><h1>Tale</h1><h2>One</h2><h3>Deep</h3>")
        assert document.blocks == [
            Title(text="Tale"),
            Heading(text="One", level=1),
            Heading(text="Deep", level=2),
        ]

    def test_without_one_the_stated_title_is_it(self) -> None:
        document = read("<title> The\nsite </title><h1>A</h1><h1>B</h1>")
        assert block_texts(document)[0] == ("title", "The site")
        assert [block.level for block in document.blocks if isinstance(block, Heading)] == [1, 1]

    def test_a_stated_title_that_is_a_heading_is_not_said_twice(self) -> None:
        assert block_texts(read("<title>A</title><h2>A</h2><p>x</p>")) == [("heading", "A"), ("paragraph", "x")]


class TestFrame:
    @pytest.mark.parametrize(
        "frame",
        [
            "<nav>menu</nav>",
            "<aside>more</aside>",
            "<footer>legal</footer>",
            "<header>logo</header>",
            "<div role=navigation>menu</div>",
            "<div role=banner>logo</div>",
            "<p hidden>later</p>",
            "<p style='color:red; display: none'>later</p>",
            "<span aria-hidden=true>icon</span>",
            "<div id=cookie-banner>We use cookies</div>",
            "<div class='x CookieConsent'>We use cookies</div>",
            "<div aria-label='Cookie notice'>We use cookies</div>",
            "<div role=dialog>Accept?</div>",
            "<dialog>Accept?</dialog>",
            "<select><option>one</select>",
        ],
    )
    def test_what_is_not_content_is_left_out(self, frame: str) -> None:
        assert block_texts(read(f"{frame}<p>text</p>{frame}")) == [("paragraph", "text")]

    def test_within_an_article_headers_and_asides_belong_to_it(self) -> None:
        page = "<header><h2>A</h2></header><p>text</p><aside>note</aside><footer role=contentinfo>by me</footer>"
        expected = [("heading", "A"), ("paragraph", "text"), ("paragraph", "note"), ("paragraph", "by me")]
        assert block_texts(read(f"<article>{page}</article>")) == expected
        assert block_texts(read(f"<div role=main>{page}</div><footer>legal</footer>")) == expected

    def test_the_first_heading_of_a_page_is_kept_though_its_header_is_not(self) -> None:
        document = read("<header><img alt=logo><h1>Tale</h1><p>login</p></header><p>text</p>")
        assert block_texts(document) == [("title", "Tale"), ("paragraph", "text")]

    def test_a_page_that_is_nothing_but_frame_is_kept_and_said_to_be(self) -> None:
        document = read("<nav><ul><li>one</ul></nav><footer>two</footer>")
        assert [text for _, text in block_texts(document)] == ["one", "two"]
        assert "navigation" in document.warnings[0]

    def test_what_may_be_found_is_not_hidden(self) -> None:
        assert block_texts(read("<p hidden=until-found>text</p>")) == [("paragraph", "text")]


class TestLists:
    def test_lists_nest_and_keep_their_numbers(self) -> None:
        page = "<ol start=3><li>c<ul><li>x</li><li>y<ol type=a><li>deep</ol></ul></li><li value=9>i<li>j</ol>"
        assert items(read(page)) == [
            (0, "3.", "c"),
            (1, "-", "x"),
            (1, "-", "y"),
            (2, "a.", "deep"),
            (0, "9.", "i"),
            (0, "10.", "j"),
        ]

    def test_paragraphs_of_an_item_are_one_item(self) -> None:
        assert items(read("<ul><li><p>one</p><p>two</p></li><li>three</li></ul>")) == [
            (0, "-", "one two"),
            (0, "-", "three"),
        ]

    def test_code_within_an_item_parts_the_list_and_loses_nothing(self) -> None:
        document = read("<ol><li>do<pre>x</pre>then</li><li>done</li></ol>")
        assert block_texts(document) == [("listitem", "do"), ("code", "x"), ("paragraph", "then"), ("listitem", "done")]
        assert items(document)[1][1] == "2."

    def test_definitions_are_items_under_their_term(self) -> None:
        document = read("<dl><dt>Tea<dd>hot<dd>wet<dt>Ice<dd>cold</dl>")
        assert block_texts(document) == [
            ("paragraph", "Tea"),
            ("listitem", "hot"),
            ("listitem", "wet"),
            ("paragraph", "Ice"),
            ("listitem", "cold"),
        ]

    def test_an_item_without_a_list_is_a_paragraph(self) -> None:
        assert block_texts(read("<li>alone</li>")) == [("paragraph", "alone")]


class TestTables:
    def test_cells_span_and_headers_are_marked(self) -> None:
        table = only_table(
            read(
                "<table><caption>Facts</caption><thead><tr><th rowspan=2>k<th colspan=2>v<tr><th>a<th>b</thead>"
                "<tr><th>x<td>1<td>2<tr><td>y<td colspan=2>3</table>"
            )
        )
        assert (table.rows, table.columns, table.caption) == (4, 3, "Facts")
        assert [(c.text, c.row, c.column, c.rows, c.columns, c.is_header) for c in table.cells] == [
            ("k", 0, 0, 2, 1, True),
            ("v", 0, 1, 1, 2, True),
            ("a", 1, 1, 1, 1, True),
            ("b", 1, 2, 1, 1, True),
            ("x", 2, 0, 1, 1, True),
            ("1", 2, 1, 1, 1, False),
            ("2", 2, 2, 1, 1, False),
            ("y", 3, 0, 1, 1, False),
            ("3", 3, 1, 1, 2, False),
        ]

    def test_spans_never_leave_the_table_or_cover_a_cell(self) -> None:
        table = only_table(
            read("<table><tr><td>a<td rowspan=9>b<tr><td colspan=5>c<td>d<tr><td rowspan=0>e<td>f</table>")
        )
        places = [
            (row, column)
            for cell in table.cells
            for row in range(cell.row, cell.row + cell.rows)
            for column in range(cell.column, cell.column + cell.columns)
        ]
        assert len(places) == len(set(places))
        assert all(row < table.rows and column < table.columns for row, column in places)
        assert [cell.text for cell in table.cells] == ["a", "b", "c", "d", "e", "f"]

    def test_whatever_stands_in_a_cell_is_its_text(self) -> None:
        page = "<table><tr><td><h3>H</h3><ul><li>a<li>b</ul><td>x<br>y<img alt=pic><tr><td>1<td>2</table>"
        assert block_texts(read(page)) == [("table", "H a b | x y pic / 1 | 2")]

    def test_a_table_within_a_table_of_data_is_text_of_its_cell(self) -> None:
        page = "<table><tr><th>k<th>v<tr><td>a<td>in <table><tr><td>p<td>q</table></table>"
        assert block_texts(read(page)) == [("table", "k | v / a | in p q")]

    @pytest.mark.parametrize(
        "opening",
        ["<table role=presentation><tr><td>", "<table><tr><td>", "<table><tr><td><table><tr><td>x</table><td>"],
    )
    def test_a_table_that_lays_out_a_page_is_read_as_the_page(self, opening: str) -> None:
        document = read(f"{opening}<h2>Head</h2><p>text</p></table>")
        assert block_texts(document)[-2:] == [("heading", "Head"), ("paragraph", "text")]

    def test_an_empty_table_is_nothing(self) -> None:
        assert read("<table><tr><th></th><td> </td></tr></table>").blocks == []


class TestCodeAndPictures:
    @pytest.mark.parametrize(
        ("opening", "language"),
        [
            ("<pre>", ""),
            ('<pre><code class="language-python">', "python"),
            ('<pre class="brush: js">', "js"),
            ('<div class="highlight-source-shell"><pre>', "shell"),
            ('<pre lang=x class="lang-c++ hl">', "c++"),
        ],
    )
    def test_code_keeps_its_space_and_its_language(self, opening: str, language: str) -> None:
        document = read(f"{opening}\n\n  if a &lt; b:\n      <b>x</b>  \n\n")
        assert document.blocks == [Code(text="  if a < b:\n      x", language=language)]

    def test_line_breaks_in_code_are_lines(self) -> None:
        assert block_texts(read("<pre>a<br>b</pre>")) == [("code", "a\nb")]

    def test_a_picture_is_what_is_said_about_it(self) -> None:
        document = read("<p>before <img alt='a cat'> after</p><img src=x><img alt=''>")
        assert document.blocks == [Paragraph(text="before after"), Picture(caption="a cat"), Picture(caption="")]

    def test_the_caption_of_a_figure_belongs_to_its_picture(self) -> None:
        document = read("<figure><figcaption>A <b>fine</b> cat</figcaption><img alt=x></figure>")
        assert document.blocks == [Picture(caption="A fine cat")]

    def test_the_caption_of_a_figure_belongs_to_its_table(self) -> None:
        table = only_table(read("<figure><table><tr><th>a<th>b</table><figcaption>Cap</figcaption></figure>"))
        assert table.caption == "Cap"

    def test_the_caption_of_a_figure_of_code_is_a_paragraph_where_it_stands(self) -> None:
        document = read("<figure><pre>x</pre><figcaption>Cap</figcaption></figure>")
        assert block_texts(document) == [("code", "x"), ("paragraph", "Cap")]

    def test_formulas_are_as_they_were_written(self) -> None:
        source = "<semantics><mi>x</mi><annotation encoding='application/x-tex'>x^2</annotation></semantics>"
        document = read(f"<p>So <math>{source}</math> is.</p><math display=block>{source}</math>")
        assert block_texts(document) == [("paragraph", "So x^2 is."), ("formula", "x^2")]


class TestBytes:
    def test_the_encoding_of_the_page_is_heeded(self) -> None:
        page = "<meta charset='windows-1251'><p>Привет</p>".encode("cp1251")
        assert block_texts(html.read(page, "a")) == [("paragraph", "Привет")]

    def test_an_encoding_stated_the_old_way_is_heeded(self) -> None:
        meta = '<meta http-equiv="Content-Type" content="text/html; charset=Shift_JIS">'
        assert block_texts(html.read(f"{meta}<p>日本</p>".encode("shift_jis"), "a")) == [("paragraph", "日本")]

    def test_a_byte_order_mark_beats_what_the_page_says(self) -> None:
        page = "<meta charset=ascii><p>é你</p>".encode("utf-16")
        assert block_texts(html.read(page, "a")) == [("paragraph", "é你")]

    def test_a_wrong_statement_is_a_warning(self) -> None:
        document = html.read(b"<meta charset=utf-8><p>caf\xe9</p>", "a")
        assert block_texts(document) == [("paragraph", "café")]
        assert "Windows-1252" in document.warnings[0]

    @pytest.mark.parametrize("page", [b"", b"   ", b"<html></html>", b"<frameset><frame src=x></frameset>"])
    def test_a_page_without_text_says_so(self, page: bytes) -> None:
        assert html.read(page, "a").warnings == ["the document has no text"]
