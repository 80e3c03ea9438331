"""DocTags and the JSON beside them, judged by the library that defines both."""

import json
import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inorder.documents.doctags.code_languages import _SPELLINGS, language_name
from inorder.documents.doctags.docling_json import write_json
from inorder.documents.doctags.tags import write_doctags
from inorder.documents.model import (
    AnyBlock,
    Cell,
    Code,
    Document,
    Formula,
    Furniture,
    Heading,
    ListItem,
    Page,
    Paragraph,
    Picture,
    Table,
    Title,
)
from tests.documents.docling_reference import (
    assert_docling_agrees,
    assert_reads_back,
    document,
    load_doctags,
    load_json,
)
from tests.support.command_line import GUARD_S

pytestmark = pytest.mark.req("DOC-1")

HOSTILE = [
    "a < b & c > d",
    "</text><title>no</title>",
    "<page_break>",
    "<loc_1><loc_2><loc_3><loc_4>",
    "<nl><fcel>cell",
    "</doctag>",
    "<_Python_>",
    "two\nlines",
    "  space around\t",
    "\u05e9\u05dc\u05d5\u05dd \u202eabc\u202c",
    "\U0001f468\u200d\U0001f469\u200d\U0001f467 e\u0301",
    "#_#_DOCLING_DOC_PAGE_BREAK_1_2_#_#",
    "&amp; &lt;",
    '"quotes" \\ back',
    "\x01\x7f\x85\u2028",
    "",
    " ",
]
TABLE = Table(
    rows=3,
    columns=3,
    cells=[
        Cell("k", 0, 0, is_header=True),
        Cell("v", 0, 1, 1, 2, is_header=True),
        Cell("x", 1, 0, 2, 1, is_header=True),
        Cell("1", 1, 1),
        Cell("", 1, 2),
        Cell("2", 2, 1, 1, 2),
    ],
    caption="Facts",
)
EVERY_KIND: list[AnyBlock] = [
    Title(text="Tale"),
    Heading(text="One", level=1),
    Paragraph(text="See here.", links=[("here", "https://x.y")]),
    ListItem(text="first", ordered=True, marker="1."),
    ListItem(text="inner", depth=1),
    ListItem(text="second", ordered=True, marker="2."),
    Code(text="if x:\n    y  ", language="py"),
    TABLE,
    Picture(caption="A cat"),
    Picture(),
    Formula(text="x^2"),
    Furniture(text="My tale", kind="header"),
    Furniture(text="7", kind="footer"),
]


def with_text(block: AnyBlock, text: str) -> AnyBlock:
    match block:
        case Table():
            cells = [Cell(text, cell.row, cell.column, cell.rows, cell.columns, cell.is_header) for cell in block.cells]
            return Table(rows=3, columns=3, cells=cells, caption=text)
        case Picture():
            return Picture(caption=text)
        case Paragraph():
            return Paragraph(text=text, links=[(text, text)])
        case Title() | Formula() | Code():
            return type(block)(text=text)
        case Heading():
            return Heading(text=text, level=2)
        case ListItem():
            return ListItem(text=text, depth=block.depth, ordered=block.ordered, marker=text)
        case Furniture():
            return Furniture(text=text, kind=block.kind)


class TestAgreement:
    def test_every_kind_of_block_without_pages(self) -> None:
        assert_docling_agrees(document(*EVERY_KIND))

    @pytest.mark.parametrize("text", HOSTILE)
    def test_every_kind_of_block_with_hostile_text(self, text: str) -> None:
        assert_docling_agrees(document(*(with_text(block, text) for block in EVERY_KIND), name=text))

    def test_marks_of_page_breaks_by_the_thousand_in_a_text(self) -> None:
        marks = "".join(f"#_#_DOCLING_DOC_PAGE_BREAK_{n}_{n + 1}_#_# " for n in range(20_000))
        assert write_doctags(document(Paragraph(text=marks))).count("<page_break>") == 20_000

    def test_an_empty_document(self) -> None:
        assert_docling_agrees(document())
        assert write_doctags(document()) == "<doctag>\n</doctag>"

    def test_the_whole_text_as_it_is_written(self) -> None:
        assert write_doctags(document(*EVERY_KIND)) == (
            "<doctag><title>Tale</title>\n"
            "<section_header_level_1>One</section_header_level_1>\n"
            "<text>See here.</text>\n"
            "<ordered_list><list_item>first</list_item>\n"
            "<list_item><unordered_list><list_item>inner</list_item>\n"
            "</unordered_list></list_item>\n"
            "<list_item>second</list_item>\n"
            "</ordered_list>\n"
            "<code><_Python_>if x:\n    y  </code>\n"
            "<otsl><ched>k<ched>v<lcel><nl><rhed>x<fcel>1<ecel><nl><ucel><fcel>2<lcel><nl>"
            "<caption>Facts</caption></otsl>\n"
            "<picture><caption>A cat</caption></picture>\n"
            "<formula>x^2</formula>\n"
            "<page_header>My tale</page_header>\n"
            "<page_footer>7</page_footer>\n"
            "</doctag>"
        )

    def test_tables_of_odd_shapes(self) -> None:
        both_ways = Table(rows=3, columns=3, cells=[Cell("a", 0, 0, 2, 2), Cell("b", 2, 2)])
        only_headers = Table(
            rows=1, columns=2, cells=[Cell("a", 0, 0, is_header=True), Cell("b", 0, 1, is_header=True)]
        )
        assert_docling_agrees(
            document(both_ways, only_headers, Table(rows=0, columns=0, cells=[]), Table(rows=2, columns=1, cells=[]))
        )

    def test_lists_that_skip_levels_and_change_their_kind(self) -> None:
        depths = [2, 0, 5, 1, 1, 0, 90, 3]
        assert_docling_agrees(
            document(*(ListItem(text=f"w{n}", depth=d, ordered=n % 3 == 0) for n, d in enumerate(depths)))
        )

    @pytest.mark.slow
    def test_lists_nested_past_what_anybody_reads(self) -> None:
        assert_docling_agrees(document(*(ListItem(text=f"w{depth}", depth=depth) for depth in range(500))))

    def test_headings_deeper_than_there_are_tags(self) -> None:
        reference = assert_docling_agrees(
            document(*(Heading(text="h", level=level) for level in (-1, 0, 1, 6, 7, 500)))
        )
        assert [text.level for text in reference.texts] == [1, 1, 1, 6, 6, 6]  # type: ignore[union-attr]

    def test_every_language_has_a_tag(self) -> None:
        assert_docling_agrees(
            document(*(Code(text="x", language=language) for language in [*_SPELLINGS, "json", "nonsense", ""]))
        )
        assert (language_name("PY"), language_name("c++"), language_name("brainfuck")) == ("Python", "C++", "unknown")

    def test_where_it_came_from_is_said_if_known(self) -> None:
        written = document(Paragraph(text="x"))
        reference = json.loads(write_json(written, filename="a.txt", binary_hash=2**64 - 1))
        assert reference["origin"] == {"mimetype": "text/plain", "binary_hash": 2**64 - 1, "filename": "a.txt"}
        assert load_json(written).origin is None


class TestPages:
    def test_blocks_stand_where_they_stood(self) -> None:
        written = document(Paragraph(text="word", page=2, box=(60.0, 80.0, 300.0, 400.123456)), pages=2)
        reference = assert_docling_agrees(written)
        [prov] = reference.texts[0].prov
        assert (prov.page_no, prov.charspan, prov.bbox.as_tuple()) == (2, (0, 4), (60.0, 80.0, 300.0, 400.12))
        assert "<text><loc_50><loc_50><loc_250><loc_250>word</text>" in write_doctags(written)

    def test_every_kind_of_block_on_pages(self) -> None:
        blocks = [*EVERY_KIND, *EVERY_KIND]
        for number, block in enumerate(blocks):
            blocks[number] = with_text(block, f"w{number}")
            blocks[number].page = 1 + number // 5
            blocks[number].box = (1.0, 2.0, 3.0, 4.0)
        assert_docling_agrees(document(*blocks, pages=9))

    def test_a_list_ends_with_its_page(self) -> None:
        items = [ListItem(text=f"w{n}", page=page) for n, page in enumerate([1, 1, None, 2, 2, 3])]
        reference = assert_docling_agrees(document(*items, pages=3))
        assert len(reference.body.children) == 3

    def test_pages_that_go_back_or_are_skipped(self) -> None:
        assert_docling_agrees(document(*(Paragraph(text="w", page=page) for page in (3, 1, 5, 5, 2, 6)), pages=6))

    @pytest.mark.parametrize(
        "box",
        [
            (-50.0, -1.0, 9999.0, 9999.0),
            (30.0, 40.0, 10.0, 20.0),
            (float("nan"), 0.0, 1.0, 1.0),
            (0.0, 0.0, float("inf"), 1.0),
        ],
    )
    def test_boxes_that_cannot_be_are_brought_into_the_page(self, box: tuple[float, float, float, float]) -> None:
        assert_docling_agrees(document(Paragraph(text="w", page=1, box=box), pages=1))

    def test_a_block_on_a_page_that_is_not_there_has_no_place(self) -> None:
        reference = assert_docling_agrees(document(Paragraph(text="w", page=9), ListItem(text="x", page=9), pages=1))
        assert reference.texts[0].prov == []

    @pytest.mark.parametrize("size", [0.0, -1.0, float("nan"), float("inf"), 0.001])
    def test_a_page_without_a_size_is_none(self, size: float) -> None:
        written = document(Paragraph(text="w", page=1))
        written.pages = [Page(1, 600.0, size)]
        assert assert_docling_agrees(written).pages == {}


class TestExactness:
    def test_links_stand_in_the_original_text_and_not_in_the_text(self) -> None:
        links = [("a", "/1"), ("a", "/2"), ("missing", "/3"), ("", "/4")]
        [text] = load_json(document(Paragraph(text="a or a", links=links))).texts
        assert (text.text, text.orig) == ("a or a", "[a](/1) or [a](/2)")

    def test_the_whole_json_as_it_is_written(self) -> None:
        written = document(Heading(text="One", level=2), ListItem(text="a", page=1, box=(1, 2, 3, 4)), pages=1)
        root = '"children":[{"$ref":"#/texts/0"},{"$ref":"#/groups/0"}],"content_layer":"body","name":"_root_"'
        assert write_json(written).decode() == (
            '{"schema_name":"DoclingDocument","version":"1.10.0","name":"tale",'
            '"furniture":{"self_ref":"#/furniture","children":[],"content_layer":"furniture","name":"_root_",'
            '"label":"unspecified"},'
            f'"body":{{"self_ref":"#/body",{root},"label":"unspecified"}},'
            '"groups":[{"self_ref":"#/groups/0","parent":{"$ref":"#/body"},"children":[{"$ref":"#/texts/1"}],'
            '"content_layer":"body","name":"list","label":"list"}],'
            '"texts":[{"self_ref":"#/texts/0","parent":{"$ref":"#/body"},"children":[],"content_layer":"body",'
            '"label":"section_header","prov":[],"orig":"One","text":"One","level":2},'
            '{"self_ref":"#/texts/1","parent":{"$ref":"#/groups/0"},"children":[],"content_layer":"body",'
            '"label":"list_item","prov":[{"page_no":1,"bbox":{"l":1.0,"t":2.0,"r":3.0,"b":4.0,'
            '"coord_origin":"TOPLEFT"},"charspan":[0,1]}],"orig":"a","text":"a","enumerated":false,"marker":"-"}],'
            '"pictures":[],"tables":[],"key_value_items":[],"form_items":[],'
            '"pages":{"1":{"size":{"width":600.0,"height":800.0},"page_no":1}}}'
        )

    def test_headers_and_footers_are_furniture(self) -> None:
        texts = load_json(document(Furniture(text="h", kind="header"), Paragraph(text="x"))).texts
        assert [(text.label.value, text.content_layer.value) for text in texts] == [
            ("page_header", "furniture"),
            ("text", "body"),
        ]

    def test_captions_belong_to_what_they_describe(self) -> None:
        reference = load_json(document(TABLE, Picture(caption="A cat")))
        assert reference.tables[0].caption_text(reference) == "Facts"
        assert reference.pictures[0].caption_text(reference) == "A cat"

    def test_headers_of_rows_are_told_from_headers_of_columns(self) -> None:
        cells = load_json(document(TABLE)).tables[0].data.table_cells
        assert [(c.text, c.column_header, c.row_header) for c in cells[:4]] == [
            ("k", True, False),
            ("v", True, False),
            ("x", False, True),
            ("1", False, False),
        ]

    @pytest.mark.process
    def test_the_same_document_gives_the_same_bytes_under_any_hash_seed(self) -> None:
        program = (
            "from tests.documents.doctags.test_doctags import EVERY_KIND, document, write_json, write_doctags\n"
            "import hashlib\n"
            "written = document(*EVERY_KIND, pages=2)\n"
            "print(hashlib.sha256(write_json(written) + write_doctags(written).encode()).hexdigest())\n"
        )
        digests = {
            subprocess.run(
                [sys.executable, "-c", program],
                env={"PYTHONHASHSEED": seed, "PYTHONPATH": "src:."},
                capture_output=True,
                text=True,
                check=True,
                timeout=GUARD_S,
            ).stdout
            for seed in ("0", "1")
        }
        assert len(digests) == 1

    @pytest.mark.process
    def test_the_defining_library_is_not_needed_to_write(self) -> None:
        program = (
            "import sys; from inorder.documents.convert import stored; "
            "print('docling_core' in sys.modules or 'pydantic' in sys.modules)"
        )
        finished = subprocess.run(
            [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=GUARD_S
        )
        assert finished.stdout.strip() == "False"


class TestReadBack:
    """By the library, from the DocTags alone."""

    ORDINARY = document(
        Title(text="Tale", page=1),
        Heading(text="One", level=1, page=1),
        Paragraph(text="Some text, 3 < 4.", page=1),
        ListItem(text="first", page=1),
        ListItem(text="second", page=1),
        ListItem(text="third", page=2),
        Paragraph(text="More.", page=2),
        Code(text="x = 1\ny = 2", language="python", page=2),
        Formula(text="x^2", page=2),
        Furniture(text="Tale", kind="footer", page=2),
        Heading(text="Deep", level=9, page=3),
        ListItem(text="one", ordered=True, marker="1.", page=3),
        ListItem(text="in one", depth=1, page=3),
        ListItem(text="two", ordered=True, marker="2.", page=3),
        pages=3,
    )

    def test_the_texts_of_an_ordinary_document_are_the_same(self) -> None:
        expected = [block.text for block in self.ORDINARY.blocks if not isinstance(block, Table | Picture)]
        assert [text.text for text in load_doctags(self.ORDINARY).texts] == expected

    def test_the_cells_of_a_table_are_the_same(self) -> None:
        [table] = load_doctags(document(TABLE)).tables
        assert (table.data.num_rows, table.data.num_cols) == (3, 3)
        assert [cell.text for cell in table.data.table_cells if cell.text] == ["k", "v", "x", "1", "2"]

    @pytest.mark.parametrize("kinds", [(False, False), (False, True), (False, True, False), (True, False, True, True)])
    def test_items_after_nested_lists_are_read(self, kinds: tuple[bool, ...]) -> None:
        """The library does not read its own DocTags of these."""
        inward = [ListItem(text=f"in{depth}", depth=depth, ordered=kind) for depth, kind in enumerate(kinds)]
        outward = [ListItem(text=f"out{depth}", depth=depth, ordered=kind) for depth, kind in enumerate(kinds)][::-1]
        written = document(*inward, *outward)
        found = [text.text for text in load_doctags(written).texts]
        assert sorted(found) == sorted(each.text for each in (*inward, *outward))

    @pytest.mark.parametrize(
        "text",
        ["see <b>it</b>", "List<String> of </text>", "a<b and c>d", "#include <stdio.h>", "<_python_> first", "< x"],
    )
    def test_text_that_looks_like_a_tag_is_read(self, text: str) -> None:
        """The library takes it for one when it reads its own DocTags."""
        cell = Cell(text=text, row=0, column=0)
        written = document(
            Paragraph(text=text),
            Code(text=text, language="python"),
            ListItem(text=text),
            Table(rows=1, columns=1, cells=[cell], caption=text),
            Picture(caption=text),
        )
        assert_reads_back(written)
        assert load_json(written).texts[0].text == text


TEXTS = st.one_of(st.sampled_from(HOSTILE), st.text(alphabet=st.characters(exclude_categories=("Cs",)), max_size=12))
PAGES = st.one_of(st.none(), st.integers(1, 4))
BOXES = st.one_of(st.none(), st.tuples(*[st.floats(-10, 900, allow_nan=False) for _ in range(4)]))


def tables() -> st.SearchStrategy[Table]:
    return st.builds(
        lambda texts, caption, page, box: Table(
            rows=2,
            columns=2,
            cells=[Cell(text, n // 2, n % 2, is_header=n < 2) for n, text in enumerate(texts)],
            caption=caption,
            page=page,
            box=box,
        ),
        st.lists(TEXTS, max_size=4),
        TEXTS,
        PAGES,
        BOXES,
    )


def blocks() -> st.SearchStrategy[Any]:
    common = {"text": TEXTS, "page": PAGES, "box": BOXES}
    return st.one_of(
        st.builds(Title, **common),
        st.builds(Heading, level=st.integers(1, 8), **common),
        st.builds(Paragraph, links=st.lists(st.tuples(TEXTS, TEXTS), max_size=2), **common),
        st.builds(ListItem, depth=st.integers(0, 4), ordered=st.booleans(), marker=TEXTS, **common),
        st.builds(ListItem, depth=st.integers(0, 4), ordered=st.booleans(), marker=TEXTS, **common),
        st.builds(Code, language=st.sampled_from(["python", "json", ""]), **common),
        st.builds(Formula, **common),
        st.builds(Furniture, kind=st.sampled_from(["header", "footer"]), **common),
        st.builds(Picture, caption=TEXTS, page=PAGES, box=BOXES),
        tables(),
    )


@pytest.mark.slow
@settings(max_examples=300)
@given(st.lists(blocks(), max_size=12), st.integers(0, 3), TEXTS)
def test_any_document_is_agreed_on(chosen: list[AnyBlock], pages: int, name: str) -> None:
    written: Document = document(*chosen, pages=pages, name=name)
    assert_docling_agrees(written)
    assert write_json(written) == write_json(written)
