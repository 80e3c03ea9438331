"""Reads Rich Text Format: paragraphs, headings by style or outline level, lists, tables and footnotes."""

from inorder.documents.model import AnyBlock, Document
from inorder.documents.readers.document import make_document, require_size
from inorder.documents.readers.table_grid import TableBudget
from inorder.errors import ReadError

from .blocks import RtfBlocks
from .tokens import CHARSETS, find_code_page, tokenize

BYTES_MAX = 64 * 2**20
_SKIPPED = frozenset(
    (
        "colortbl",
        "datastore",
        "fldinst",
        "footer",
        "footerf",
        "footerl",
        "footerr",
        "generator",
        "header",
        "headerf",
        "headerl",
        "headerr",
        "info",
        "latentstyles",
        "listoverridetable",
        "listtable",
        "nonshppict",
        "object",
        "objdata",
        "pict",
        "rsidtbl",
        "themedata",
        "xmlnstbl",
    )
)
_SIGNS = {
    "tab": "\t",
    "line": "\n",
    "emdash": "\u2014",
    "endash": "\u2013",
    "lquote": "\u2018",
    "rquote": "\u2019",
    "ldblquote": "\u201c",
    "rdblquote": "\u201d",
    "bullet": "\u2022",
    "emspace": " ",
    "enspace": " ",
}
_MARKERS = ("listtext", "pntext")


def read(data: bytes, name: str) -> Document:
    """Read an RTF file."""
    if not data.lstrip()[:5].startswith(b"{\\rtf"):
        raise ReadError("not an RTF file")
    require_size(data, BYTES_MAX, "RTF")
    budget = TableBudget()
    parser = _RtfParser(budget)
    for token in tokenize(data):
        parser.handle(*token)
    return make_document("rtf", name, "application/rtf", parser.finish(), budget.warnings)


class _Group:
    """What a group inherits, and what it changes until its end."""

    __slots__ = ("destination", "encoding", "is_hidden", "skips", "unicode_skip")

    def __init__(self, outer: "_Group | None" = None) -> None:
        self.destination: str = outer.destination if outer else ""
        self.skips: bool = outer.skips if outer else False
        self.encoding: str = outer.encoding if outer else ""
        self.is_hidden: bool = outer.is_hidden if outer else False
        self.unicode_skip: int = outer.unicode_skip if outer else 1


class _RtfParser:
    """Follows groups and control words, and passes text on."""

    def __init__(self, budget: TableBudget) -> None:
        self._blocks = RtfBlocks(budget)
        self._group = _Group()
        self._outer: list[_Group] = []
        self._code_page = "cp1252"
        self._fonts: dict[int, str] = {}
        self._font = 0
        self._style = 0
        self._style_name: list[str] = []
        self._bytes = bytearray()
        """Text that is not decoded yet: a character may have two bytes."""
        self._to_skip = 0
        """Characters to skip after a Unicode character: they repeat it for older programs."""
        self._is_optional = False
        """Whether the next control word may be unknown, and its group is then skipped."""

    def handle(
        self,
        word: bytes | None,
        number: bytes | None,
        byte: bytes | None,
        sign: bytes | None,
        brace: bytes | None,
        text: bytes | None,
    ) -> None:
        """Handle the next token."""
        if word:
            self._handle_word(word.decode("ascii"), None if number is None else int(number))
        elif text:
            self._add_bytes(text)
        elif byte:
            self._add_bytes(bytes.fromhex(byte.decode("ascii")))
        elif brace:
            self._flush()
            self._to_skip = 0
            if brace == b"{":
                self._outer.append(self._group)
                self._group = _Group(self._group)
            else:
                self._end_group()
        elif sign:
            self._handle_sign(sign.decode("latin-1"))

    def finish(self) -> list[AnyBlock]:
        """All blocks, after the last token."""
        self._flush()
        return self._blocks.finish()

    def _end_group(self) -> None:
        ended = self._group
        if not self._outer:
            return
        self._group = self._outer.pop()
        if ended.destination == "stylesheet" and self._style_name:
            self._blocks.define_style(self._style, "".join(self._style_name))
            self._style_name.clear()
        if ended.destination != self._group.destination:
            if ended.destination in _MARKERS:
                self._blocks.end_marker()
            elif ended.destination == "footnote":
                self._blocks.end_note()

    def _handle_sign(self, sign: str) -> None:
        self._flush()
        if sign == "*":
            self._is_optional = True
        elif sign == "~":
            self._add_text("\u00a0")
        elif sign in "\\{}":
            self._add_text(sign)
        elif sign == "_":
            self._add_text("-")
        elif sign in "\r\n":
            self._blocks.end_paragraph()

    def _handle_word(self, word: str, number: int | None) -> None:
        self._flush()
        is_optional, self._is_optional = self._is_optional, False
        group = self._group
        if word in _SKIPPED:
            group.skips = True
        elif word in ("fonttbl", "stylesheet", "footnote", *_MARKERS):
            self._begin_destination(word)
        elif is_optional and word not in ("shptxt", "listtext", "pntext", "cs", "ts", "fldrslt"):
            group.skips = True
        elif word == "u":
            self._add_unicode(number or 0)
        elif word == "uc":
            group.unicode_skip = min(max(number or 0, 0), 10)
        elif word == "f":
            self._set_font(number or 0)
        elif word == "fcharset" and group.destination == "fonttbl":
            self._fonts[self._font] = CHARSETS.get(number or 0, "")
        elif word == "ansicpg":
            self._code_page = find_code_page(number)
        elif word == "mac":
            self._code_page = "mac_roman"
        elif word == "s" and group.destination == "stylesheet":
            self._style = number or 0
        elif word in ("v", "deleted"):
            group.is_hidden = number != 0
        elif word == "plain":
            group.is_hidden = False
        elif word in _SIGNS:
            self._add_text(_SIGNS[word])
        elif self._is_visible():
            self._blocks.handle(word, number)

    def _begin_destination(self, word: str) -> None:
        self._group.destination = word
        if word in ("footnote", *_MARKERS):
            self._blocks.begin_apart()

    def _is_visible(self) -> bool:
        group = self._group
        return not group.skips and not group.is_hidden and group.destination not in ("fonttbl", "stylesheet")

    def _set_font(self, number: int) -> None:
        if self._group.destination == "fonttbl":
            self._font = number
        else:
            self._group.encoding = self._fonts.get(number, "")

    def _add_unicode(self, code: int) -> None:
        self._add_text(chr(code % 65_536))
        self._to_skip = self._group.unicode_skip

    def _add_bytes(self, data: bytes) -> None:
        if self._to_skip:
            skipped = min(self._to_skip, len(data))
            self._to_skip -= skipped
            data = data[skipped:]
        if self._group.destination == "stylesheet" and not self._group.skips:
            self._style_name.append(data.decode("latin-1"))
        else:
            self._bytes += data

    def _add_text(self, text: str) -> None:
        if self._is_visible():
            self._blocks.add_text(text)

    def _flush(self) -> None:
        if self._bytes:
            text = self._bytes.decode(self._group.encoding or self._code_page, "replace")
            self._bytes.clear()
            self._add_text(text)
