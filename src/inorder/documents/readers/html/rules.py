"""What the tags of HTML mean to us: which are blocks, which have nothing to read, and which are not the page's content.

Navigation, banners, footers and asides of a page are left out, and what is hidden; within an article they belong to it.
"""

import re

Attributes = dict[str, str | None]

HEADINGS = {f"h{level}": level for level in range(1, 7)}
LISTS = frozenset(("ul", "ol", "menu", "dir", "dl"))
_SKIPPED_TAG_NAMES = (
    "-comment !doctype script style template noscript iframe object embed applet svg canvas video audio map "
    "select datalist textarea input progress meter head title meta link base noembed noframes rp col colgroup "
    "frame frameset area param source track"
)
SKIPPED_TAGS = frozenset(_SKIPPED_TAG_NAMES.split())
"""Nothing in them is text of the page."""
FURNITURE = frozenset(("header", "footer", "aside"))
"""Of the page, unless they stand in its content."""
CONTENT = frozenset(("article", "main"))
_BLOCK_TAGS = (
    "p div section article main body html blockquote address fieldset form details summary legend center figure "
    "figcaption hgroup header footer aside nav search dialog table caption thead tbody tfoot tr td th optgroup "
    "option hr dl dt dd ul ol menu dir li"
)
BLOCKS = frozenset(_BLOCK_TAGS.split())
"""What ends the paragraph before it and after it."""
PREFORMATTED = frozenset(("pre", "listing", "xmp", "plaintext"))

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
    """Whether any attribute of the page could matter to `is_left_out`; most pages have none, and are read faster."""
    lowered = data.lower()
    return any(word in lowered for word in _EXCLUSION_WORDS)


def is_excluded(attributes: Attributes, in_content: bool) -> bool:
    """Whether an element is hidden, or says of itself that it is not content."""
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
    """Whether an element is the content of the page rather than a part of its frame."""
    return tag in CONTENT or role in ("main", "article")


_LANGUAGE = re.compile(
    r"(?:^|\s)(?:language|lang|highlight-source|highlight|brush:?|sourceCode)[-\s:]+([\w+#.-]+)", re.I
)


def language_of(*classes: str | None) -> str:
    """The language that one of these class attributes names, if any does."""
    for names in classes:
        if names and (match := _LANGUAGE.search(names)):
            return match.group(1)
    return ""
