"""Inline markup of AsciiDoc: its text, its links, and the values of attributes."""

import re

ATTRIBUTES_MAX = 1_000
VALUE_CHARACTERS_MAX = 1_000
_INLINE = re.compile(
    r"(?:link:)?(?P<url>\b(?:https?|ftp|mailto|file):[^\s\[\]<>]{1,500})\[(?P<label>[^\]]{0,500})\]"
    r"|link:(?P<path>[^\s\[\]]{1,500})\[(?P<path_label>[^\]]{0,500})\]"
    r"|<<(?P<ref>[^,<>]{1,200})(?:,(?P<ref_label>[^<>]{0,500}))?>>"
    r"|xref:(?P<xref>[^\s\[\]]{1,500})\[(?P<xref_label>[^\]]{0,500})\]"
    r"|image:(?P<image>[^\s:\[\]][^\s\[\]]{0,500})\[(?P<alt>[^\],]{0,200})(?:,[^\]]{0,300})?\]"
    r"|footnote:[\w-]{0,100}\[(?P<note>[^\]]{0,2000})\]"
    r"|(?:kbd|btn|menu|pass|stem|latexmath):[\w,]{0,100}\[(?P<macro>[^\]]{0,500})\]"
    r"|\{(?P<attribute>[\w-]+)\}"
    r"|`\+(?P<plain>[^`]+)\+`|``(?P<code>[^`]+)``|`(?P<mono>[^`]+)`"
    r"|(?<!\w)\*{1,2}(?P<strong>[^\s*](?:[^*]*[^\s*])?)\*{1,2}(?!\w)"
    r"|(?<!\w)_{1,2}(?P<emphasis>[^\s_](?:[^_]*[^\s_])?)_{1,2}(?!\w)"
    r"|(?<!\w)#{1,2}(?P<mark>[^\s#](?:[^#]*[^\s#])?)#{1,2}(?!\w)"
)
_TEXTS = ("ref_label", "ref", "xref_label", "xref", "alt", "macro", "plain", "code", "mono")
_STYLED = ("strong", "emphasis", "mark")


class AsciidocInline:
    """Strips markup. Keeps the attributes that the document has defined so far."""

    def __init__(self) -> None:
        self._attributes: dict[str, str] = {}

    def define(self, name: str, value: str) -> None:
        """Define an attribute, or unset it if its name has a `!`."""
        if "!" in name:
            self._attributes.pop(name.strip("!"), None)
        elif len(self._attributes) < ATTRIBUTES_MAX:
            self._attributes[name] = self.strip(value)[0][:VALUE_CHARACTERS_MAX]

    def strip(self, text: str) -> tuple[str, list[tuple[str, str]]]:
        """The text without markup, and the text and target of each link."""
        links: list[tuple[str, str]] = []

        def replace(match: re.Match[str]) -> str:
            found = match.groupdict()
            if target := found["url"] or found["path"]:
                label = (found["label"] or found["path_label"] or "").rstrip("^") or target
                links.append((label, target))
                return label
            if (name := found["attribute"]) is not None:
                return self._attributes.get(name, match.group())
            if (note := found["note"]) is not None:
                return f" ({note})" if note else ""
            styled = next((found[name] for name in _STYLED if found[name]), None)
            if styled is not None:
                return str(styled)
            return next((str(found[name]) for name in _TEXTS if found[name]), "")

        return _INLINE.sub(replace, text), links
