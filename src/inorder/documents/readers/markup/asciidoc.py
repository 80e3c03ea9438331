"""Reads AsciiDoc: sections, lists, listings, tables and pictures. Includes, macros and conditions are left out."""

import re

from inorder.documents.model import AnyBlock, Code, Document, Formula, Heading, ListItem, Paragraph, Picture, Title
from inorder.documents.readers.document import make_document
from inorder.documents.readers.table_grid import TableBudget
from inorder.documents.readers.whitespace import collapse_whitespace

from .asciidoc_inline import AsciidocInline
from .asciidoc_tables import read_table
from .lines import read_lines

_TITLE = re.compile(r"(={1,6}|#{1,6})\s+(\S.*)")
_ATTRIBUTE = re.compile(r":(!?[\w-]+!?):(?:\s+(.*))?$")
_LIST_ITEM = re.compile(r"\s*(\*{1,6}|-|\.{1,6}|\d{1,9}\.|[a-zA-Z]\.|<\d+>|<\.>)\s+(\S.*)")
_TERM = re.compile(r"(\S.*?)(:{2,4}|;;)(?:\s+(.*))?$")
_BLOCK_ATTRIBUTES = re.compile(r"\[([^\]]*)\]")
_BLOCK_TITLE = re.compile(r"\.(?![\s.])(.+)")
_MACRO = re.compile(r"(image|video|audio)::([^\[\s]*)\[(.*)\]$")
_LEFT_OUT = re.compile(r"(?:include|ifdef|ifndef|ifeval|endif|toc)::|'''|<<<|\[\[.*\]\]$|//(?!/)|\+$")
_FENCE = re.compile(r"-{4,}|\.{4,}|={4,}|\*{4,}|_{4,}|\+{4,}|/{4,}|--|`{3,}\w*|[|,:!]={3,}")
_CHECKBOX = re.compile(r"\[[ x*]\]\s+")


def read(data: bytes, name: str) -> Document:
    """Read an AsciiDoc file."""
    lines, warnings = read_lines(data, "AsciiDoc")
    parser = _AsciidocParser()
    parser.parse(lines)
    return make_document("asciidoc", name, "text/asciidoc", parser.blocks, warnings + parser.budget.warnings)


class _AsciidocParser:
    """The blocks so far, and what is known of the next one."""

    def __init__(self) -> None:
        self.blocks: list[AnyBlock] = []
        self.budget = TableBudget()
        self._inline = AsciidocInline()
        self._text: list[str] = []
        self._attributes: list[str] = []
        self._title = ""
        self._item: ListItem | None = None
        """The list item that the open text belongs to."""
        self._markers: list[str] = []
        """The markers of the open lists, outermost first."""
        self._numbers: dict[int, int] = {}
        self._has_title = False

    def parse(self, lines: list[str]) -> None:
        """Read all lines."""
        at = 0
        while at < len(lines):
            at = self._parse_line(lines, at)
        self._flush()

    def _parse_line(self, lines: list[str], at: int) -> int:
        line = lines[at]
        if not line:
            self._flush()
            return at + 1
        if _FENCE.fullmatch(line):
            self._flush()
            return self._parse_fence(lines, at)
        if _LEFT_OUT.match(line):
            self._flush()
            return at + 1
        if (not self._text and self._parse_head(line)) or self._define_attribute(line):
            return at + 1
        if match := _LIST_ITEM.fullmatch(line):
            self._flush()
            self._begin_item(match.group(1), match.group(2))
        elif (match := _TERM.fullmatch(line)) and "://" not in match.group(1):
            self._flush()
            self._end_lists()
            self.blocks.append(Paragraph(text=self._inline.strip(match.group(1))[0]))
            self._text = [match.group(3)] if match.group(3) else []
        else:
            self._text.append(line)
        return at + 1

    def _parse_head(self, line: str) -> bool:
        """Titles, attributes of blocks, and pictures. False: the line is text."""
        if match := _TITLE.fullmatch(line):
            self._add_title(len(match.group(1)) - 1, match.group(2))
        elif match := _MACRO.fullmatch(line):
            caption = self._take_title() or self._inline.strip(match.group(3).split(",")[0].strip('" '))[0]
            if match.group(1) == "image":
                self.blocks.append(Picture(caption=caption))
        elif match := _BLOCK_ATTRIBUTES.fullmatch(line):
            self._attributes = [each.strip() for each in match.group(1).split(",")]
        elif (match := _BLOCK_TITLE.fullmatch(line)) and not _LIST_ITEM.fullmatch(line):
            self._title = self._inline.strip(match.group(1))[0]
        else:
            return False
        return True

    def _define_attribute(self, line: str) -> bool:
        """Define an attribute of the document. It may follow the line of the author directly. False: it is text."""
        match = _ATTRIBUTE.fullmatch(line)
        if match is None:
            return False
        self._flush()
        self._inline.define(match.group(1), match.group(2) or "")
        return True

    def _add_title(self, level: int, text: str) -> None:
        self._end_lists()
        title, _ = self._inline.strip(text)
        if not title:
            return
        if level == 0 and not self._has_title and not self.blocks:
            self._has_title = True
            self.blocks.append(Title(text=title))
        else:
            self.blocks.append(Heading(text=title, level=max(level, 1)))

    def _take_title(self) -> str:
        title, self._title = self._title, ""
        return title

    def _begin_item(self, marker: str, text: str) -> None:
        is_ordered = marker[0] == "." or marker[-1] == "." or marker[0] == "<"
        key = "1." if marker[-1] == "." and marker[0] != "." else marker
        if key in self._markers:
            del self._markers[self._markers.index(key) + 1 :]
        else:
            self._markers.append(key)
        depth = len(self._markers) - 1
        self._numbers = {level: number for level, number in self._numbers.items() if level <= depth}
        self._numbers[depth] = self._numbers.get(depth, 0) + 1
        shown = f"{self._numbers[depth]}." if is_ordered else "-"
        self._item = ListItem(text="", depth=depth, ordered=is_ordered, marker=shown)
        self._text = [_CHECKBOX.sub("", text, count=1)]

    def _end_lists(self) -> None:
        self._markers.clear()
        self._numbers.clear()

    def _flush(self) -> None:
        """End the open paragraph or list item."""
        if not self._text:
            return
        raw, self._text = " ".join(self._text), []
        text, links = self._inline.strip(collapse_whitespace(raw))
        item, self._item = self._item, None
        title, attributes, self._attributes = self._take_title(), self._attributes, []
        if title and text:
            self.blocks.append(Paragraph(text=title))
        if not text:
            return
        if item is not None:
            item.text = text
            self.blocks.append(item)
            return
        self._end_lists()
        if attributes and attributes[0] in ("stem", "latexmath", "asciimath"):
            self.blocks.append(Formula(text=text))
        else:
            self.blocks.append(Paragraph(text=text, links=links))

    def _parse_fence(self, lines: list[str], at: int) -> int:
        """Listings, comments and tables end at the same fence. Other fences only group blocks, and are ignored."""
        fence = lines[at]
        attributes, self._attributes = self._attributes, []
        is_code = fence.startswith(("----", "....", "```"))
        if not is_code and not fence.startswith(("++++", "////")) and fence[1:4] != "===":
            return at + 1
        if fence[0] == "=" and fence[1:4] == "===":
            return at + 1
        closing = "`" * len(fence.rstrip("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"))
        closing = closing if fence[0] == "`" else fence
        end = next((n for n in range(at + 1, len(lines)) if lines[n] == closing), len(lines))
        body = lines[at + 1 : end]
        title = self._take_title()
        if is_code:
            if title:
                self.blocks.append(Paragraph(text=title))
            language = fence.lstrip("`") if fence[0] == "`" else _get_language(attributes)
            if text := "\n".join(body).rstrip():
                self.blocks.append(Code(text=text, language=language))
        elif fence[0] == "+" and attributes and attributes[0] in ("stem", "latexmath", "asciimath"):
            text = collapse_whitespace(" ".join(body)).removeprefix("\\[").removesuffix("\\]")
            self.blocks += [Formula(text=text)] if text else []
        elif fence[1:4] == "===":
            self._end_lists()
            self.blocks += read_table(fence[0], body, attributes, title, self._inline, self.budget)
        return end + 1


def _get_language(attributes: list[str]) -> str:
    return attributes[1].strip('"') if len(attributes) > 1 and attributes[0] in ("source", "source%linenums") else ""
