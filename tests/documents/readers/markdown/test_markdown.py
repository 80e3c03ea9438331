"""Markdown: CommonMark with tables, and the HTML in it."""

import time

import pytest

from inorder.documents.model import Code, Document, Heading, ListItem, Paragraph, Picture, Table, Title
from inorder.documents.readers.markdown import reader as markdown
from tests.documents.document_text import block_texts, words

pytestmark = pytest.mark.req("DOC-1")


def read(text: str) -> Document:
    return markdown.read(text.encode(), "notes")


def items(document: Document) -> list[tuple[int, str, str]]:
    return [(block.depth, block.marker, block.text) for block in document.blocks if isinstance(block, ListItem)]


def test_headings_of_both_kinds() -> None:
    assert read("Tale\n====\n\n## One #\n\nTwo\n---\n\n### *Deep* `x`").blocks == [
        Title(text="Tale"),
        Heading(text="One", level=1),
        Heading(text="Two", level=1),
        Heading(text="Deep x", level=2, spans=[("italic", 0, 4), ("code", 5, 6)]),
    ]


def test_two_first_headings_are_no_title() -> None:
    assert read("# A\n\n# B").blocks == [Heading(text="A", level=1), Heading(text="B", level=1)]


def test_markup_is_flattened_and_lines_join() -> None:
    document = read("A **bold**\n_lean_ ~~old~~ `co*de*`  \nline\\\nend &amp; \\*so\\* snake_case_name 2 * 3 < 4")
    assert block_texts(document) == [("paragraph", "A bold lean old co*de* line end & *so* snake_case_name 2 * 3 < 4")]


def test_links_of_every_form_are_kept() -> None:
    [block] = read("[one](/1 'title'), [two][t], [three], <https://x.y/4>, [up](#top)\n\n[t]: /2\n[three]: /3").blocks
    assert isinstance(block, Paragraph)
    assert block.text == "one, two, three, https://x.y/4, up"
    assert block.links == [("one", "/1"), ("two", "/2"), ("three", "/3"), ("https://x.y/4", "https://x.y/4")]


def test_pictures_follow_their_paragraph() -> None:
    document = read("See ![a *fine* cat](cat.png) here ![](x.png)")
    assert document.blocks == [Paragraph(text="See here"), Picture(caption="a fine cat"), Picture(caption="")]


def test_pictures_in_headings_items_and_cells_are_words_of_theirs() -> None:
    document = read("# a ![b](x)\n\n- ![c](x)![d](x) e <img src=x alt='f'>\n\n| g ![h](x) |\n|---|")
    assert block_texts(document) == [("title", "a b"), ("listitem", "c d e f"), ("table", "g h")]


def test_what_is_said_about_a_picture_may_have_links_and_pictures_in_it() -> None:
    assert read("a ![b ![c](x) [d](/y)](z) e").blocks == [Paragraph(text="a e"), Picture(caption="b c d")]


def test_a_picture_that_is_a_link_is_a_picture() -> None:
    assert read('[![badge](x)](y) <img alt="two words">').blocks == [
        Picture(caption="badge"),
        Picture(caption="two words"),
    ]


def test_addresses_of_mail_are_links_and_programs_are_none() -> None:
    [block] = read("<a@b.c> [run](javascript:x) [see](data:x)").blocks
    assert block == Paragraph(text="a@b.c run see", links=[("a@b.c", "mailto:a@b.c")])


def test_links_of_a_table_are_not_those_of_the_text_after_it() -> None:
    document = read("| [a](/x) |\n|---|\n\ntext")
    assert document.blocks[-1] == Paragraph(text="text")


def test_lists_nest_and_keep_their_numbers() -> None:
    assert items(read("3. c\n   - x\n   - y\n\n     more of y\n4. d\n\n* other")) == [
        (0, "3.", "c"),
        (1, "-", "x"),
        (1, "-", "y more of y"),
        (0, "4.", "d"),
        (0, "-", "other"),
    ]


def test_numbers_count_on_from_the_first_and_keep_what_stands_after_them() -> None:
    text = "1. a\n1. b\n\n7) c\n   1. d\n7) e\n\n> 3) f\n\n- 12. g\n  12. h"
    assert items(read(text)) == [
        (0, "1.", "a"),
        (0, "2.", "b"),
        (0, "7)", "c"),
        (1, "1.", "d"),
        (0, "8)", "e"),
        (0, "3)", "f"),
        (1, "12.", "g"),
        (1, "13.", "h"),
    ]


def test_tasks_say_whether_they_are_done() -> None:
    assert items(read("- [ ] open\n- [x] done")) == [(0, "-", "[ ] open"), (0, "-", "[x] done")]


def test_code_keeps_its_space_and_its_language() -> None:
    document = read("```python title=x\n\n  a < b\n```\n\n    indented\n      code\n\n~~~\nplain\n~~~")
    assert document.blocks == [
        Code(text="\n  a < b", language="python"),
        Code(text="indented\n  code"),
        Code(text="plain"),
    ]


def test_a_fence_that_is_never_closed_is_code_to_the_end() -> None:
    assert block_texts(read("```\na\n\n# b")) == [("code", "a\n\n# b")]


def test_tables_have_headers() -> None:
    [table] = read("| k | v |\n|---|:-:|\n| **a** | `x|y` |\n| b \\| c |\n").blocks
    assert isinstance(table, Table)
    assert (table.rows, table.columns) == (3, 2)
    assert [(cell.text, cell.is_header) for cell in table.cells][:4] == [
        ("k", True),
        ("v", True),
        ("a", False),
        ("`x", False),
    ]
    assert "b | c" in [cell.text for cell in table.cells]


def test_quotes_are_paragraphs() -> None:
    assert block_texts(read("> said\n> he\n>\n> > again")) == [("paragraph", "said he"), ("paragraph", "again")]


def test_html_in_it_is_read_as_html() -> None:
    text = (
        "Before\n\n<table><tr><th>k<th>v<tr><td>a<td>b</table>\n\n<!-- no -->\n\n<nav>kept</nav>\n\na<br>b <kbd>c</kbd>"
    )
    assert block_texts(read(text)) == [
        ("paragraph", "Before"),
        ("table", "k | v / a | b"),
        ("paragraph", "kept"),
        ("paragraph", "a b c"),
    ]


@pytest.mark.parametrize(
    "front",
    ["---\ntitle: The Tale\nlayout: x\n---\n", '+++\ntitle = "The Tale"\n+++\n', "---\nTitle:  'The Tale' \n---\n"],
)
def test_front_matter_is_not_text_and_its_title_is_the_title(front: str) -> None:
    assert block_texts(read(front + "\n## One\n\ntext")) == [
        ("title", "The Tale"),
        ("heading", "One"),
        ("paragraph", "text"),
    ]


def test_front_matter_without_a_title_is_passed_over() -> None:
    assert block_texts(read("---\nlayout: x\n---\ntext")) == [("paragraph", "text")]


def test_a_rule_at_the_beginning_is_no_front_matter() -> None:
    assert block_texts(read("---\n\ntext")) == [("paragraph", "text")]


def test_windows_and_old_line_ends() -> None:
    assert block_texts(read("# A\r\n\r\none\r\ntwo\rthree")) == [("title", "A"), ("paragraph", "one two three")]


def test_a_text_without_text_says_so() -> None:
    assert read("\n\n<!-- nothing -->\n").warnings == ["the document has no text"]


def test_what_is_too_long_is_read_as_plain_text_and_said_to_be(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(markdown, "LINES_MAX", 10)
    document = read("# A\n\n" + "word\n" * 20)
    assert words(document) == ["A"] + ["word"] * 20
    assert "plain text" in document.warnings[0]


@pytest.mark.parametrize(
    "piece",
    [
        "[",
        "![",
        "[a](",
        "*a _b ",
        "*a**b",
        "`x``y",
        "<a ",
        "<a href='",
        "> ",
        ">",
        "- ",
        "1. ",
        "&",
        "\\",
        "|a",
        "[a][",
        "](",
    ],
)
def test_half_a_construct_thousands_of_times_is_read_in_time(piece: str) -> None:
    began = time.process_time()
    read(piece * 8_000)
    assert time.process_time() - began < 30


def test_front_matter_with_a_long_line_is_read_in_time() -> None:
    began = time.process_time()
    document = read(f"---\ntitle: a{' ' * 500_000}b\n---\ntext")
    assert words(document) == ["a", "b", "text"]
    assert time.process_time() - began < 30


@pytest.mark.parametrize(("depth", "is_plain"), [(40, False), (300, True)])
def test_lists_nested_deep_lose_no_word(depth: int, is_plain: bool) -> None:
    document = read("".join(f"{'  ' * level}- w{level}\n" for level in range(depth)))
    assert words(document) == [f"w{level}" for level in range(depth)]
    assert bool(document.warnings) is is_plain


@pytest.mark.parametrize("mark", ["> ", "- ", "* > "])
def test_quotes_and_lists_nested_in_one_line_lose_no_word(mark: str) -> None:
    for depth in (*range(40, 60), 98, 99, 100, 101, 5000):
        assert words(read(f"{mark * depth}word"))[-1:] == ["word"], depth
