"""Inline elements of Markdown: links, pictures, and HTML tags."""

import re
from typing import Any

from inorder.documents.model import Picture
from inorder.documents.readers.block_builder import BlockBuilder
from inorder.documents.readers.whitespace import collapse_whitespace

_LINE_BREAK = re.compile(r"<br\b", re.I)
_ALT = re.compile(r"""<img\b[^>]*?\balt\s*=\s*(?:"([^"]*)"|'([^']*)')""", re.I)
_NO_TARGET = ("#", "javascript:", "data:", "vbscript:")


class InlineReader:
    """The open links and pictures in the current text of a `BlockBuilder`."""

    def __init__(self, builder: BlockBuilder) -> None:
        self._builder = builder
        self._links: list[tuple[int, str]] = []
        """Where the text of each open link begins, and its target."""
        self._pictures: list[int] = []
        """Where the description of each open picture begins."""

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
        """Line breaks and images are read; all other tags are ignored."""
        if match := _ALT.match(tag):
            self.open_picture(tag)
            self._builder.parts.append(match.group(1) or match.group(2) or "")
            self.close_picture()
        elif _LINE_BREAK.match(tag):
            self._builder.parts.append(" ")


def find_target(about: dict[str, Any]) -> str:
    """The target of a link; empty if it is none, or within the document."""
    target: str = about["dest_url"]
    if target.lower().startswith(_NO_TARGET):
        return ""
    return f"mailto:{target}" if about["link_type"] == "Email" else target


def read_html_tag(tag: str) -> str:
    """The text that stands for a tag: a space for a line break, the description of an image, nothing for others."""
    if match := _ALT.match(tag):
        return f" {match.group(1) or match.group(2) or ''} "
    return " " if _LINE_BREAK.match(tag) else ""
