"""Inline elements of Markdown: links, pictures, and HTML tags."""

import re
from functools import cached_property
from html import escape, unescape
from typing import Any

from inorder.documents.model import Picture, SpanKind
from inorder.documents.readers.block_builder import BlockBuilder
from inorder.documents.readers.html.elements import ELEMENTS
from inorder.documents.readers.whitespace import collapse_whitespace

_LINE_BREAK = re.compile(r"<br\b", re.I)
_ALT = re.compile(r"""<img\b[^>]*?\balt\s*=\s*(?:"([^"]*)"|'([^']*)')""", re.I)
_HREF = re.compile(r"""<a\b[^>]*?\bhref\s*=\s*(?:"([^"]*)"|'([^']*)')""", re.I)
_MARKED = re.compile(r"<(/?)(b|strong|i|em|code|kbd|a)\b", re.I)
_KINDS: dict[str, SpanKind] = {
    "b": "bold",
    "strong": "bold",
    "i": "italic",
    "em": "italic",
    "code": "code",
    "kbd": "code",
}
_NO_TARGET = ("#", "javascript:", "data:", "vbscript:")
_TAG = re.compile(r"<(/?)([A-Za-z][\w.-]*)")
_BARE_TAG = re.compile(r"<(/?)([A-Za-z][\w.-]*)(?:[ \t]+[\w-]+)*[ \t]*>")
"""A tag without values of attributes that does not close itself."""


class InlineReader:
    """The open links and pictures in the current text of a `BlockBuilder`."""

    def __init__(self, builder: BlockBuilder, text: str) -> None:
        self._builder = builder
        self._text = text
        self._links: list[tuple[int, str]] = []
        """Where the text of each open link begins, and its target."""
        self._pictures: list[int] = []
        """Where the description of each open picture begins."""
        self._tags: list[tuple[str, int, int, str]] = []
        """Open tags of HTML: name, number of blocks and of pieces of text before it, and target."""

    def open_link(self, about: dict[str, Any]) -> None:
        self._links.append((len(self._builder.parts), find_target(about)))

    def close_link(self) -> None:
        begin, target = self._links.pop()
        if self._pictures or not target:
            return
        text = collapse_whitespace("".join(self._builder.parts[begin:]))
        if text:
            self._builder.links.append((text, target))

    def open_picture(self, _: object) -> None:
        self._builder.parts.append(" ")
        self._pictures.append(len(self._builder.parts))

    def close_picture(self) -> None:
        """A picture in a paragraph becomes a block; elsewhere its description becomes part of the text."""
        builder, begin = self._builder, self._pictures.pop()
        if self._pictures or builder.lists or builder.heading:
            builder.parts.append(" ")
        else:
            builder.pictures.append(Picture(caption=collapse_whitespace("".join(builder.parts[begin:]))))
            del builder.parts[begin:]

    def read_html_tag(self, tag: str) -> None:
        """Read a tag within a text: line breaks, images, links and emphasis. Other tags of HTML are ignored."""
        if _ALT.match(tag):
            self.open_picture(tag)
            self._builder.parts.append(self.describe_tag(tag))
            self.close_picture()
        elif match := _MARKED.match(tag):
            self._read_marked(tag, match.group(2).lower(), bool(match.group(1)))
        elif text := self.describe_tag(tag):
            self._builder.parts.append(text)

    def _read_marked(self, tag: str, name: str, is_end: bool) -> None:
        builder = self._builder
        if not is_end:
            target = find_html_target(tag) if name == "a" else ""
            self._tags.append((name, len(builder.blocks), len(builder.parts), target))
            return
        if not self._tags or self._tags[-1][0] != name:
            return
        _, blocks, begin, target = self._tags.pop()
        if blocks != len(builder.blocks):
            return
        if name in _KINDS:
            builder.mark_from(_KINDS[name], begin)
        elif target and (text := collapse_whitespace("".join(builder.parts[begin:]))):
            builder.links.append((text, target))

    def describe_tag(self, tag: str) -> str:
        """The text that stands for a tag: a space for a line break, the description of an image, the tag itself if it
        is no HTML, and nothing for others."""
        if match := _ALT.match(tag):
            return f" {match.group(1) or match.group(2) or ''} "
        if _LINE_BREAK.match(tag):
            return " "
        match = _BARE_TAG.fullmatch(tag)
        return tag if match is not None and self._is_text(match) else ""

    def escape_unknown_tags(self, html: str) -> str:
        """The text of an HTML block, in which tags that are no HTML are text."""
        return _BARE_TAG.sub(lambda match: escape(match.group()) if self._is_text(match) else match.group(), html)

    def _is_text(self, match: re.Match[str]) -> bool:
        """Whether a tag is text, such as `<unk>`: no element has its name, and no other tag belongs to it."""
        end, name = match.groups()
        return name.lower() not in ELEMENTS and ("" if end else "/", name) not in self._names

    @cached_property
    def _names(self) -> set[tuple[str, str]]:
        """The names of all tags in the text, with a slash for those that end an element."""
        return set(_TAG.findall(self._text))


def find_html_target(tag: str) -> str:
    """The target of a tag of HTML that begins a link; empty if it is none."""
    match = _HREF.match(tag)
    target = unescape((match.group(1) or match.group(2) or "").strip()) if match else ""
    return "" if target.lower().startswith(_NO_TARGET) else target


def find_target(about: dict[str, Any]) -> str:
    """The target of a link; empty if it is none, or within the document."""
    target: str = about["dest_url"]
    if target.lower().startswith(_NO_TARGET):
        return ""
    return f"mailto:{target}" if about["link_type"] == "Email" else target
