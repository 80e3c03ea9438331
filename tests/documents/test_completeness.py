"""No word is lost, doubled or moved: documents made of numbered words, in every construct and every mixture of them."""

import re
from itertools import count

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inorder.documents.readers import text
from inorder.documents.readers.docx import reader as docx
from inorder.documents.readers.html import reader as html
from inorder.documents.readers.markdown import reader as markdown
from tests.documents.document_text import words
from tests.documents.docx_files import make_docx, paragraph

pytestmark = pytest.mark.req("DOC-1")

SHARE_MIN = 0.99
Tree = tuple[str, list["Tree"]]  # type: ignore[misc]


class Writer:
    """Hands out words, each once."""

    def __init__(self) -> None:
        self.given: list[str] = []
        self._numbers = count()

    def words(self, length: int = 3) -> str:
        new = [f"word{next(self._numbers)}" for _ in range(length)]
        self.given += new
        return " ".join(new)


def trees(kinds: list[str], depth: int = 3) -> st.SearchStrategy[list[Tree]]:
    """Blocks within blocks."""
    level: st.SearchStrategy[list[Tree]] = st.just([])
    for _ in range(depth):
        level = st.lists(st.tuples(st.sampled_from(kinds), level), max_size=4)
    return level


def assert_complete(found: list[str], given_words: list[str]) -> None:
    ours = [word for word in found if word.startswith("word")]
    assert len(ours) == len(set(ours)), "a word is there twice"
    kept = set(ours)
    assert len(kept) >= SHARE_MIN * len(given_words), set(given_words) - kept
    assert ours == [word for word in given_words if word in kept], "the order is another"


HTML = {
    "div": "<div>{w} {inner}</div>",
    "p": "<p>{w} <b>{w}</b><br>{w}</p>{inner}",
    "section": "<section><h2>{w}</h2>{inner}</section>",
    "h1": "<h1>{w}</h1>{inner}",
    "ul": "<ul><li>{w}{inner}</li><li><p>{w}</p><p>{w}</p></ul>",
    "ol": "<ol><li>{w}<li>{inner}</ol>",
    "dl": "<dl><dt>{w}<dd>{w}{inner}</dl>",
    "table": "<table><tr><th>{w}<th>{w}<tr><td rowspan=2>{w}<td>{inner}<tr><td>{w}</table>",
    "layout": "<table role=presentation><tr><td>{w}<td>{inner}</table>",
    "bare": "<table><tr><td>{w}<td>{w}<tr><td>{inner}</table>",
    "pre": "<pre><code>{w}\n  {w}</code></pre>{inner}",
    "quote": "<blockquote>{w}{inner}</blockquote>",
    "link": " <a href=x>{w} {inner}</a> ",
    "span": " <span>{w}</span> {inner}",
    "details": "<details><summary>{w}</summary>{inner}</details>",
    "article": "<article><header>{w}</header>{inner}<footer>{w}</footer></article>",
    "unclosed": "<p>{w}<i>{inner}",
    "frame": "<nav>menu</nav><script>no</script><p hidden>no</p>{inner}",
}
FIGURE = {"figure": "<figure><img alt=''>{inner}<figcaption>{w}</figcaption></figure>"}
"""The caption goes to the picture, which stands before it: its words move."""
MARKDOWN = {
    "paragraph": "{w} **{w}** `{w}`\n{w}\n\n{inner}",
    "atx": "## {w}\n\n{inner}",
    "setext": "{w}\n===\n\n{inner}",
    "list": "- {w}\n\n  {inner}\n- {w}\n\n",
    "numbers": "1. {w}\n2. {w}\n   {w}\n\n{inner}",
    "quote": "> {w}\n>\n> {inner}\n\n",
    "fence": "```py\n{w}\n\n  {w}\n```\n\n{inner}",
    "table": "| {w} | {w} |\n|---|---|\n| {w} | {w} |\n\n{inner}",
    "link": "[{w}](/x) ~~{w}~~ <kbd>{w}</kbd>\n\n{inner}",
    "html": "<div>{w}<p>{w}</p></div>\n\n{inner}",
}


def write_in(forms: dict[str, str], chosen: list[Tree], writer: Writer) -> str:
    """The constructs one after the other and within each other, words numbered in the order they are written in."""
    return "".join(_construct(forms, kind, inner, writer) for kind, inner in chosen)


def _construct(forms: dict[str, str], kind: str, inner: list[Tree], writer: Writer) -> str:
    pieces = re.split(r"(\{w\}|\{inner\})", forms[kind])
    return "".join(
        writer.words() if piece == "{w}" else write_in(forms, inner, writer) if piece == "{inner}" else piece
        for piece in pieces
    )


@pytest.mark.slow
@settings(max_examples=300)
@given(trees(sorted(HTML)))
def test_every_word_of_a_page_is_there_once_and_in_order(chosen: list[Tree]) -> None:
    writer = Writer()
    page = write_in(HTML, chosen, writer)
    assert_complete(words_of_page(page), writer.given)


@pytest.mark.slow
@settings(max_examples=150)
@given(trees(sorted(HTML | FIGURE)))
def test_every_word_of_a_page_with_figures_is_there_once(chosen: list[Tree]) -> None:
    writer = Writer()
    page = write_in(HTML | FIGURE, chosen, writer)
    assert sorted(words_of_page(page)) == sorted(writer.given)


def words_of_page(page: str) -> list[str]:
    """The words of the whole page: which of these random pages has an article is a matter of taste."""
    return [word for word in words(html.read(page.encode(), "page", "full")) if word.startswith("word")]


@pytest.mark.slow
@settings(max_examples=300)
@given(trees(sorted(MARKDOWN), depth=2))
def test_every_word_of_a_markdown_text_is_there_once_and_in_order(chosen: list[Tree]) -> None:
    writer = Writer()
    written = write_in(MARKDOWN, chosen, writer)
    assert_complete(words(markdown.read(written.encode(), "notes")), writer.given)


@pytest.mark.slow
@given(st.lists(st.sampled_from(["p", "h", "t"]), max_size=12))
def test_every_word_of_a_word_file_is_there_once_and_in_order(kinds: list[str]) -> None:
    writer = Writer()
    forms = {
        "p": "{w}",
        "h": "{w}",
        "t": "<w:tbl><w:tr><w:tc>{p}</w:tc><w:tc>{p}</w:tc></w:tr><w:tr><w:tc>{p}</w:tc></w:tr></w:tbl>",
    }
    body = ""
    for kind in kinds:
        if kind == "t":
            body += re.sub(r"\{p\}", lambda _: paragraph(writer.words()), forms["t"])
        else:
            body += paragraph(writer.words(), '<w:pStyle w:val="Heading1"/>' if kind == "h" else "")
    assert_complete(words(docx.read(make_docx(body), "letter")), writer.given)


@pytest.mark.slow
@given(st.lists(st.sampled_from(["\n", "\n\n", " ", "\f", "\r\n\r\n", "\t"]), max_size=30))
def test_every_word_of_a_plain_text_is_there_once_and_in_order(gaps: list[str]) -> None:
    writer = Writer()
    written = "".join(writer.words() + gap for gap in gaps)
    assert_complete(words(text.read(written.encode(), "notes")), writer.given)
