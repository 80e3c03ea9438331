"""Reads reStructuredText: sections, lists, tables, code, pictures; directives by what they contain.

Directives that produce no text of their own, such as `toctree`, are left out, and so are comments and targets. The body
of an unknown directive is read as text.
"""

import re

from inorder.documents.model import AnyBlock, Code, Document, Formula, Heading, ListItem, Paragraph, Picture, Table
from inorder.documents.readers.block_builder import mark_title
from inorder.documents.readers.document import make_document
from inorder.documents.readers.table_grid import TableBudget
from inorder.documents.readers.whitespace import collapse_whitespace

from .lines import DEPTH_MAX, count_indent, read_lines, take_indented
from .rst_inline import strip_inline
from .rst_tables import is_table_start, read_csv_table, read_list_table, read_table

_ADORNMENT = re.compile(r"""([!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~])\1*""")
_BULLET = re.compile(r"([-*+\u2022\u2023\u2043])(?: +|$)")
_NUMBER = re.compile(r"\(?(?:\d{1,9}|#|[a-zA-Z]|[ivxlcdmIVXLCDM]{1,8})[.)](?: +|$)")
_DIRECTIVE = re.compile(r"\.\. (?:\|[^|]+\| )?([\w:.+-]+)::(?: +(.*))?$")
_FOOTNOTE = re.compile(r"\.\. \[([^\]]+)\] *(.*)")
_FIELD = re.compile(r":([^:\s][^:]*):(?: +(.*))?$")
_CODE = frozenset(("code", "code-block", "sourcecode", "parsed-literal", "literal", "prompt", "doctest", "testcode"))
_PICTURES = frozenset(("image", "figure"))
_LEFT_OUT = frozenset(
    (
        "contents",
        "currentmodule",
        "default-role",
        "footer",
        "header",
        "highlight",
        "include",
        "index",
        "literalinclude",
        "meta",
        "module",
        "raw",
        "role",
        "sectnum",
        "testsetup",
        "toctree",
    )
)


def read(data: bytes, name: str) -> Document:
    """Read a reStructuredText file."""
    lines, warnings = read_lines(data, "reStructuredText")
    parser = _RstParser()
    parser.parse(lines, 0)
    blocks = mark_title(parser.blocks, "")
    return make_document("rst", name, "text/x-rst", blocks, warnings + parser.budget.warnings)


class _RstParser:
    """The blocks so far, and the styles of section titles in the order of their first use."""

    def __init__(self) -> None:
        self.blocks: list[AnyBlock] = []
        self.budget = TableBudget()
        self._styles: list[str] = []
        self._list_depth = 0

    def parse(self, lines: list[str], depth: int) -> None:
        """Read lines that have the same indentation."""
        at = 0
        while at < len(lines):
            at = at + 1 if not lines[at] else self._parse_block(lines, at, depth)

    def _parse_block(self, lines: list[str], at: int, depth: int) -> int:
        """Read the block that begins at a line. Returns the position after it."""
        line = lines[at]
        if depth > DEPTH_MAX:
            return self._parse_paragraph(lines, at, depth)
        if line[0] == " ":
            block, end = take_indented(lines, at)
            self.parse(block, depth + 1)
            return end
        if (end := self._parse_title(lines, at)) > at:
            return end
        if is_table_start(lines, at):
            found, end = read_table(lines, at, self.budget)
            self.blocks += found
            return end
        if line.startswith(("..", "__ ")) and (len(line) == 2 or line[2] == " "):
            return self._parse_explicit(lines, at, depth)
        if match := _match_item(lines, at):
            return self._parse_item(lines, at, match, depth)
        if match := _FIELD.match(line):
            return self._parse_field(lines, at, match)
        if line.startswith(">>> "):
            end = next((n for n in range(at, len(lines)) if not lines[n]), len(lines))
            self.blocks.append(Code(text="\n".join(lines[at:end]), language="python"))
            return end
        return self._parse_paragraph(lines, at, depth)

    def _parse_title(self, lines: list[str], at: int) -> int:
        """Read a section title or a transition; returns the same position if there is none."""
        line = lines[at]
        second = lines[at + 1] if at + 1 < len(lines) else ""
        if _ADORNMENT.fullmatch(line):
            third = lines[at + 2] if at + 2 < len(lines) else ""
            if second and third == line and len(line) >= len(second.strip()):
                self._add_title(second, line[0] * 2)
                return at + 3
            return at + 1 if len(line) >= 4 and not second else at
        is_title = _ADORNMENT.fullmatch(second) and (len(second) >= len(line) or len(second) >= 4)
        if is_title and not line.startswith((".. ", "+-")):
            self._add_title(line, second[0])
            return at + 2
        return at

    def _add_title(self, text: str, style: str) -> None:
        if style not in self._styles:
            self._styles.append(style)
        title, _ = strip_inline(collapse_whitespace(text))
        if title:
            self.blocks.append(Heading(text=title, level=self._styles.index(style) + 1))

    def _parse_item(self, lines: list[str], at: int, match: re.Match[str], depth: int) -> int:
        indent = match.end()
        rest, end = take_indented(lines, at + 1)
        first = lines[at][indent:]
        marker = match.group().strip()
        is_ordered = match.re is _NUMBER
        if is_ordered and marker.startswith("#"):
            last = self.blocks[-1] if self.blocks else None
            number = int(last.marker[:-1]) if isinstance(last, ListItem) and last.marker[:-1].isdigit() else 0
            marker = f"{number + 1}."
        count = 0
        while first and count < len(rest) and rest[count] and not _BULLET.match(rest[count]):
            count += 1
        text = strip_inline(collapse_whitespace(" ".join([first, *rest[:count]])))[0]
        rest = rest[count:]
        text, literal = _split_literal(text)
        if text:
            item = ListItem(text=text, depth=self._list_depth, ordered=is_ordered, marker=marker if is_ordered else "-")
            self.blocks.append(item)
        self._list_depth += 1
        if literal:
            code, used = take_indented(rest, next((n for n, each in enumerate(rest) if each), len(rest)))
            self.blocks += [Code(text="\n".join(code))] if code else []
            rest = rest[used:]
        self.parse(rest, depth + 1)
        self._list_depth -= 1
        return end

    def _parse_field(self, lines: list[str], at: int, match: re.Match[str]) -> int:
        rest, end = take_indented(lines, at + 1)
        text = " ".join(filter(None, [match.group(2) or "", *rest]))
        text, _ = strip_inline(collapse_whitespace(f"{match.group(1)}: {text}"))
        self.blocks.append(Paragraph(text=text))
        return end

    def _parse_explicit(self, lines: list[str], at: int, depth: int) -> int:
        """Directives, footnotes; comments and targets are left out."""
        body, end = take_indented(lines, at + 1)
        if match := _DIRECTIVE.match(lines[at]):
            options: dict[str, str] = {}
            used = 0
            while used < len(body) and (field := _FIELD.match(body[used])):
                options[field.group(1)] = field.group(2) or ""
                used += 1
            while used < len(body) and not body[used]:
                used += 1
            self._add_directive(match.group(1).lower(), match.group(2) or "", options, body[used:], depth)
        elif match := _FOOTNOTE.match(lines[at]):
            text, _ = strip_inline(collapse_whitespace(" ".join([f"[{match.group(1)}]", match.group(2), *body])))
            self.blocks.append(Paragraph(text=text))
        return end

    def _add_directive(self, name: str, argument: str, options: dict[str, str], body: list[str], depth: int) -> None:
        if name in _LEFT_OUT:
            return
        if name in _CODE:
            if text := "\n".join(body).rstrip():
                self.blocks.append(Code(text=text, language=argument.strip()))
        elif name == "math":
            if text := collapse_whitespace(" ".join([argument, *body])):
                self.blocks.append(Formula(text=text))
        elif name in _PICTURES:
            caption = " ".join(body) if name == "figure" and body else options.get("alt", "")
            self.blocks.append(Picture(caption=strip_inline(collapse_whitespace(caption))[0]))
        elif name == "csv-table":
            self.blocks += read_csv_table(body, options, strip_inline(argument)[0], self.budget)
        elif name == "list-table" and (found := read_list_table(body, options, strip_inline(argument)[0], self.budget)):
            self.blocks += found
        else:
            title, _ = strip_inline(collapse_whitespace(argument))
            before = len(self.blocks)
            if title and name != "table":
                self.blocks.append(Paragraph(text=title))
            self.parse(body, depth + 1)
            if name == "table" and len(self.blocks) > before and isinstance(table := self.blocks[before], Table):
                table.caption = title

    def _parse_paragraph(self, lines: list[str], at: int, depth: int) -> int:
        end = at + 1
        while end < len(lines) and lines[end] and lines[end][0] != " ":
            if _ADORNMENT.fullmatch(lines[end]) and len(lines[end]) >= 4:
                break
            end += 1
        is_term = end == at + 1 and end < len(lines) and lines[end].startswith(" ")
        raw = collapse_whitespace(
            " ".join(lines[at:end]).lstrip("| ") if lines[at][0] == "|" else " ".join(lines[at:end])
        )
        raw, literal = _split_literal(raw)
        text, links = strip_inline(raw)
        if text:
            self.blocks.append(Paragraph(text=text, links=links))
        if literal:
            first = next((n for n in range(end, len(lines)) if lines[n]), len(lines))
            if first < len(lines) and lines[first][0] == " ":
                code, end = take_indented(lines, first)
                self.blocks.append(Code(text="\n".join(code)))
        elif is_term and depth <= DEPTH_MAX:
            definition, end = take_indented(lines, end)
            self.parse(definition, depth + 1)
        return end


def _split_literal(text: str) -> tuple[str, bool]:
    """The text without the two colons at its end, and whether a literal block follows."""
    if not text.endswith("::"):
        return text, False
    return text[:-2].rstrip() if text == "::" or text.endswith(" ::") else text[:-1], True


def _match_item(lines: list[str], at: int) -> re.Match[str] | None:
    """The marker of the list item that begins at a line. A number or an initial is one only if the next line is
    indented, blank, or an item too."""
    match = _BULLET.match(lines[at])
    if match is not None:
        return match
    match = _NUMBER.match(lines[at])
    after = lines[at + 1] if at + 1 < len(lines) else ""
    is_item = match is not None and (not after or count_indent(after) >= match.end() or _NUMBER.match(after))
    return match if is_item else None
