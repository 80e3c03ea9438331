"""Builds blocks from the events of the Markdown parser.

All text goes to the `BlockBuilder`, also that of code, cells and HTML: the handler of the end of an element takes the
text since its start. Inline markup that blocks do not have, such as emphasis, is ignored.
"""

from collections.abc import Callable, Iterator
from typing import Any

from inorder.documents.model import Code
from inorder.documents.readers.block_builder import BlockBuilder
from inorder.documents.readers.html.reader import read_page
from inorder.documents.readers.table_grid import TableBudget, TableGrid
from inorder.documents.readers.whitespace import collapse_whitespace

from .inline import InlineReader
from .parser import UnparsableError, is_parser_panic, list_delimiters, parse

NESTING_MAX = 100
"""Levels of lists and quotes. Real documents have fewer, and readers of the result are recursive."""


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
        self._grid = TableGrid()
        self._is_header = False

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
        parts, append = builder.parts, builder.parts.append
        for event in events:
            if type(event) is str:
                if event == "Rule":
                    builder.flush()
                else:  # a line break within a text
                    append(" ")
                continue
            kind, value = event.popitem()
            if kind == "Text":
                append(value)
            elif kind == "Start":
                if value == "Paragraph":
                    if parts or builder.pictures:
                        builder.flush()
                    continue
                tag, about = value.popitem() if type(value) is dict else (value, None)
                if handle := start_handlers.get(tag):
                    handle(about)
            elif kind == "End":
                tag = value if type(value) is str else next(iter(value))
                if end := end_handlers.get(tag):
                    end()
            elif kind == "InlineHtml":
                self._inline.read_html_tag(value)
            else:
                append(value)

    def _start_handlers(self) -> dict[str, Callable[[Any], None]]:
        return {
            "HtmlBlock": self._begin_text,
            "Heading": self._begin_heading,
            "BlockQuote": self._begin_quote,
            "List": self._begin_list,
            "Item": self._begin_item,
            "CodeBlock": self._begin_code,
            "Table": self._begin_table,
            "TableHead": self._begin_head,
            "TableRow": self._begin_row,
            "Link": self._inline.open_link,
            "Image": self._inline.open_picture,
        }

    def _end_handlers(self) -> dict[str, Callable[[], None]]:
        return {
            "Paragraph": self.builder.flush,
            "HtmlBlock": self._end_html,
            "Heading": self.builder.close_heading,
            "BlockQuote": self._end_quote,
            "List": self._end_list,
            "Item": self.builder.close_item,
            "CodeBlock": self._end_code,
            "Table": self._end_table,
            "TableCell": self._end_cell,
            "Link": self._inline.close_link,
            "Image": self._inline.close_picture,
        }

    def _take_text(self) -> str:
        """Take the text since the last block out of the builder."""
        text = "".join(self.builder.parts)
        self.builder.parts.clear()
        return text

    def _begin_text(self, _: None) -> None:
        self.builder.flush()

    def _end_html(self) -> None:
        self.builder.add(read_page(self._take_text().encode(), self.warnings, keep_all=True)[0])

    def _begin_heading(self, about: dict[str, Any]) -> None:
        self.builder.open_heading(int(about["level"][1:]))

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

    def _begin_item(self, _: None) -> None:
        """Items are counted from the first number on, as Markdown defines it: many authors write 1 for every item."""
        within = self.builder.lists[-1]
        if within.is_ordered:
            self.builder.open_item(f"{within.next_number}{within.style}")
            within.next_number += 1
        else:
            self.builder.open_item("-")

    def _begin_code(self, about: str | dict[str, str]) -> None:
        self.builder.flush()
        words = about["Fenced"].split(maxsplit=1) if isinstance(about, dict) else []
        self._language = words[0].strip("{}.") if words else ""

    def _end_code(self) -> None:
        text = self._take_text().rstrip("\n")
        if text:
            self.builder.add([Code(text=text, language=self._language)])

    def _begin_table(self, _: object) -> None:
        self.builder.flush()
        self._grid = TableGrid()
        self._inline.is_in_table = True

    def _begin_head(self, _: None) -> None:
        self._grid.new_row()
        self._is_header = True

    def _begin_row(self, _: None) -> None:
        self._grid.new_row()
        self._is_header = False

    def _end_cell(self) -> None:
        self._grid.add(collapse_whitespace(self._take_text()), is_header=self._is_header)

    def _end_table(self) -> None:
        self._inline.is_in_table = False
        self.builder.add(self._grid.finish(self._budget))
