"""From the events of the Markdown parser to blocks.

All text goes to the flow as it comes, also that of code, cells and HTML: what ends takes what has gathered since it
began. Marks that leave no trace in a block, as emphasis does not, are passed over.
"""

from collections.abc import Callable, Iterator
from typing import Any

from inorder.documents.model import Code
from inorder.documents.readers.block_builder import Flow
from inorder.documents.readers.html.reader import read_page
from inorder.documents.readers.table_grid import Budget, Grid
from inorder.documents.readers.whitespace import squeeze

from .inline import Inline
from .parser import Unparsable, is_breakdown, number_ends, parse

NESTING_MAX = 100
"""Lists and quotes within each other: nobody writes more, and everyone who reads the result goes down as deep."""


class Walk:
    """A Markdown text as it is read."""

    def __init__(self, text: str) -> None:
        self.flow = Flow()
        self.warnings: list[str] = []
        self._text = text
        self._inline = Inline(self.flow)
        self._budget = Budget()
        self._depth = 0
        self._number_ends: Iterator[str] | None = None
        self._language = ""
        self._grid = Grid()
        self._is_header = False

    def run(self) -> None:
        """Read all of it; `Unparsable` if that cannot be."""
        try:
            self._take_all(parse(self._text))
        except BaseException as error:
            if is_breakdown(error):
                raise Unparsable("the Markdown parser broke down") from error
            raise
        self.flow.flush()
        self.warnings += self._budget.warnings

    def _take_all(self, events: Iterator[Any]) -> None:
        parts, begins, ends = self.flow.parts, self._begins(), self._ends()
        for event in events:
            if type(event) is str:
                self._take_word(event)
                continue
            kind, value = event.popitem()
            if kind == "Start":
                tag, about = value.popitem() if type(value) is dict else (value, None)
                if tag in begins:
                    begins[tag](about)
            elif kind == "End":
                tag = value if type(value) is str else next(iter(value))
                if tag in ends:
                    ends[tag]()
            elif kind == "InlineHtml":
                self._inline.take_tag(value)
            else:
                parts.append(value)

    def _begins(self) -> dict[str, Callable[[Any], None]]:
        return {
            "Paragraph": self._begin_text,
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

    def _ends(self) -> dict[str, Callable[[], None]]:
        return {
            "Paragraph": self.flow.flush,
            "HtmlBlock": self._end_html,
            "Heading": self.flow.close_heading,
            "BlockQuote": self._end_quote,
            "List": self._end_list,
            "Item": self.flow.close_item,
            "CodeBlock": self._end_code,
            "Table": self._end_table,
            "TableCell": self._end_cell,
            "Link": self._inline.close_link,
            "Image": self._inline.close_picture,
        }

    def _take_word(self, kind: str) -> None:
        """A rule, or the end of a line within a text."""
        if kind == "Rule":
            self.flow.flush()
        else:
            self.flow.parts.append(" ")

    def _taken(self) -> str:
        """The text that has gathered, out of the flow."""
        text = "".join(self.flow.parts)
        self.flow.parts.clear()
        return text

    def _begin_text(self, _: None) -> None:
        self.flow.flush()

    def _end_html(self) -> None:
        self.flow.add(read_page(self._taken().encode(), self.warnings, keeps_all=True)[0])

    def _begin_heading(self, about: dict[str, Any]) -> None:
        self.flow.open_heading(int(about["level"][1:]))

    def _begin_quote(self, _: None) -> None:
        self._descend()
        self.flow.flush()

    def _end_quote(self) -> None:
        self._depth -= 1
        self.flow.flush()

    def _descend(self) -> None:
        self._depth += 1
        if self._depth > NESTING_MAX:
            raise Unparsable("nested too deep for Markdown")

    def _begin_list(self, first: int | None) -> None:
        self._descend()
        if first is None:
            self.flow.open_list(False)
            return
        if self._number_ends is None:
            self._number_ends = number_ends(self._text)
        self.flow.open_list(True, first, next(self._number_ends))

    def _end_list(self) -> None:
        self._depth -= 1
        self.flow.close_list()

    def _begin_item(self, _: None) -> None:
        """Items are counted from the first on: that is what a number in Markdown means, and many write 1 everywhere."""
        within = self.flow.lists[-1]
        self.flow.open_item(f"{within.next_number}{within.style}" if within.is_ordered else "-")
        within.next_number += 1

    def _begin_code(self, about: str | dict[str, str]) -> None:
        self.flow.flush()
        words = about["Fenced"].split(maxsplit=1) if isinstance(about, dict) else []
        self._language = words[0].strip("{}.") if words else ""

    def _end_code(self) -> None:
        text = self._taken().rstrip("\n")
        if text:
            self.flow.add([Code(text=text, language=self._language)])

    def _begin_table(self, _: object) -> None:
        self.flow.flush()
        self._grid = Grid()
        self._inline.is_in_table = True

    def _begin_head(self, _: None) -> None:
        self._grid.new_row()
        self._is_header = True

    def _begin_row(self, _: None) -> None:
        self._grid.new_row()
        self._is_header = False

    def _end_cell(self) -> None:
        self._grid.add(squeeze(self._taken()), is_header=self._is_header)

    def _end_table(self) -> None:
        self._inline.is_in_table = False
        self.flow.add(self._grid.finish(self._budget))
