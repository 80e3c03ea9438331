"""Documents as Markdown: read back, they are the same."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inorder.documents.doctags.docling_json import write_json
from inorder.documents.doctags.markdown import write_markdown
from inorder.documents.doctags.record_reader import read_record
from inorder.documents.model import (
    AnyBlock,
    Cell,
    Code,
    Document,
    Formula,
    Furniture,
    Heading,
    ListItem,
    Paragraph,
    Picture,
    Table,
    Title,
)
from inorder.documents.readers.markdown.reader import read

ROOT = Path(__file__).parents[3]
_MARKS = st.text(alphabet="ab1 #*_-+>.)(|<&;~`[]\\=!:", min_size=1, max_size=12).map(lambda text: f"x {text} y")


def make(*blocks: AnyBlock) -> Document:
    return Document(name="x", mimetype="text/plain", blocks=list(blocks), reader="")


@pytest.mark.parametrize("path", sorted((ROOT / "docs/guides").glob("*.md")), ids=lambda path: path.name)
def test_a_page_survives_being_written_and_read_back(path: Path) -> None:
    document = read(path.read_bytes(), "x")
    again = read(write_markdown(document).encode(), "x")
    assert [block for block in again.blocks if not is_caption(block, document)] == [
        block for block in document.blocks if type(block) is not Picture
    ]


def is_caption(block: AnyBlock, document: Document) -> bool:
    captions = [each.caption for each in document.blocks if isinstance(each, Picture)]
    return isinstance(block, Paragraph) and block.text in captions


@pytest.mark.slow
@given(_MARKS)
def test_text_is_never_read_as_syntax(text: str) -> None:
    plain = " ".join(text.split())
    blocks = [Paragraph(text=plain), ListItem(text=plain), Heading(text=plain, level=1), Heading(text=plain, level=1)]
    assert [block.text for block in read(write_markdown(make(*blocks)).encode(), "x").blocks] == [plain] * 4


@pytest.mark.parametrize("start", ["# a", "- a", "+ a", "> a", "1. a", "23) a", "===", "---", "| a", "*", "#", "-"])
def test_the_start_of_a_line_is_escaped_only_where_it_would_begin_another_block(start: str) -> None:
    [block] = read(write_markdown(make(Paragraph(text=start))).encode(), "x").blocks
    assert block == Paragraph(text=start)


def test_every_block_has_its_form() -> None:
    table = Table(
        rows=2,
        columns=2,
        cells=[Cell("wide", 0, 0, columns=2, is_header=True), Cell("a|b", 1, 0), Cell("", 1, 1)],
        caption="Hours",
    )
    blocks: list[AnyBlock] = [
        Title(text="T"),
        Furniture(text="page 1", kind="footer"),
        Heading(text="H", level=1),
        Paragraph(text="see it", links=[("it", "a b.md")]),
        ListItem(text="one", ordered=True, marker="7."),
        ListItem(text="deep", depth=1),
        Code(text="a\n```\nb", language="sh"),
        table,
        Picture(caption="A chart"),
        Formula(text="x^2"),
    ]
    written = write_markdown(make(*blocks))
    assert written == (
        "# T\n\n## H\n\nsee [it](<a b.md>)\n\n7. one\n   - deep\n\n````sh\na\n```\nb\n````\n\n"
        "*Hours*\n\n| wide | wide |\n| --- | --- |\n| a\\|b |  |\n\n*A chart*\n\n$$\nx^2\n$$\n"
    )
    again = write_markdown(read_record(write_json(make(*blocks))))
    assert again == written.replace("````sh", "````bash")
    assert write_markdown(make()) == ""


def test_a_record_that_is_not_one_is_refused() -> None:
    with pytest.raises(ValueError, match="not a DoclingDocument"):
        read_record(b"[]")
