"""Builds blocks from the events of the Markdown parser.

All text goes to the `BlockBuilder`, also that of code and HTML: the handler of the end of an element takes the text
since its start. Inline markup that blocks do not have, such as strikethrough, is ignored.
"""

import re
from collections.abc import Callable, Iterator
from itertools import groupby
from operator import itemgetter
from typing import Any

from inorder.documents.model import Code, Formula, Link, Paragraph, Span, SpanKind
from inorder.documents.readers.block_builder import BlockBuilder
from inorder.documents.readers.spans import collapse_spans, move_spans
from inorder.documents.readers.table_grid import TableBudget, TableGrid
from inorder.documents.readers.whitespace import collapse_whitespace

from .inline import InlineReader, find_html_target, find_target
from .parser import UnparsableError, is_parser_panic, list_delimiters, parse

NESTING_MAX = 100
"""Levels of lists and quotes. Real documents have fewer, and readers of the result are recursive."""

_MATH = re.compile(r"(?=.*[A-Za-z\\=^]).*[\w}\])'|!*.]", re.S)
"""What is a formula between two dollar signs. In "$5-$10" and "$HOME/$USER" it is none."""
_LEVELS = {f"H{level}": level for level in range(1, 7)}


class MarkdownWalker:
    """The blocks built so far, and the open elements."""

    def __init__(self, text: str) -> None:
        self.builder = BlockBuilder()
        self.warnings: list[str] = []
        self._text = text
        self._inline = InlineReader(self.builder, text)
        self._budget = TableBudget()
        self._depth = 0
        self._list_delimiters: Iterator[str] | None = None
        self._language = ""
        self._begins: list[int] = []
        """For each open emphasis, the number of the first piece of its text."""
        self._footnotes: list[tuple[str, int]] = []
        """The names of the open footnotes, and the numbers of blocks before them."""

    def walk(self) -> None:
        """Read the whole text. Raises `UnparsableError` if it must be read as plain text."""
        try:
            self._handle_events(parse(self._text))
        except BaseException as error:
            if is_parser_panic(error):
                raise UnparsableError("the Markdown parser crashed") from error
            raise
        self.builder.flush()
        self.warnings += self._budget.warnings

    def _handle_events(self, events: Iterator[Any]) -> None:
        builder, start_handlers, end_handlers = self.builder, self._start_handlers(), self._end_handlers()
        append, flush = builder.parts.append, builder.flush
        for event in events:
            if type(event) is str:
                if event == "Rule":
                    flush()
                else:  # a line break within a text
                    append(" ")
                continue
            kind, value = event.popitem()
            if kind == "Text":
                append(value)
            elif kind == "End":
                if value == "Paragraph" or value == "Item":
                    flush()
                    continue
                if value == "Strong" or value == "Emphasis":
                    builder.mark_from("bold" if value == "Strong" else "italic", self._begins.pop())
                    continue
                if type(value) is dict:
                    value, _ = value.popitem()
                if value in end_handlers:
                    end_handlers[value]()
            elif kind == "Start":
                if value == "Paragraph":
                    flush()
                elif value == "Item":
                    self._begin_item()
                elif value == "Strong" or value == "Emphasis":
                    self._begins.append(len(builder.parts))
                elif type(value) is dict:
                    tag, about = value.popitem()
                    if tag == "Table":
                        self._read_table(events)
                    elif tag in start_handlers:
                        start_handlers[tag](about)
                elif value == "HtmlBlock":
                    flush()
            elif kind == "Code":
                builder.add_marked("code", value)
            elif kind == "InlineHtml":
                self._inline.read_html_tag(value)
            else:
                self._read_inline(kind, value)

    def _read_inline(self, kind: str, value: str) -> None:
        """Read the text of a leaf that is not plain text."""
        builder = self.builder
        marked_as, value = _mark_leaf(kind, value)
        if marked_as:
            builder.add_marked(marked_as, value)
        elif kind == "DisplayMath" and not builder.lists and not builder.heading:
            builder.add([Formula(text=value.strip())])
        else:
            builder.parts.append(value)

    def _read_table(self, events: Iterator[Any]) -> None:
        """Read a table up to its end. Pictures in its cells are their descriptions."""
        self.builder.flush()
        grid, text = TableGrid(), ""
        row: list[str] = []
        links: list[tuple[int, Link]] = []
        """With the place of the cell in its row."""
        begin, target = 0, ""
        begins: list[int] = []
        spans: list[Span] = []
        """Of the text of the open cell, before its white space is collapsed."""
        marked: list[tuple[int, list[Span]]] = []
        """The spans of finished cells, with their places in the row."""
        for event in events:
            if type(event) is str:
                text += " "
                continue
            kind, value = event.popitem()
            if kind == "Text":
                text += value
            elif kind == "Code":
                spans.append(("code", len(text), len(text) + len(value)))
                text += value
            elif kind == "Start":
                if type(value) is dict and "Image" in value:
                    text += " "
                elif type(value) is dict and "Link" in value:
                    begin, target = len(text), find_target(value["Link"])
                elif value == "Strong" or value == "Emphasis":
                    begins.append(len(text))
            elif kind == "End":
                if value == "TableCell":
                    if spans:
                        text, found = collapse_spans(text, spans)
                        marked.append((len(row), found))
                        spans = []
                    row.append(collapse_whitespace(text))
                    text = ""
                elif value == "TableRow" or value == "TableHead":
                    grid.add_row(row, is_header=value == "TableHead")
                    for place, cell in groupby(links, key=itemgetter(0)):
                        grid.set_links([link for _, link in cell], back=len(row) - place)
                    for place, found in marked:
                        grid.set_spans(found, back=len(row) - place)
                    row, links, marked = [], [], []
                elif value == "Table":
                    break
                elif value == "Image":
                    text += " "
                elif value == "Link" and target and (label := collapse_whitespace(text[begin:])):
                    links.append((len(row), (label, target)))
                elif value == "Strong" or value == "Emphasis":
                    spans.append(("bold" if value == "Strong" else "italic", begins.pop(), len(text)))
            elif kind == "InlineHtml":
                if value.startswith("<a "):
                    begin, target = len(text), find_html_target(value)
                elif value == "</a>" and target and (label := collapse_whitespace(text[begin:])):
                    links.append((len(row), (label, target)))
                text += self._inline.describe_tag(value)
            else:
                marked_as, value = _mark_leaf(kind, value)
                if marked_as:
                    spans.append((marked_as, len(text), len(text) + len(value)))
                text += value
        self.builder.add(grid.finish(self._budget))

    def _start_handlers(self) -> dict[str, Callable[[Any], None]]:
        return {
            "Heading": self._begin_heading,
            "BlockQuote": self._begin_quote,
            "FootnoteDefinition": self._begin_footnote,
            "List": self._begin_list,
            "CodeBlock": self._begin_code,
            "Link": self._inline.open_link,
            "Image": self._inline.open_picture,
        }

    def _end_handlers(self) -> dict[str, Callable[[], None]]:
        return {
            "HtmlBlock": self._end_html,
            "Heading": self.builder.close_heading,
            "BlockQuote": self._end_quote,
            "FootnoteDefinition": self._end_footnote,
            "List": self._end_list,
            "CodeBlock": self._end_code,
            "Link": self._inline.close_link,
            "Image": self._inline.close_picture,
        }

    def _take_text(self) -> str:
        """Take the text since the last block out of the builder."""
        text = "".join(self.builder.parts)
        self.builder.parts.clear()
        return text

    def _end_html(self) -> None:
        from inorder.documents.readers.html.reader import read_page  # with its parser, which few documents need

        page = self._inline.escape_unknown_tags(self._take_text())
        self.builder.add(read_page(page.encode(), self.warnings, keep_all=True).blocks)

    def _begin_heading(self, about: dict[str, Any]) -> None:
        self.builder.open_heading(_LEVELS[about["level"]])

    def _begin_quote(self, _: None) -> None:
        self._descend()
        self.builder.flush()

    def _end_quote(self) -> None:
        self._depth -= 1
        self.builder.flush()

    def _begin_footnote(self, name: str) -> None:
        self.builder.flush()
        self._footnotes.append((name, len(self.builder.blocks)))

    def _end_footnote(self) -> None:
        """Put the name of a footnote before its text, which is all since its begin."""
        self.builder.flush()
        name, begin = self._footnotes.pop()
        label = f"[{name}]"
        first = self.builder.blocks[begin] if len(self.builder.blocks) > begin else None
        if not isinstance(first, Paragraph):
            first = Paragraph(text="")
            self.builder.blocks.insert(begin, first)
        first.source = "footnote"
        first.spans = [("footnote", 0, len(label)), *move_spans(first.spans, len(label) + 1)]
        first.text = f"{label} {first.text}".rstrip()

    def _descend(self) -> None:
        self._depth += 1
        if self._depth > NESTING_MAX:
            raise UnparsableError(f"lists and quotes are nested more than {NESTING_MAX} levels deep")

    def _begin_list(self, first: int | None) -> None:
        self._descend()
        if first is None:
            self.builder.open_list(False)
            return
        if self._list_delimiters is None:
            self._list_delimiters = list_delimiters(self._text)
        self.builder.open_list(True, first, next(self._list_delimiters))

    def _end_list(self) -> None:
        self._depth -= 1
        self.builder.close_list()

    def _begin_item(self) -> None:
        """Items are counted from the first number on, as Markdown defines it: many authors write 1 for every item."""
        within = self.builder.lists[-1]
        within.is_pending, within.item = True, None
        if within.is_ordered:
            within.marker = f"{within.next_number}{within.style}"
            within.next_number += 1

    def _begin_code(self, about: str | dict[str, str]) -> None:
        self.builder.flush()
        words = about["Fenced"].split(maxsplit=1) if isinstance(about, dict) else []
        self._language = words[0].strip("{}.") if words else ""

    def _end_code(self) -> None:
        text = self._take_text().rstrip("\n")
        if text:
            self.builder.blocks.append(Code(text, self._language))


def _mark_leaf(kind: str, value: str) -> tuple[SpanKind | None, str]:
    """What a leaf of a text is, and its text. None: it is plain text."""
    match kind:
        case "FootnoteReference":
            return "footnote", f"[{value}]"
        case "InlineMath":
            return ("formula", value) if _MATH.fullmatch(value) else (None, f"${value}$")
    return None, value
