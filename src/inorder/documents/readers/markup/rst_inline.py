"""Inline markup of reStructuredText: its text, and its links."""

import re

_ROLE = r"(?::[\w+.-]{1,40}(?::[\w+.-]{1,40})?:)?"
_INLINE = re.compile(
    r"``(?P<literal>(?:[^`]|`(?!`))+)``"
    rf"|{_ROLE}`(?P<target>[^`<]*?) ?<(?P<url>[^`>]+)>`(?P<is_link>_{{1,2}})?{_ROLE}"
    rf"|{_ROLE}`(?P<role>[^`]+)`_{{0,2}}{_ROLE}"
    r"|\*\*(?P<strong>[^\s*](?:[^*]*[^\s*])?)\*\*"
    r"|(?<![\w*])\*(?P<emphasis>[^\s*](?:[^*]*[^\s*])?)\*(?![\w*])"
    r"|(?P<note>\[[#*\w-]{1,40}\])_(?!\w)"
    r"|\\(?P<escaped>.)"
)
_SIGN = re.compile(r"[`*\\]|\]_")


def strip_inline(text: str) -> tuple[str, list[tuple[str, str]]]:
    """The text without markup, and the text and target of each link."""
    if not _SIGN.search(text):
        return text, []
    links: list[tuple[str, str]] = []

    def replace(match: re.Match[str]) -> str:
        if (url := match.group("url")) is not None:
            label = match.group("target") or url
            if match.group("is_link"):
                links.append((label, url))
            return label
        if (role := match.group("role")) is not None:
            return role.lstrip("~!")
        escaped = match.group("escaped")
        if escaped is not None:
            return "" if escaped == " " else escaped
        return match.group("literal") or match.group("strong") or match.group("emphasis") or match.group("note") or ""

    return _INLINE.sub(replace, text), links
