"""Builds blocks from the events of the Markdown parser.

All text goes to the `BlockBuilder`, also that of code, cells and HTML: the handler of the end of an element takes the
text since its start. Inline markup that blocks do not have, such as emphasis, is ignored.
"""

from collections.abc import Callable, Iterator
from itertools import groupby
from operator import itemgetter
from typing import Any

from inorder.documents.model import Code, Link
from inorder.documents.readers.block_builder import BlockBuilder
from inorder.documents.readers.table_grid import TableBudget, TableGrid
from inorder.documents.readers.whitespace import collapse_whitespace

from .inline import InlineReader, find_target, read_html_tag
from .parser import UnparsableError, is_parser_panic, list_delimiters, parse

NESTING_MAX = 100
"""Levels of lists and quotes. Real documents have fewer, and readers of the result are recursive."""

_LEVELS = {f"H{level}": level for level in range(1, 7)}


class MarkdownWalker:
    """The blocks built so far, and the open elements."""

    def __init__(self, text: str) -> None:
        self.builder = BlockBuilder()
        self.warnings: list[str] = []
        self._text = text
        self._inline = InlineReader(self.builder)
        self._budget = TableBudget()
        self._depth = 0
        self._list_delimiters: Iterator[str] | None = None
        self._language = ""

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
                if type(value) is dict:
                    value, _ = value.popitem()
                if value in end_handlers:
                    end_handlers[value]()
            elif kind == "Start":
                if value == "Paragraph":
                    flush()
                elif value == "Item":
                    self._begin_item()
                elif type(value) is dict:
                    tag, about = value.popitem()
                    if tag == "Table":
                        self._read_table(events)
                    elif tag in start_handlers:
                        start_handlers[tag](about)
                elif value == "HtmlBlock":
                    flush()
            elif kind == "InlineHtml":
                self._inline.read_html_tag(value)
            else:
                append(value)

    def _read_table(self, events: Iterator[Any]) -> None:
        """Read a table up to its end. Cells have text and links; pictures are their descriptions."""
        self.builder.flush()
        grid, text = TableGrid(), ""
        row: list[str] = []
        links: list[tuple[int, Link]] = []
        """With the place of the cell in its row."""
        begin, target = 0, ""
        for event in events:
            if type(event) is str:
                text += " "
                continue
            kind, value = event.popitem()
            if kind == "Text":
                text += value
            elif kind == "Start":
                if type(value) is dict and "Image" in value:
                    text += " "
                elif type(value) is dict and "Link" in value:
                    begin, target = len(text), find_target(value["Link"])
            elif kind == "End":
                if value == "TableCell":
                    row.append(collapse_whitespace(text))
                    text = ""
                elif value == "TableRow" or value == "TableHead":
                    grid.add_row(row, is_header=value == "TableHead")
                    for place, cell in groupby(links, key=itemgetter(0)):
                        grid.set_links([link for _, link in cell], back=len(row) - place)
                    row, links = [], []
                elif value == "Table":
                    break
                elif value == "Image":
                    text += " "
                elif value == "Link" and target and (label := collapse_whitespace(text[begin:])):
                    links.append((len(row), (label, target)))
            elif kind == "InlineHtml":
                text += read_html_tag(value)
            else:
                text += value
        self.builder.add(grid.finish(self._budget))

    def _start_handlers(self) -> dict[str, Callable[[Any], None]]:
        return {
            "Heading": self._begin_heading,
            "BlockQuote": self._begin_quote,
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

        self.builder.add(read_page(self._take_text().encode(), self.warnings, keep_all=True).blocks)

    def _begin_heading(self, about: dict[str, Any]) -> None:
        self.builder.open_heading(_LEVELS[about["level"]])

    def _begin_quote(self, _: None) -> None:
        self._descend()
        self.builder.flush()

    def _end_quote(self) -> None:
        self._depth -= 1
        self.builder.flush()

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
