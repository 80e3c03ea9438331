"""Markdown: CommonMark with tables and strike-through, HTML in it read as HTML, front matter looked at for a title."""

import re
from typing import Any

from markdown_it.token import Token

from inorder.documents.model import Code, Document, Picture

from .encoding import decode
from .flow import Flow, with_title
from .grid import Budget, Grid
from .html import read_page
from .kinds import reader_version
from .markdown_parser import has_markup, is_cut, parse_blocks, parse_inline
from .text import paragraphs
from .words import squeeze

BYTES_MAX = 16 * 2**20
LINES_MAX = 200_000
"""A line costs some forty microseconds. What is larger is read as plain text, with a warning."""

_FRONT_MATTER = re.compile(r"\A(---|\+\+\+)[^\S\n]*\n(.*?\n)?\1[^\S\n]*(?:\n|\Z)", re.S)
_STATED_TITLE = re.compile(r"^title[^\S\n]*[:=](.+)$", re.M | re.I)


def read(data: bytes, name: str) -> Document:
    """The document in these bytes."""
    decoded = decode(data)
    text = decoded.text.replace("\r\n", "\n").replace("\r", "\n")
    document = Document(
        name=name,
        mimetype="text/markdown",
        blocks=[],
        reader=reader_version("markdown"),
        warnings=[decoded.warning] if decoded.warning else [],
    )
    if len(data) > BYTES_MAX or text.count("\n") > LINES_MAX:
        document.warnings.append(f"{len(data):,} bytes are too much Markdown: read as plain text")
        document.blocks = paragraphs(text)
        return document
    title, body = _split_front_matter(text)
    environment: dict[str, Any] = {}
    tokens = parse_blocks(body, environment)
    if is_cut(tokens):
        document.warnings.append("nested too deep for Markdown: read as plain text")
        document.blocks = paragraphs(text)
        return document
    reading = _Reading(document.warnings, environment)
    reading.run(tokens)
    if not reading.flow.blocks:
        document.warnings.append("there is no text in it")
    document.blocks = with_title(reading.flow.blocks, title)
    return document


def _split_front_matter(text: str) -> tuple[str, str]:
    """The title stated in the front matter, and the text after it."""
    match = _FRONT_MATTER.match(text) if text.startswith(("---", "+++")) else None
    if match is None:
        return "", text
    title = _STATED_TITLE.search(match.group(2) or "")
    return title.group(1).strip().strip("\"'") if title else "", text[match.end() :]


class _Reading:
    """A Markdown text as it is read."""

    def __init__(self, warnings: list[str], environment: dict[str, Any]) -> None:
        self.flow = Flow()
        self._warnings = warnings
        self._budget = Budget()
        self._environment = environment
        self._grid: Grid | None = None
        self._cell: list[str] = []

    def run(self, tokens: list[Token]) -> None:
        """Read all of it."""
        for token in tokens:
            if self._grid is None:
                self._take(token)
            else:
                self._take_in_table(token, self._grid)
        self.flow.flush()
        self._warnings += self._budget.warnings

    def _take(self, token: Token) -> None:
        flow = self.flow
        match token.type:
            case "inline":
                self._inline(token.content)
            case "paragraph_open" | "paragraph_close" | "blockquote_open" | "blockquote_close" | "hr":
                flow.flush()
            case "list_item_open":
                flow.open_item(f"{token.info}{token.markup}" if token.info else "-")
            case "list_item_close":
                flow.close_item()
            case "heading_open":
                flow.open_heading(int(token.tag[1:]))
            case "heading_close":
                flow.close_heading()
            case "bullet_list_open" | "ordered_list_open":
                flow.open_list(token.type == "ordered_list_open")
            case "bullet_list_close" | "ordered_list_close":
                flow.close_list()
            case "fence" | "code_block":
                self._code(token)
            case "html_block":
                flow.add(read_page(token.content.encode("utf-8", "replace"), self._warnings, keeps_all=True)[0])
            case "table_open":
                flow.flush()
                self._grid = Grid()

    def _inline(self, content: str) -> None:
        flow = self.flow
        if not has_markup(content):
            flow.parts.append(content)
            return
        inline = parse_inline(content, self._environment)
        flow.parts += inline.parts
        flow.links += inline.links
        for alt in inline.pictures:
            if flow.lists or flow.heading:
                flow.parts += (" ", alt)
            else:
                flow.pictures.append(Picture(caption=alt))

    def _code(self, token: Token) -> None:
        text = token.content.rstrip("\n")
        words = token.info.split(maxsplit=1)
        if text:
            self.flow.add([Code(text=text, language=words[0].strip("{}.") if words else "")])

    def _take_in_table(self, token: Token, grid: Grid) -> None:
        match token.type:
            case "inline":
                inline = parse_inline(token.content, self._environment)
                self._cell += (*inline.parts, *(f" {alt}" for alt in inline.pictures))
            case "tr_open":
                grid.new_row()
            case "th_close" | "td_close":
                grid.add(squeeze("".join(self._cell)), is_header=token.type == "th_close")
                self._cell.clear()
            case "table_close":
                self.flow.add(grid.finish(self._budget))
                self._grid = None
