"""What a model writes about a page becomes blocks, and loads or runs nothing."""

import pytest

from inorder.documents.convert.page_names import list_pages, name_pages
from inorder.documents.model import (
    AnyBlock,
    Cell,
    Formula,
    Heading,
    ListItem,
    PageReading,
    Paragraph,
    Picture,
    Table,
    Title,
)
from inorder.documents.readers.vision.answers import PageAnswers, PageDoubt
from inorder.documents.readers.vision.blocks import read_page_text

pytestmark = pytest.mark.req("MOD-1")


def read(text: str, page: int = 1) -> list[AnyBlock]:
    warnings: list[str] = []
    found = read_page_text(text, page, warnings)
    assert warnings == []
    return found


def test_headings_lists_tables_with_spans_formulas_and_captions_are_blocks() -> None:
    text = (
        "# Lamps\n\nThe lamp is lit.\n\nTable 1: Oil\n\n"
        "<table><tr><th colspan=2>Oil</th></tr><tr><td>1 l</td><td>2 l</td></tr></table>\n\n"
        "$$ E = m_c^2 $$\n\n- one\n- two\n\n![]()\n\nFigure 2: The lens\n\n## Wicks"
    )
    cells = [Cell("Oil", 0, 0, columns=2, is_header=True), Cell("1 l", 1, 0), Cell("2 l", 1, 1)]
    assert read(text) == [
        Title(text="Lamps", page=1),
        Paragraph(text="The lamp is lit.", page=1),
        Table(rows=2, columns=2, cells=cells, caption="Table 1: Oil", page=1),
        Formula(text="E = m_c^2", page=1),
        ListItem(text="one", page=1),
        ListItem(text="two", page=1),
        Picture(caption="Figure 2: The lens", page=1),
        Heading(text="Wicks", level=2, page=1),
    ]


def test_only_the_first_page_has_the_title() -> None:
    assert read("# Lamps", page=2) == [Heading(text="Lamps", level=1, page=2)]


def test_a_fence_around_the_whole_page_is_no_code() -> None:
    assert read("```markdown\n# Lamps\n\nLit.\n```") == [Title(text="Lamps", page=1), Paragraph(text="Lit.", page=1)]


def test_addresses_scripts_and_remote_images_are_dropped() -> None:
    text = (
        "See [the log](javascript:alert(1)) and ![a lens](http://tracker.example/x.png).\n\n"
        "<script>alert(1)</script><img src='http://tracker.example/y.png'>\n\n"
        "| a | b |\n|---|---|\n| [c](http://tracker.example) | d |\n\n![A tower](http://tracker.example/z.png)\n"
    )
    blocks = read(text)
    assert not any(trace in repr(blocks) for trace in ("javascript", "script", "tracker", "img"))
    assert blocks[-1] == Picture(caption="A tower", page=1)
    assert not any(block.links for block in blocks)


def test_a_page_is_asked_if_the_rules_doubt_it_and_its_answer_takes_their_place() -> None:
    answers = PageAnswers("vision:m", "auto", lambda pages: {2: "Lit.", 4: "[empty page]"}, {3: "it is a refusal"})
    assert answers.read(PageDoubt(1, "")) is None
    read_by_model = answers.read(PageDoubt(2, "is a scan"))
    assert read_by_model is not None
    assert read_by_model.reading == PageReading("vision:m", "is a scan")
    assert read_by_model.blocks == [Paragraph(text="Lit.", page=2)]
    failed = answers.read(PageDoubt(3, "is a scan"))
    assert failed is not None
    assert (failed.reading, failed.blocks) == (PageReading("", "is a scan", "it is a refusal"), None)
    assert failed.warnings == ["page 3 was not read by the model: it is a refusal"]
    empty = answers.read(PageDoubt(4, "is a scan"))
    assert empty is not None
    assert empty.blocks == []


@pytest.mark.parametrize(("numbers", "text"), [([], ""), ([3], "3"), ([1, 2, 3, 7, 9, 10], "1-3, 7, 9-10")])
def test_numbers_of_pages_are_named_and_read_back(numbers: list[int], text: str) -> None:
    assert name_pages(numbers) == text
    assert list(list_pages(text)) == numbers
