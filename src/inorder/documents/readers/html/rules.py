"""The meaning of HTML tags: which are blocks, which are skipped, and which are not content of the page.

Navigation, banners, footers, asides and hidden elements are excluded. Headers, footers and asides within an article
belong to it.
"""

import re

from inorder.documents.model import SpanKind

Attributes = dict[str, str | None]

HEADINGS = {f"h{level}": level for level in range(1, 7)}
LISTS = frozenset(("ul", "ol", "menu", "dir", "dl"))
_SKIPPED_TAG_NAMES = (
    "-comment !doctype script style template noscript iframe object embed applet svg canvas video audio map "
    "select datalist textarea input progress meter head title meta link base noembed noframes rp col colgroup "
    "frame frameset area param source track"
)
SKIPPED_TAGS = frozenset(_SKIPPED_TAG_NAMES.split())
"""Their content is not text of the page."""
FURNITURE = frozenset(("header", "footer", "aside"))
"""Page furniture, unless within its content."""
CONTENT = frozenset(("article", "main"))
_BLOCK_TAGS = (
    "p div section article main body html blockquote address fieldset form details summary legend center figure "
    "figcaption hgroup header footer aside nav search dialog table caption thead tbody tfoot tr td th optgroup "
    "option hr dl dt dd ul ol menu dir li"
)
BLOCKS = frozenset(_BLOCK_TAGS.split())
"""Tags that end the paragraph before and after them."""
PREFORMATTED = frozenset(("pre", "listing", "xmp", "plaintext"))
MARKED: dict[str, SpanKind] = {
    "b": "bold",
    "strong": "bold",
    "i": "italic",
    "em": "italic",
    "code": "code",
    "kbd": "code",
    "samp": "code",
    "tt": "code",
}
"""Tags within a text, and what they make of it."""

_FURNITURE_ROLES = frozenset(("banner", "contentinfo", "complementary"))
_SKIPPED_ROLES = frozenset(("navigation", "search", "menu", "menubar", "toolbar", "dialog", "alertdialog"))
_EXCLUSION_WORDS = (b"hidden", b"role", b"display", b"cookie", b"consent", b"visibility", b"gdpr", b"onetrust")
_INVISIBLE = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.I)
_COOKIES = re.compile(
    r"cookie[-_ ]?(?:banner|consent|notice|bar\b|popup|law|message|disclaimer|dialog|overlay|modal|policy-banner)"
    r"|consent[-_ ]?(?:banner|popup|dialog|modal)|gdpr[-_ ]|onetrust|cookiebot",
    re.I,
)


def may_have_exclusions(data: bytes) -> bool:
    """Whether any attribute of the page could matter to `is_excluded`. Most pages have none, and are read faster."""
    lowered = data.lower()
    return any(word in lowered for word in _EXCLUSION_WORDS)


def is_excluded(attributes: Attributes, in_content: bool) -> bool:
    """Whether an element is hidden, or marked as not being content."""
    if "hidden" in attributes and attributes["hidden"] != "until-found":
        return True
    if attributes.get("aria-hidden") == "true":
        return True
    role = (attributes.get("role") or "").lower()
    if role in _SKIPPED_ROLES or (role in _FURNITURE_ROLES and not in_content):
        return True
    style = attributes.get("style")
    if style and _INVISIBLE.search(style):
        return True
    names = (attributes.get("id"), attributes.get("class"), attributes.get("aria-label"))
    return any(name and _COOKIES.search(name) for name in names)


def is_content(tag: str, role: str | None) -> bool:
    """Whether an element holds the main content of the page."""
    return tag in CONTENT or role in ("main", "article")


_LANGUAGE = re.compile(
    r"(?:^|\s)(?:language|lang|highlight-source|highlight|brush:?|sourceCode)[-\s:]+([\w+#.-]+)", re.I
)


def language_of(*classes: str | None) -> str:
    """The programming language that one of these class attributes names; empty if none does."""
    for names in classes:
        if names and (match := _LANGUAGE.search(names)):
            return match.group(1)
    return ""
