"""The Markdown parser, asked for no more than is needed: blocks first, and the inside of a text only where there is
markup in it. Most text has none, and parsing it is what costs most."""

import re
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.token import Token

from .words import squeeze

_MARKUP = re.compile(r"[\\`*_\[<&~]")
_LINE_BREAK = re.compile(r"<br\b", re.I)
_ALT = re.compile(r"""<img\b[^>]*?\balt\s*=\s*(?:"([^"]*)"|'([^']*)')""", re.I)

NESTING_MAX = 100
"""Blocks within blocks. The parser drops what lies deeper, and recurses down to it."""

_parser = MarkdownIt("commonmark", {"html": True, "maxNesting": NESTING_MAX}).enable(["table", "strikethrough"])
_parser.core.ruler.enableOnly(["normalize", "block"])


class Inline:
    """What stands in a text."""

    __slots__ = ("links", "parts", "pictures")

    def __init__(self) -> None:
        self.parts: list[str] = []
        self.links: list[tuple[str, str]] = []
        self.pictures: list[str] = []
        """What is said about them."""


def parse_blocks(text: str, environment: dict[str, Any]) -> list[Token]:
    """The blocks; their text is not parsed yet. What links refer to is put into `environment`."""
    return _parser.parse(text, environment)


def is_cut(tokens: list[Token]) -> bool:
    """Whether something was dropped because it lay too deep."""
    return any(token.level >= NESTING_MAX - 1 for token in tokens)


def has_markup(content: str) -> bool:
    """Whether a text is more than plain words."""
    return _MARKUP.search(content) is not None


def parse_inline(content: str, environment: dict[str, Any]) -> Inline:
    """Text without its markup, and the links and pictures in it."""
    inline = Inline()
    if not has_markup(content):
        inline.parts.append(content)
        return inline
    tokens: list[Token] = []
    _parser.inline.parse(content, _parser, environment, tokens)
    open_links: list[tuple[int, str]] = []
    for token in tokens:
        match token.type:
            case "text" | "text_special" | "code_inline":
                inline.parts.append(token.content)
            case "softbreak" | "hardbreak":
                inline.parts.append(" ")
            case "link_open":
                open_links.append((len(inline.parts), str(token.attrs.get("href", ""))))
            case "link_close":
                begin, target = open_links.pop()
                text = squeeze("".join(inline.parts[begin:]))
                if text and target and not target.startswith("#"):
                    inline.links.append((text, target))
            case "image":
                inline.pictures.append(" ".join(_plain(token).split()))
            case "html_inline":
                _take_html(inline, token.content)
    return inline


def _plain(image: Token) -> str:
    """What is said about a picture, without markup."""
    return "".join(child.content or " " for child in image.children or [])


def _take_html(inline: Inline, tag: str) -> None:
    if _LINE_BREAK.match(tag):
        inline.parts.append(" ")
    elif match := _ALT.match(tag):
        inline.pictures.append(" ".join((match.group(1) or match.group(2) or "").split()))
