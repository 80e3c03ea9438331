"""What the head of a page says about it: title, author, date, language, address and description.

Each is taken from the first of its sources that has it: JSON-LD, Open Graph and Dublin Core, `meta` names. Values are
those of the page: dates are not converted, addresses not completed.
"""

from collections.abc import Iterator
from typing import Any

import msgspec
from selectolax.lexbor import LexborHTMLParser, LexborNode

from inorder.documents.readers.whitespace import collapse_whitespace

_META = {
    "og:title": "title",
    "twitter:title": "title",
    "dc.title": "title",
    "author": "author",
    "dc.creator": "author",
    "article:author": "author",
    "parsely-author": "author",
    "article:published_time": "date",
    "datepublished": "date",
    "date": "date",
    "dc.date": "date",
    "dc.date.issued": "date",
    "parsely-pub-date": "date",
    "pubdate": "date",
    "og:url": "address",
    "description": "description",
    "og:description": "description",
}
"""The field of each `name`, `property` or `itemprop` of a `meta` element."""
_LINKED_DATA = {"headline": "title", "author": "author", "datePublished": "date", "description": "description"}
_LINKED_DATA_CHARACTERS_MAX = 200_000
_OBJECTS_MAX = 1000
_VALUE_CHARACTERS_MAX = 1000


def read_metadata(parser: LexborHTMLParser) -> dict[str, str]:
    """The fields that the page states: `title`, `author`, `date`, `language`, `address`, `description`."""
    found: dict[str, str] = {}
    for field, value in _list_values(parser):
        text = collapse_whitespace(value)[:_VALUE_CHARACTERS_MAX]
        if text and not (field == "author" and text.startswith(("http://", "https://"))):
            found.setdefault(field, text)
    return found


def _list_values(parser: LexborHTMLParser) -> Iterator[tuple[str, str]]:
    root = parser.root
    if root is None:
        return
    yield "language", root.attributes.get("lang") or ""
    for node in root.css("link[rel=canonical]"):
        yield "address", node.attributes.get("href") or ""
    for node in root.css('script[type="application/ld+json"]'):
        yield from _read_linked_data(node.text() or "")
    for node in root.css("meta"):
        attributes = node.attributes
        name = attributes.get("property") or attributes.get("name") or attributes.get("itemprop") or ""
        if field := _META.get(name.lower()):
            yield field, attributes.get("content") or ""
    for node in root.css("head > title"):
        yield "title", node.text() or ""
    for node in root.css("time[datetime], [itemprop=datePublished], [rel=author], [itemprop=author]"):
        yield _read_element(node)


def _read_element(node: LexborNode) -> tuple[str, str]:
    attributes = node.attributes
    if "author" in (attributes.get("rel"), attributes.get("itemprop")):
        return "author", node.text() or ""
    return "date", attributes.get("datetime") or attributes.get("content") or ""


def _read_linked_data(text: str) -> Iterator[tuple[str, str]]:
    if len(text) > _LINKED_DATA_CHARACTERS_MAX:
        return
    try:
        queue = [msgspec.json.decode(text)]
    except (msgspec.DecodeError, RecursionError, UnicodeEncodeError):
        return
    for each in queue:
        if isinstance(each, list):
            queue += each[:_OBJECTS_MAX]
        elif isinstance(each, dict):
            if "headline" in each or "datePublished" in each:
                for key, field in _LINKED_DATA.items():
                    yield field, _find_text(each.get(key))
            queue += [each[key] for key in ("@graph", "mainEntity") if key in each]
        if len(queue) > _OBJECTS_MAX:
            return


def _find_text(value: Any) -> str:
    """A text, the name of an object, or those of a list."""
    match value:
        case str():
            return value
        case {"name": str(name)}:
            return name
        case list():
            return ", ".join(filter(None, map(_find_text, [each for each in value if not isinstance(each, list)])))
    return ""
