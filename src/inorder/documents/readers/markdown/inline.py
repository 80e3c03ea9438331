"""What stands within a text: links, pictures, and tags of HTML."""

import re
from typing import Any

from inorder.documents.model import Picture
from inorder.documents.readers.block_builder import Flow
from inorder.documents.readers.whitespace import squeeze

_LINE_BREAK = re.compile(r"<br\b", re.I)
_ALT = re.compile(r"""<img\b[^>]*?\balt\s*=\s*(?:"([^"]*)"|'([^']*)')""", re.I)
_NO_TARGET = ("#", "javascript:", "data:", "vbscript:")


class Inline:
    """The links and pictures that are open, in a text that gathers in a flow."""

    def __init__(self, flow: Flow) -> None:
        self.is_in_table = False
        self._flow = flow
        self._links: list[tuple[int, str]] = []
        """Where their text begins, and the target."""
        self._pictures: list[int] = []
        """Where what is said about them begins."""

    def open_link(self, about: dict[str, Any]) -> None:
        target = about["dest_url"]
        self._links.append((len(self._flow.parts), f"mailto:{target}" if about["link_type"] == "Email" else target))

    def close_link(self) -> None:
        begin, target = self._links.pop()
        if self.is_in_table or self._pictures or not target or target.lower().startswith(_NO_TARGET):
            return
        text = squeeze("".join(self._flow.parts[begin:]))
        if text:
            self._flow.links.append((text, target))

    def open_picture(self, _: object) -> None:
        self._flow.parts.append(" ")
        self._pictures.append(len(self._flow.parts))

    def close_picture(self) -> None:
        """A picture in a paragraph is a block of its own; elsewhere, what is said about it is part of the text."""
        flow, begin = self._flow, self._pictures.pop()
        if self._pictures or self.is_in_table or flow.lists or flow.heading:
            flow.parts.append(" ")
        else:
            flow.pictures.append(Picture(caption=squeeze("".join(flow.parts[begin:]))))
            del flow.parts[begin:]

    def take_tag(self, tag: str) -> None:
        """Only those that stand for something a person reads."""
        if _LINE_BREAK.match(tag):
            self._flow.parts.append(" ")
        elif match := _ALT.match(tag):
            self.open_picture(tag)
            self._flow.parts.append(match.group(1) or match.group(2) or "")
            self.close_picture()
